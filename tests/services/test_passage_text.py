from hypothesis import given
from hypothesis import strategies as st

from cinder.extract.reading.blocks import find_blocks
from cinder.extract.reading.outline import find_outline
from cinder.extract.reading.passages import find_passages
from cinder.services.passage_text import MAX_PASSAGES, ShownPassages, show_passages


def show(markdown: str, query: str, max_chars: int) -> ShownPassages:
    blocks = find_blocks(markdown)
    found = find_passages(markdown, blocks, find_outline(markdown, blocks), query)
    return show_passages(markdown, found, max_chars)


def test_neighbours_become_one_passage() -> None:
    shown = show("An ember.\n\nAnother ember.\n\nAsh.", "ember", 1_000)
    assert shown.text == "[top, 0-25]\nAn ember.\n\nAnother ember."
    assert (len(shown.passages), shown.count) == (1, 2)


def test_rows_of_a_long_table_are_shown_beneath_its_first_row() -> None:
    rows = "\n".join(f"| wood{n} | {n} hours of glow in the ash |" for n in range(200))
    shown = show(f"| Wood | Hours |\n| --- | --- |\n{rows}", "wood150", 2_000)
    head, first, rule, *found = shown.text.split("\n")
    assert head.startswith("[top, ")
    assert (first, rule) == ("| Wood | Hours |", "| --- | --- |")
    assert "| wood150 | 150 hours of glow in the ash |" in found
    assert len(found) < 40


def test_code_that_is_too_long_ends_at_a_line_and_is_closed() -> None:
    shown = show("~~~~py\n" + "ember = 1\n" * 100 + "~~~~", "ember", 150)
    assert len(shown.text) <= 150
    assert shown.is_cut
    assert shown.text.startswith("[top, 0-1011]\n~~~~py\nember = 1\n")
    assert shown.text.endswith("\nember = 1\n~~~~")


def test_no_more_than_a_few_passages_are_shown() -> None:
    markdown = "\n\n".join(f"# Part {n}\n\nAn ember of kind {n}." for n in range(30))
    assert show(markdown, "ember", 100_000).count == MAX_PASSAGES


@given(
    st.lists(st.sampled_from(["ember ash", "# ember", "```\nember\n```", "| ember |"])),
    st.integers(1, 200),
)
def test_the_text_is_never_longer_than_it_may_be(blocks: list[str], size: int) -> None:
    assert len(show("\n\n".join(blocks), "ember", size).text) <= size

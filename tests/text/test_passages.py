"""Cutting markdown into parts and chunks."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cinder.text.markdown_blocks import find_blocks
from cinder.text.passages import (
    CHUNK_CHARS,
    describe_begin,
    find_cut,
    split_chunks,
)

WORDS = st.lists(st.sampled_from(["ash", "ember.", "Oak?", "glow", "\u706b\u3002"]), max_size=12)
LINK = st.sampled_from(["[coal](http://x/y(z))", '![i](<a b> "t")', "`a ] b`", "[[1]](#n)"])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[tuple[int, int]]]:
    """A text of many blocks, and the places that no cut may fall into."""
    text, whole = "", []
    for kind in draw(st.lists(st.sampled_from("phctl"), min_size=1, max_size=8)):
        if kind == "c":
            code = "\n".join(["```py", *draw(WORDS), "# x", "", "| y |", "```"])
            whole.append((len(text), len(text) + len(code)))
            text += code
        elif kind == "t":
            for row in ["| a | b |", "| --- | --- |", *(f"| {word} | x |" for word in draw(WORDS))]:
                whole.append((len(text), len(text) + len(row)))
                text += f"{row}\n"
        elif kind == "h":
            text += "## A heading"
        else:
            text += "- " if kind == "l" else ""
            for word in draw(WORDS):
                link = draw(LINK)
                text += f"{word} "
                whole.append((len(text), len(text) + len(link)))
                text += f"{link} "
        text += draw(st.sampled_from(["\n\n", "\n\n\n"]))
    return text, whole


def cuts(text: str, size: int) -> list[int]:
    blocks, places = find_blocks(text), [0]
    while places[-1] < len(text):
        places.append(find_cut(text, blocks, places[-1], size))
    return places


@given(documents(), st.integers(1, 300))
def test_no_cut_falls_into_a_row_a_code_block_or_a_link_that_fits(
    document: tuple[str, list[tuple[int, int]]], size: int
) -> None:
    text, whole = document
    for cut in cuts(text, size):
        broken = [(start, end) for start, end in whole if start < cut < end]
        assert all(end - start > size for start, end in broken), text[max(0, cut - 20) :][:40]


@given(documents(), st.integers(1, 300))
def test_parts_are_never_empty_nor_too_long_and_join_to_the_whole(
    document: tuple[str, list[tuple[int, int]]], size: int
) -> None:
    text, _ = document
    places = cuts(text, size)
    assert all(0 < end - start <= size for start, end in pairwise(places))
    assert "".join(text[start:end] for start, end in pairwise(places)) == text


@given(st.text(alphabet="[](`)#|.- \na\u3002\U0001f525"), st.integers(1, 9))
def test_any_text_at_all_can_be_read_in_parts(text: str, size: int) -> None:
    places = cuts(text, size)
    assert all(0 < end - start <= size for start, end in pairwise(places))


def first_part(text: str, size: int) -> str:
    return text[: find_cut(text, find_blocks(text), 0, size)]


def test_a_part_ends_with_a_block_rather_than_within_one() -> None:
    assert first_part(f"{'One. ' * 12}\n\n{'Two. ' * 12}", 100) == f"{'One. ' * 12}\n\n"


def test_a_long_paragraph_ends_with_a_sentence_and_else_with_a_word() -> None:
    part = first_part("Ash is grey. Embers glow in it until morning comes", 30)
    assert part == "Ash is grey. Embers glow in "
    assert first_part("Ash is grey now. Embers glow in it all night", 24) == "Ash is grey now. "


def test_a_heading_is_not_left_without_its_text() -> None:
    text = f"{'Ash. ' * 10}\n\n## Embers\n\nThey glow all night long."
    assert first_part(text, 66) == f"{'Ash. ' * 10}\n\n"


def test_a_table_is_not_left_with_its_first_row_alone() -> None:
    text = f"{'Ash. ' * 4}\n\n| wood | hours |\n| --- | --- |\n| oak | 9 |"
    assert first_part(text, 56) == f"{'Ash. ' * 4}\n\n"


def test_a_code_block_longer_than_a_part_ends_at_a_line_and_goes_on_by_name() -> None:
    text = "```python\n" + "x = 1\n" * 20 + "```"
    blocks = find_blocks(text)
    cut = find_cut(text, blocks, 0, 50)
    assert text[:cut] == "```python\n" + "x = 1\n" * 6
    begin = describe_begin(text, blocks, cut)
    assert begin == "It begins inside a code block that was opened with ```python"


def test_a_part_that_begins_within_a_table_is_told_the_first_row() -> None:
    text = "| wood | hours |\n| --- | --- |\n" + "| oak | 9 |\n" * 20
    blocks = find_blocks(text)
    cut = find_cut(text, blocks, 0, 100)
    assert text[:cut].endswith("| oak | 9 |\n")
    begin = describe_begin(text, blocks, cut)
    assert begin == "It begins inside a table whose first row is | wood | hours |"
    assert describe_begin(text, blocks, 0) is None


ROWS = [f"| Kettle {number} | {number} euros |" for number in range(200)]
TABLE = "\n".join(["| Thing | Price |", "| --- | --- |", *ROWS])


def chunk_texts(markdown: str) -> list[str]:
    return [markdown[chunk.start : chunk.end] for chunk in split_chunks(markdown)]


def test_short_blocks_of_a_section_are_one_piece_under_its_headings() -> None:
    markdown = (
        "# Tea\n\n" + "Water boils. " * 40 + "\n\n## Kettles\n\nOne of iron.\n\n- One of tin."
    )
    first, second = split_chunks(markdown)
    assert (first.heading, second.heading) == ("Tea", "Tea > Kettles")
    assert markdown[second.start : second.end] == "## Kettles\n\nOne of iron.\n\n- One of tin."


def test_sections_of_a_line_each_are_gathered() -> None:
    markdown = "\n\n".join(
        f"### Person {number}\n\nBorn in {1900 + number}." for number in range(8)
    )
    assert chunk_texts(markdown) == [markdown]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    markdown = "The kettle sings on the hob. " * 200
    chunks = chunk_texts(markdown)
    assert "".join(chunks).strip() == markdown.strip()
    assert all(len(chunk) <= CHUNK_CHARS for chunk in chunks)
    assert all(chunk.strip().endswith("hob.") for chunk in chunks)


def test_a_long_table_is_cut_between_rows_and_keeps_its_head_beside() -> None:
    chunks = split_chunks(f"Prices:\n\n{TABLE}\n\nThe end.")
    tables = [chunk for chunk in chunks if chunk.context]
    assert len(tables) >= 3
    assert {chunk.context for chunk in tables} == {"| Thing | Price |\n| --- | --- |"}
    rows = [row for text in chunk_texts(TABLE) for row in text.strip().split("\n")]
    assert rows[2:] == ROWS


def test_only_a_row_beyond_all_measure_is_cut() -> None:
    long_row = f"| {'word ' * 1_000}|"
    assert any(long_row in chunk for chunk in chunk_texts(f"{TABLE}\n{long_row}"))
    monstrous = f"| {'word ' * 10_000}|"
    chunks = chunk_texts(f"| A |\n| --- |\n{monstrous}")
    assert "".join(chunks) == f"| A |\n| --- |\n{monstrous}"
    assert max(map(len, chunks)) <= 6_000


def test_nothing_is_left_out_of_a_text_of_all_kinds() -> None:
    code = "```python\n" + "burn(oak)\n" * 300 + "```"
    markdown = f"# A\n\nText.\n\n{code}\n\n{TABLE}\n\n" + "- item\n" * 400
    held = "".join(chunk_texts(markdown))
    assert "".join(held.split()) == "".join(markdown.split())


def test_deep_and_many_headings_stay_short() -> None:
    markdown = "\n\n".join(
        f"{'#' * (1 + n % 6)} {'long title ' * 30}{n}\n\nText." for n in range(60)
    )
    assert max(len(chunk.heading) for chunk in split_chunks(markdown)) <= 301

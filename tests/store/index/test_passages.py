"""Passages: the part of a text that tells why it was found."""

from hypothesis import given
from hypothesis import strategies as st

from cinder.store.index.passages import PASSAGE_CHARS, find_passage

FILLER = "Words that are of no use stand here in a row. "


def test_a_passage_has_the_most_of_the_words() -> None:
    text = f"A moon. {FILLER * 20}The moon moves the tides of the sea. {FILLER * 20}Tides."
    passage = find_passage(text, [("moon",), ("tide",), ("seas",)])
    assert passage.startswith("The moon moves the tides of the sea.")
    assert len(passage) <= PASSAGE_CHARS


def test_a_text_without_the_words_gives_its_beginning() -> None:
    assert find_passage(f"First. {FILLER * 20}", [("moon",)]).startswith("First. Words")


def test_a_short_text_is_a_passage_by_itself() -> None:
    assert find_passage("The\nmoon\n rises.", [("moon",)]) == "The moon rises."


def test_a_passage_ends_with_a_whole_word() -> None:
    passage = find_passage(FILLER * 30, [("row",)])
    assert passage.rpartition(" ")[2] in FILLER.split()


@given(st.text(max_size=2_000), st.lists(st.lists(st.text(min_size=1, max_size=4), min_size=1)))
def test_any_text_has_a_passage(text: str, phrases: list[list[str]]) -> None:
    passage = find_passage(text, [tuple(phrase) for phrase in phrases])
    assert len(passage) <= PASSAGE_CHARS
    assert " ".join(passage.split()) in " ".join(text.split())

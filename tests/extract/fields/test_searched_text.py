"""Quotes looked up in a text."""

import pytest

from cinder.extract.fields.searched_text import SearchedText


@pytest.mark.parametrize(
    ("text", "quote", "place"),
    [
        ("cost 12 now", "12", 5),
        ("cost 112 or 12", "12", 12),
        ("cost 12.50 or 12", "12", 14),
        ("weighs 12kg", "12", 7),
        ("A12 is no figure", "12", -1),
        ("unread, read", "read", 8),
        ("$12 off", "$12", 0),
        ("nothing", "12", -1),
    ],
)
def test_a_quote_is_found_as_a_whole_word_or_number(text: str, quote: str, place: int) -> None:
    assert SearchedText(text).find(quote, ()) == place


def test_a_quote_is_looked_for_after_its_anchors_and_then_anywhere() -> None:
    text = SearchedText("Ada age 36. Bob age 36. Cy")
    assert text.find("36", ("Bob", "age")) == 20
    assert text.find("36", ("Cy",)) == 8
    assert text.find("36", ("Dee",)) == 8


def test_white_space_and_marks_of_emphasis_do_not_count() -> None:
    text = "a **Lamp of\nsnake\\_case** b"
    found = SearchedText(text).find_marked("Lamp of snake_case")
    assert found is not None
    assert text[slice(*found)] == "Lamp of\nsnake\\_case"
    assert SearchedText(text).find_marked("Lamp of oil") is None


@pytest.mark.parametrize(
    "written", ["Fire &amp; Co", "Fire &#38; Co", "Fire \\u0026 Co", "Fire  &amp;\n Co"]
)
def test_entities_and_escapes_are_seen_through(written: str) -> None:
    text = f'{{"name": "{written}"}}'
    found = SearchedText(text).find_escaped("Fire & Co")
    assert found is not None
    assert text[slice(*found)] == written


def test_what_only_resembles_a_quote_is_not_it() -> None:
    assert SearchedText("Fire and Co").find_escaped("Fire & Co") is None
    assert SearchedText("Fire " * 1_000).find_escaped("Fire & Co") is None
    assert SearchedText("x").find_escaped("&&") is None


def test_a_number_may_have_more_noughts_than_it_needs() -> None:
    text = 'id 160.00 "price": 60.00, "was": 600'
    assert SearchedText(text).find_number(60, ()) == (19, 24)
    assert SearchedText(text).find_number(6, ()) is None


def test_a_quote_but_for_marks_is_no_part_of_a_word_or_number() -> None:
    text = SearchedText("It has 112 parts, and *12* parts more; a **cart** ran.")
    found = text.find_marked("12 parts")
    assert found is not None
    assert text.text[found[0] : found[1]] == "12* parts"
    assert text.find_marked("art ran") is None

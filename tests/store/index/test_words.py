"""Words: the same in every form, in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.store.index.words import close_up, fold, space_out, split_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Boundary-layer, flow!", ["boundary", "layer", "flow"]),
        ("snake_case x2", ["snake", "case", "x2"]),
        ("東京Tower 5", ["東", "京", "tower", "5"]),
        ("กขค ab", ["ก", "ข", "ค", "ab"]),
        ("한국어 검색", ["한국어", "검색"]),
        ("🜂 -- “…”", []),
    ],
)
def test_a_text_falls_into_words(text: str, words: list[str]) -> None:
    assert split_words(text) == words


def test_what_was_spaced_out_is_closed_up_again() -> None:
    text = "東京都は、日本の首都です。Tokyo is the capital."
    assert space_out(text) != text
    assert close_up(space_out(text)) == text


@pytest.mark.parametrize(
    ("text", "folded"), [("CAFÉ", "cafe"), ("Ångström", "angstrom"), ("한글", "한글"), ("A", "a")]
)
def test_accents_and_case_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@given(st.text())
def test_words_are_letters_and_digits_alone(text: str) -> None:
    words = split_words(fold(text))
    assert all(character not in "\"'&|!()*:^-\\ " for word in words for character in word)
    assert "".join(words).isprintable()

"""How alike two texts are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.text.terms import find_query_terms, find_terms, text_similarity


@pytest.mark.parametrize(
    "words",
    [
        "cache caches cached caching",
        "query queries",
        "run running runs",
        "install installed installing installs",
        "Stra\u00dfe STRASSE",
    ],
)
def test_forms_of_a_word_are_one_term(words: str) -> None:
    assert len(set(find_terms(words))) == 1


@pytest.mark.parametrize(
    "word", ["glass", "status", "bring", "red", "this", "\u043f\u0435\u043f\u0435\u043b"]
)
def test_words_that_only_look_inflected_stay(word: str) -> None:
    assert list(find_terms(word)) == [word]


def test_scripts_without_spaces_are_read_in_pairs() -> None:
    assert list(find_terms("\u706b\u3092\u3064 fire")) == [
        *("\u706b", "\u3092", "\u3064", "\u706b\u3092", "\u3092\u3064"),
        "fir",
    ]
    assert find_query_terms("\u706b\u3092\u3064") == {"\u706b\u3092", "\u3092\u3064"}
    assert find_query_terms("\u706b") == {"\u706b"}


def test_a_question_is_asked_for_what_it_is_about() -> None:
    assert find_query_terms("What is the retention?") == {"retention"}
    assert find_query_terms("to be or") == {"to", "be", "or"}
    assert find_query_terms("?!") == set()


def test_similarity_is_the_share_of_common_words() -> None:
    assert text_similarity("the quick brown fox", "the quick red fox") == 0.6


def test_case_punctuation_and_repetition_do_not_matter() -> None:
    assert text_similarity("Straße! Straße, und", "STRASSE und") == 1.0


def test_two_empty_texts_are_not_alike() -> None:
    assert text_similarity("", "") == 0.0
    assert text_similarity("...", "") == 0.0


@given(a=st.text(), b=st.text())
def test_similarity_is_a_share_and_symmetric(a: str, b: str) -> None:
    assert 0.0 <= text_similarity(a, b) == text_similarity(b, a) <= 1.0

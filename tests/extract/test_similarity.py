"""How alike two texts are."""

from hypothesis import given
from hypothesis import strategies as st

from cinder.extract.similarity import text_similarity


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

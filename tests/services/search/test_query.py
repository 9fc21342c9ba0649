import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.services.search.query import MAX_VARIANTS, expand_query

TEXTS = ["Ash keeps embers alive", "Cover embers with ash", "A dry log", "Ash, embers, patience"]


def test_what_the_first_results_share_and_the_phrase_are_asked_as_well() -> None:
    assert expand_query("how to bank the coals", TEXTS) == ("bank coals embers", '"bank coals"')


def test_without_results_stop_words_go_and_the_words_become_a_phrase() -> None:
    assert expand_query("how to bank the coals", []) == ('"bank coals"', "bank coals")


def test_the_same_query_has_the_same_expansion() -> None:
    assert expand_query("bank coals", TEXTS) == expand_query("bank coals", list(TEXTS))


@pytest.mark.parametrize("query", ['"bank coals" overnight', "coals -gas", "-gas coals"])
def test_whoever_asks_precisely_is_taken_at_his_word(query: str) -> None:
    assert expand_query(query, TEXTS) == ()


def test_a_single_word_has_no_phrase() -> None:
    assert expand_query("coals", []) == ()


@given(st.text(max_size=80), st.lists(st.text(max_size=80), max_size=5))
def test_any_text_expands_to_few_other_queries(query: str, texts: list[str]) -> None:
    variants = expand_query(query, texts)
    assert len(variants) <= MAX_VARIANTS
    assert query not in variants
    assert all(variants)

"""Quorums: the terms that a page must have together."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.store.index.quorum import MAX_TERMS, find_quorum, spell_quorum

WEIGHTS = st.lists(st.floats(0.1, 12), min_size=1, max_size=MAX_TERMS).map(
    lambda weights: sorted(weights, reverse=True)
)


def test_so_many_terms_are_needed_as_few_enough_pages_have() -> None:
    tenth = math.log(10)
    assert find_quorum([tenth, tenth, tenth], 0.001) == pytest.approx(3 * tenth)
    assert find_quorum([tenth, tenth, tenth], 0.03) == pytest.approx(2 * tenth)
    assert find_quorum([tenth, tenth, tenth], 0.5) == pytest.approx(tenth)


def test_a_page_needs_one_term_at_least_and_no_more_than_there_are() -> None:
    assert find_quorum([5.0, 1.0], 1) == 1
    assert find_quorum([0.5, 0.5], 0) == 1


def test_a_quorum_is_spelled_by_the_terms_that_reach_it() -> None:
    terms = [("a", 3.0), ("b", 2.0), ("c", 1.0)]
    assert spell_quorum(terms, 6) == "(a & (b & c))"
    assert spell_quorum(terms, 3) == "(a | (b & c))"
    assert spell_quorum(terms, 1) == "(a | (b | c))"
    assert spell_quorum(terms, 7) is None


@given(WEIGHTS, st.floats(0, 1))
def test_just_the_pages_whose_terms_weigh_enough_are_in_it(
    weights: list[float], share: float
) -> None:
    enough = find_quorum(weights, share)
    terms = [(f"has[{number}]", weight) for number, weight in enumerate(weights)]
    spelled = spell_quorum(terms, enough)
    assert spelled is not None
    condition = compile(spelled.replace("&", "and").replace("|", "or"), "quorum", "eval")
    for has in product([True, False], repeat=len(weights)):
        weight = sum(weight for weight, there in zip(weights, has, strict=True) if there)
        if abs(weight - enough) > 1e-6:
            assert eval(condition, {"has": has}) == (weight > enough)

"""Where two sequences differ."""

import random

import pytest

from cinder.extract.changes.sequence_diff import Span, differing_spans


def replayed(before: list[str], after: list[str]) -> list[str]:
    """Return what becomes of `before` when every differing stretch is replaced."""
    made: list[str] = []
    place = 0
    for span in differing_spans(before, after):
        made += before[place : span.before_start] + after[span.after_start : span.after_end]
        place = span.before_end
    return made + before[place:]


def test_equal_sequences_differ_nowhere() -> None:
    assert differing_spans(["a", "b"], ["a", "b"]) == []
    assert differing_spans([], []) == []


def test_what_is_new_gone_or_replaced_is_found_between_what_stays() -> None:
    before = list("abcde")
    after = list("aXbcYe")
    assert differing_spans(before, after) == [Span(1, 1, 1, 2), Span(3, 4, 4, 5)]


@pytest.mark.parametrize("seed", range(20))
def test_replacing_the_stretches_makes_one_sequence_the_other(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        before = chance.choices("abcdefgh", k=chance.randrange(20))
        after = chance.choices("abcdefgh", k=chance.randrange(20))
        assert replayed(before, after) == after


def test_sequences_that_repeat_themselves_are_no_burden() -> None:
    # Some seconds at most where the usual algorithms take hours: the test's own time is the limit.
    before = ["a", "b"] * 100_000
    after = ["b", "a"] * 100_000
    assert replayed(before, after) == after
    shuffled = random.Random(1).sample([str(n) for n in range(100_000)], 100_000)
    assert replayed(sorted(shuffled), shuffled) == shuffled

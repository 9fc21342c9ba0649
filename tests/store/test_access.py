"""Access counts between two writings."""

from datetime import timedelta

from cinder.store.access import MAX_PENDING, AccessCounts
from tests.store.samples import NOW

LATER = NOW + timedelta(seconds=5)


def test_counts_given_back_join_newer_ones() -> None:
    counts = AccessCounts()
    counts.add("one", LATER)
    counts.add("one", NOW)
    taken = counts.take()
    counts.add("one", NOW)
    counts.give_back(taken)
    assert counts.take() == {"one": (3, LATER)}
    assert counts.take() == {}


def test_counts_that_cannot_be_written_take_bounded_memory() -> None:
    counts = AccessCounts()
    for number in range(MAX_PENDING + 10):
        counts.add(f"{number}", NOW)
    counts.add("0", NOW)
    taken = counts.take()
    assert len(taken) == MAX_PENDING
    assert taken["0"] == (2, NOW)

"""Politeness that several processes share through a file."""

from pathlib import Path

import pytest

from cinder.search.provider_throttle import ProviderThrottle, ProviderThrottled
from cinder.search.shared_provider_throttle import SharedProviderThrottle


def make(path: Path) -> SharedProviderThrottle:
    throttle = ProviderThrottle(delay_seconds=2, rest_seconds=600, max_wait_seconds=10)
    return SharedProviderThrottle(throttle, path)


def test_turns_are_spaced_out_among_all(tmp_path: Path) -> None:
    one, other = make(tmp_path / "state"), make(tmp_path / "state")
    assert [one.take_turn(100), other.take_turn(100), one.take_turn(101)] == [0, 2, 3]


def test_what_one_is_refused_all_leave_alone_for_longer_each_time(tmp_path: Path) -> None:
    one, other = make(tmp_path / "state"), make(tmp_path / "state")
    assert [one.note_refusal(1_000), other.note_refusal(1_000)] == [600, 1_200]
    for each in (one, other):
        with pytest.raises(ProviderThrottled) as refused:
            each.take_turn(1_100)
        assert refused.value.seconds == 1_100
    other.note_answer()
    assert one.note_refusal(3_000) == 600

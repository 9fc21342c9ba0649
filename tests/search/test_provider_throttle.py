from pathlib import Path

import pytest

from cinder.search.provider_throttle import (
    ProviderThrottle,
    ProviderThrottled,
    SharedProviderThrottle,
)


def make(max_wait_seconds: float = 10) -> ProviderThrottle:
    return ProviderThrottle(delay_seconds=2, rest_seconds=600, max_wait_seconds=max_wait_seconds)


def test_requests_are_spaced_out() -> None:
    throttle = make()
    assert [throttle.take_turn(100), throttle.take_turn(100), throttle.take_turn(101)] == [
        0,
        2,
        3,
    ]
    assert throttle.take_turn(200) == 0


def test_whoever_would_wait_too_long_takes_no_turn() -> None:
    throttle = make(max_wait_seconds=2)
    assert [throttle.take_turn(100), throttle.take_turn(100)] == [0, 2]
    for _ in range(2):
        with pytest.raises(ProviderThrottled) as refused:
            throttle.take_turn(100)
        assert refused.value.seconds == 4


def test_an_engine_that_refused_is_left_alone_for_longer_each_time() -> None:
    throttle = make()
    rests = [throttle.note_refusal(1_000) for _ in range(8)]
    assert rests == [600, 1200, 2400, 4800, 9600, 19200, 19200, 19200]
    with pytest.raises(ProviderThrottled) as refused:
        throttle.take_turn(1_200)
    assert refused.value.seconds == 19_000
    assert throttle.take_turn(20_200) == 0


def test_an_answer_ends_the_doubling() -> None:
    throttle = make()
    throttle.note_refusal(0)
    throttle.note_answer()
    assert throttle.note_refusal(1_000) == 600


def make_shared(path: Path) -> SharedProviderThrottle:
    throttle = ProviderThrottle(delay_seconds=2, rest_seconds=600, max_wait_seconds=10)
    return SharedProviderThrottle(throttle, path)


def test_turns_are_spaced_out_among_all(tmp_path: Path) -> None:
    one, other = make_shared(tmp_path / "state"), make_shared(tmp_path / "state")
    assert [one.take_turn(100), other.take_turn(100), one.take_turn(101)] == [0, 2, 3]


def test_what_one_is_refused_all_leave_alone_for_longer_each_time(tmp_path: Path) -> None:
    one, other = make_shared(tmp_path / "state"), make_shared(tmp_path / "state")
    assert [one.note_refusal(1_000), other.note_refusal(1_000)] == [600, 1_200]
    for each in (one, other):
        with pytest.raises(ProviderThrottled) as refused:
            each.take_turn(1_100)
        assert refused.value.seconds == 1_100
    other.note_answer()
    assert one.note_refusal(3_000) == 600

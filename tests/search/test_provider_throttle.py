import pytest

from cinder.search.provider_throttle import ProviderThrottle, ProviderThrottled


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

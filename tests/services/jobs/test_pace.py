"""How fast hosts are asked: slower where they labour, faster again when they do well."""

from hypothesis import given
from hypothesis import strategies as st

from cinder.services.jobs.pace import HostPace


def test_a_host_that_answers_well_is_given_no_time_in_between() -> None:
    pace = HostPace()

    assert [pace.note(200, 50) for _ in range(30)] == [None] * 30
    assert pace.delay_ms == 0


def test_each_refusal_doubles_the_time_up_to_a_bound() -> None:
    pace = HostPace()

    assert [pace.note(429, 50) for _ in range(8)] == [
        *(1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000),
        None,
    ]


def test_a_host_that_does_well_again_is_asked_faster_step_by_step() -> None:
    pace = HostPace()
    pace.note(503, 50)
    said = [pace.note(200, 50) for _ in range(40)]

    assert [delay for delay in said if delay is not None] == [500, 250, 0]
    assert said[9] == 500


def test_a_slow_host_is_given_half_the_time_it_takes() -> None:
    pace = HostPace()

    assert pace.note(200, 6_000) == 3_000
    assert pace.note(200, 6_000) is None


def test_what_the_site_asks_for_is_the_least_time() -> None:
    pace = HostPace(least_delay_ms=700, delay_ms=700)
    pace.note(429, 50)
    said = [pace.note(200, 50) for _ in range(50)]

    assert [delay for delay in said if delay is not None] == [700]


@given(
    st.integers(0, 5_000),
    st.lists(st.tuples(st.sampled_from([200, 404, 429, 503]), st.integers(0, 10**6))),
)
def test_the_time_in_between_stays_within_its_bounds(
    least: int, answers: list[tuple[int, int]]
) -> None:
    pace = HostPace(least_delay_ms=least, delay_ms=least)
    for status, spent in answers:
        pace.note(status, spent)
        assert least <= pace.delay_ms <= 60_000

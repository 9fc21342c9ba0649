"""The floors of speed, apart from measuring: which figures pass, and which fail."""

import os
import time

import pytest

from bench.cpu import exact_cpu_seconds
from bench.floor import FAILING, Costs, read_record, sum_up


def test_a_figure_is_the_median_of_its_rounds() -> None:
    rounds = [Costs(4, 1), Costs(400, 1), Costs(5, 1), Costs(3, 1), Costs(6, 2)]
    (figure,) = sum_up({"cached": rounds}, {"cached": 4.0})
    assert (figure.cinder_ms, figure.yardstick_ms, figure.ratio) == (5, 1, 4)
    assert figure.problem is None
    assert str(figure) == (
        "floor cached: 5.00 ms CPU, yardstick 1.000, 4.0 times as much "
        "(recorded 4.0, fails from twice that)"
    )


@pytest.mark.parametrize(("ratio", "passes"), [(7.9, True), (8.0, False), (80.0, False)])
def test_a_figure_fails_at_half_of_the_recorded_throughput(ratio: float, passes: bool) -> None:
    assert FAILING == 2
    (figure,) = sum_up({"cached": [Costs(ratio, 1)]}, {"cached": 4.0})
    assert (figure.problem is None) == passes
    assert ("FAILED" in str(figure)) == (not passes)


def test_a_figure_that_is_not_recorded_fails() -> None:
    (figure,) = sum_up({"new": [Costs(1, 1)]}, {})
    assert figure.problem == "it is not recorded: run make floor RECORD=1"


def test_a_record_that_nothing_measures_is_an_error() -> None:
    with pytest.raises(ValueError, match="Recorded and not measured: gone"):
        sum_up({"cached": [Costs(1, 1)]}, {"cached": 1.0, "gone": 1.0})


def test_the_record_holds_what_scrapes_cost() -> None:
    record = read_record()
    assert record.keys() >= {"cached-3-headings", "cached-64-headings", "fresh"}
    assert all(ratio > 1 for ratio in record.values())


def test_cpu_time_is_told_as_the_system_counts_it() -> None:
    before, started = exact_cpu_seconds(os.getpid()), time.process_time()
    while time.process_time() - started < 0.1:
        pass
    assert exact_cpu_seconds(os.getpid()) - before > 0.05

"""The tables of benchmarks: ratios, goals, and what became slower since the last runs."""

import json
from pathlib import Path

import pytest

from bench.runs import KEPT_RUNS, Goal, Table, find_slower, report


def _table(rate: float) -> Table:
    goals = [Goal("cinder", "peer", 2), Goal("cinder", "floor")]
    return Table("crawl", "crawl of 9 pages", "pages a second", _rates(rate), goals)


def _rates(rate: float) -> dict[str, float]:
    return {"cinder": rate, "peer": 10, "floor": 50}


@pytest.mark.parametrize(("rate", "ratio", "outcome"), [(20, 2, "reached"), (19, 1.9, "missed")])
def test_a_table_says_which_goals_are_reached(rate: float, ratio: float, outcome: str) -> None:
    assert str(_table(rate)).splitlines() == [
        "crawl of 9 pages, pages a second:",
        f"  cinder        {rate:10}",
        f"  peer          {10:10}",
        f"  floor         {50:10}",
        f"  cinder / peer {ratio:10.4g}  goal 2, {outcome}",
        f"  cinder / floor{rate / 50:10.4g}",
    ]


def test_a_ratio_is_slower_when_it_is_below_the_median_of_the_runs_before() -> None:
    before = [{"cinder / peer": ratio} for ratio in (0.1, 2.0, 2.1)]
    assert find_slower({"cinder / peer": 1.81}, before) == []
    assert find_slower({"cinder / peer": 1.79}, before) == [
        "slower: cinder / peer is 1.79, the median of the last 3 runs 2.00"
    ]


def test_a_ratio_that_was_never_measured_is_not_slower() -> None:
    assert find_slower({"cinder / new": 0.1}, [{"cinder / peer": 2.0}]) == []


def test_runs_are_kept_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "build/runs.jsonl"
    other = {"bench": "render", "at": "2026-01-01", "ratios": {}, "rates": {}}
    file.parent.mkdir()
    file.write_text(f"{json.dumps(other)}\n")
    for rate in [30] * (KEPT_RUNS + 2):
        report(_table(rate), file)
    assert "slower" not in capsys.readouterr().out
    report(_table(15), file)
    assert "slower: cinder / peer is 1.50, the median of the last 5 runs 3.00" in (
        capsys.readouterr().out
    )
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert [run["bench"] for run in kept] == ["render", *["crawl"] * KEPT_RUNS]
    assert kept[-1]["rates"] == _rates(15)

"""Tables of speed: cinder next to its peers and a floor, with goals, and what became slower.

Every figure is a rate, and a goal is a ratio of two rates of the same run: that of a loaded machine
can be compared with that of an idle one. `build/bench-runs.jsonl` keeps the last runs.
"""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.contestant import ROOT

RUNS_FILE = ROOT / "build/bench-runs.jsonl"
KEPT_RUNS = 20
# A ratio is compared with the median of so many runs before it.
COMPARED_RUNS = 5
# Runs of the same code differ by less on a machine that does nothing else.
SLOWER = 0.9


@dataclass(frozen=True, slots=True)
class Goal:
    """How many times the rate of a peer that of a contestant shall be."""

    contestant: str
    peer: str
    at_least: float | None = None
    """None for a ratio that is only compared with earlier runs."""

    @property
    def name(self) -> str:
        """What the ratio is of, as in the table and the file of runs."""
        return f"{self.contestant} / {self.peer}"


@dataclass(frozen=True, slots=True)
class Table:
    """The rates of contestants in one run, and the goals that they are measured by."""

    bench: str
    title: str
    unit: str
    """What a rate counts, as in `pages a CPU second`."""
    rates: Mapping[str, float]
    goals: Sequence[Goal]

    @property
    def ratios(self) -> dict[str, float]:
        """The ratio of each goal."""
        return {
            goal.name: self.rates[goal.contestant] / self.rates[goal.peer] for goal in self.goals
        }

    def __str__(self) -> str:
        ratios = self.ratios
        width = max(map(len, (*self.rates, *ratios)))
        lines = [f"{self.title}, {self.unit}:"]
        lines += (f"  {name:{width}}{rate:10.4g}" for name, rate in self.rates.items())
        for goal in self.goals:
            ratio = ratios[goal.name]
            line = f"  {goal.name:{width}}{ratio:10.4g}"
            if goal.at_least is not None:
                outcome = "reached" if ratio >= goal.at_least else "missed"
                line += f"  goal {goal.at_least:g}, {outcome}"
            lines.append(line)
        return "\n".join(lines)


def report(table: Table, file: Path = RUNS_FILE) -> None:
    """Print a table and what became slower since the last runs, and keep the run."""
    print(table, flush=True)
    runs = _read_runs(file)
    before = [run["ratios"] for run in runs if run["bench"] == table.bench][-COMPARED_RUNS:]
    for line in find_slower(table.ratios, before):
        print(f"  {line}")
    now = datetime.now(UTC).isoformat(timespec="seconds")
    runs.append({"bench": table.bench, "at": now, "ratios": table.ratios, "rates": table.rates})
    kept = [run for run in runs if run["bench"] != table.bench]
    kept += [run for run in runs if run["bench"] == table.bench][-KEPT_RUNS:]
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{json.dumps(run)}\n" for run in kept))


def find_slower(ratios: Mapping[str, float], before: Sequence[Mapping[str, float]]) -> list[str]:
    """Return a line for each ratio that is clearly below the median of the runs before."""
    lines = []
    for name, ratio in ratios.items():
        if not (earlier := [run[name] for run in before if name in run]):
            continue
        usual = statistics.median(earlier)
        if ratio < SLOWER * usual:
            lines.append(
                f"slower: {name} is {ratio:.2f}, the median of the last {len(earlier)} runs "
                f"{usual:.2f}"
            )
    return lines


def _read_runs(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]

"""What a contestant makes of the saved pages, written by its process and read by the bench.

The file has a line of JSON for each page, and a last one with the CPU seconds that all of them
took. Only the standard library is imported here, since not every contestant has cinder's packages.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.corpus import DATASETS, Page, read_pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a contestant says of a page; what it does not say is empty."""

    text: str = ""
    title: str = ""
    author: str = ""
    published: str = ""
    kept_share: float = 1.0
    """How much of the page's text it has, by its own account."""


@dataclass(frozen=True, slots=True)
class Task:
    """The pages to predict, and the file that the predictions go to."""

    pages: list[Page]
    out: Path


@dataclass(frozen=True, slots=True)
class Predictions:
    """What a contestant said of each page, by the page's key, and what that cost."""

    by_key: Mapping[str, Prediction]
    cpu_seconds: float

    @property
    def pages_per_second(self) -> float:
        """Pages that one core gets through in a second."""
        return len(self.by_key) / self.cpu_seconds


def task_parser() -> argparse.ArgumentParser:
    """Return what reads a contestant's command line; a contestant may add options of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--dataset", help="the one folder of pages to take; all without it")
    return parser


def task_of(arguments: argparse.Namespace) -> Task:
    """Return what the command line asks of a contestant."""
    datasets = DATASETS if arguments.dataset is None else (arguments.dataset,)
    return Task(read_pages(arguments.data, arguments.sample, datasets), arguments.out)


def predict_each(task: Task, predict: Callable[[Page, bytes], Prediction]) -> None:
    """Do a contestant's task, page by page, counting the CPU time of its own work only."""
    used = 0.0
    made = []
    for page in task.pages:
        body = page.read_body()
        before = time.process_time()
        try:
            prediction = predict(page, body)
        except Exception as exc:  # noqa: BLE001 - whatever a peer raises, the page scores zero
            print(f"{page.key}: {type(exc).__name__}: {exc}"[:300], file=sys.stderr)
            prediction = Prediction()
        used += time.process_time() - before
        made.append((page, prediction))
    write_predictions(task.out, made, used)


def write_predictions(
    out: Path, made: Iterable[tuple[Page, Prediction]], cpu_seconds: float
) -> None:
    """Write a contestant's predictions."""
    lines = [json.dumps({"key": page.key} | asdict(prediction)) for page, prediction in made]
    out.write_text("\n".join([*lines, json.dumps({"cpu_seconds": cpu_seconds})]))


def read_predictions(file: Path) -> Predictions:
    """Return what a contestant wrote."""
    # Not by `splitlines`: JavaScript leaves line separators of Unicode in its JSON.
    *lines, last = file.read_text("utf-8").split("\n")
    by_key = {}
    for fields in map(json.loads, lines):
        key = fields.pop("key")
        by_key[key] = Prediction(**fields)
    return Predictions(by_key, json.loads(last)["cpu_seconds"])

"""What a crawler in a process of its own is told, and how it answers: the crawler's end.

It says that it is ready, and with which converter; it gets the address of the website, the number
of pages and a file for them, and says when all are there, a line of JSON with `url` and `markdown`
for each. Only the standard library is imported here, since not every crawler has cinder's packages.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from bench.contestant import take_stdout

# Every crawler's markdown but Crawl4AI's, which has a converter of its own, is this one's.
CONVERTER = "html-to-markdown"
OTHERS = "otherProcesses"
# As many requests at once for every crawler.
CONCURRENCY = 16


@dataclass(frozen=True, slots=True)
class Order:
    """Where to begin, how many pages to fetch, and where they go."""

    start: str
    pages: int
    output: Path
    _answers: int

    def report_done(self) -> None:
        """Say that every page is in the file."""
        _say(self._answers, {"pages": str(self.output)})


def take_order(*others: int) -> Order:
    """Say that the crawler is ready, and wait for what it shall do.

    What other processes spend, which are not its children, is named for it to be counted as well.
    """
    answers = take_stdout()
    _say(answers, {CONVERTER: version(CONVERTER), OTHERS: list(others)})
    order = json.loads(sys.stdin.readline())
    return Order(order["start"], order["pages"], Path(order["output"]), answers)


def _say(answers: int, message: Mapping[str, object]) -> None:
    os.write(answers, json.dumps(message).encode() + b"\n")

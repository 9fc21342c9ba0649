"""What a client is asked to do, and what it reports: JSON on its command line and on its last line.

Only the standard library is imported here, since each client has packages of its own.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

TOOL = "scrape"


@dataclass(frozen=True, slots=True)
class Task:
    """A server, over HTTP or as a command to start, and a page to scrape with it."""

    page: str
    url: str = ""
    token: str = ""
    command: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def is_over_http(self) -> bool:
        return bool(self.url)

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@dataclass(frozen=True, slots=True)
class Report:
    """What a client got."""

    revision: str
    """The protocol revision, where the client tells it."""
    tools: Sequence[str]
    text: str
    """What the client hands on of the page, as JSON."""
    strict_tools: Sequence[str] | None = None
    """The tools whose arguments a model can be held to; None where the client does not convert."""


def read_task() -> Task:
    """Return the task on the command line."""
    return Task(**json.loads(sys.argv[1]))


def write_task(task: Task) -> str:
    return json.dumps(asdict(task))


def print_report(report: Report) -> None:
    """Print the report, as the last line."""
    print(json.dumps(asdict(report)), flush=True)


def read_report(output: str) -> Report:
    """Return the report that a client printed last."""
    return Report(**json.loads(output.rstrip().rpartition("\n")[2]))

"""Running schemathesis against a server, and reading what it says."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.api.working import TOKEN
from tests.contract.serving import Served

# What is valid by its schema may yet be refused: fields must go together, and URLs exist.
# Which server errors are unexpected, the hooks know better.
_NOT_CHECKED = "positive_data_acceptance,not_a_server_error"


@dataclass(frozen=True, slots=True)
class Effort:
    """How long schemathesis goes on."""

    examples: int
    """For each operation, beside those that its schema's bounds and types lead to."""
    seed: int = 1
    may_render: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """What schemathesis found."""

    has_passed: bool
    operations: int
    tested: int
    cases: int
    report: str


def run_schemathesis(server: Served, folder: Path, effort: Effort) -> Verdict:
    """Hold every operation of a server's OpenAPI document against what it answers."""
    environment = {
        **os.environ,
        "CONTRACT_PAGE": server.page,
        "CONTRACT_CRAWL": server.crawl,
        "CONTRACT_BATCH": server.batch,
        "CONTRACT_RENDER": "1" if effort.may_render else "0",
        "SCHEMATHESIS_HOOKS": "tests.contract.hooks",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "NO_PROXY": "*",
    }
    told = subprocess.run(
        [*_command(server), *_how_long(effort)],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return _read(told.stdout, has_passed=told.returncode == 0)


def _command(server: Served) -> list[str]:
    return [
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/openapi.json"),
        *("--header", f"Authorization: Bearer {TOKEN}"),
        *("--exclude-checks", _NOT_CHECKED),
        *("--request-timeout", "60"),
        *("--generation-database", "none"),
        *("--warnings", "off", "--no-color", "--continue-on-failure"),
    ]


def _how_long(effort: Effort) -> list[str]:
    return [
        *("--phases", "examples,coverage,fuzzing"),
        *("--max-examples", str(effort.examples)),
        *("--seed", str(effort.seed)),
    ]


def _read(report: str, *, has_passed: bool) -> Verdict:
    return Verdict(
        has_passed=has_passed,
        operations=_count(r"Selected: \d+/(\d+)", report),
        tested=_count(r"Tested: (\d+)", report),
        cases=_count(r"(\d+) generated", report),
        report=report,
    )


def _count(pattern: str, report: str) -> int:
    found = re.search(pattern, report)
    assert found, report
    return int(found[1])

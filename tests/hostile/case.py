"""A hostile input: where it comes in, and what must come of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

OK = "OK"
MEBIBYTE = 1024 * 1024


class Surface(StrEnum):
    """How a request reaches cinder."""

    REST = "rest"
    MCP = "mcp"
    CLI = "cli"


class Task(StrEnum):
    """What is asked for."""

    SCRAPE = "scrape"
    CRAWL = "crawl"
    SEARCH = "search"
    EXTRACT = "extract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What an input may cost at most."""

    seconds: float = 20
    """From the request to the answer, with room for a machine that is busy."""
    memory_bytes: int = 700 * MEBIBYTE
    """Of the largest process of the server, browsers aside: they have a limit of their own."""
    output_bytes: int = 1_100_000
    """Of the answer on the wire; the command line may give as much for each format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One hostile input.

    `{site}` and `{canary}` in it stand for the addresses of the loopback website, which may be
    reached, and of the canary, which may not.
    """

    name: str
    input: Mapping[str, Any]  # Any: JSON, and wrong on purpose
    codes: frozenset[str]
    """What may come of it: error codes, and OK."""
    codes_over_mcp: frozenset[str] = frozenset()
    """What else may come of it there, where empty values stand for what is not wanted."""
    task: Task = Task.SCRAPE
    bounds: Bounds = Bounds()
    renders: bool = False
    """Whether it takes a browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a hostile input on one surface."""

    code: str
    seconds: float
    output_bytes: int
    memory_bytes: int
    was_canary_reached: bool
    detail: str = ""


def find_problems(case: Case, surface: Surface, outcome: Outcome) -> list[str]:
    """Return what went wrong, in words."""
    problems = []
    bounds = case.bounds
    codes = case.codes | (case.codes_over_mcp if surface is Surface.MCP else frozenset())
    if outcome.code not in codes:
        wanted = " or ".join(sorted(codes))
        problems.append(f"answered {outcome.code} instead of {wanted}: {outcome.detail[:300]}")
    if outcome.seconds > bounds.seconds:
        problems.append(f"took {outcome.seconds:.1f} s")
    formats = len(case.input.get("formats") or "1") if surface is Surface.CLI else 1
    if outcome.output_bytes > bounds.output_bytes * formats:
        problems.append(f"answered with {outcome.output_bytes} bytes")
    if outcome.memory_bytes > bounds.memory_bytes:
        problems.append(f"took {outcome.memory_bytes // MEBIBYTE} MiB")
    if outcome.was_canary_reached:
        problems.append("reached the canary")
    return [f"{case.name} over {surface}: {problem}" for problem in problems]


def cases_of(
    kind: str, inputs: Iterable[Mapping[str, Any]], *codes: str, **about: Any
) -> list[Case]:
    """Return inputs of one kind, of which the same must come. Any: JSON, and a case's fields."""
    return [
        Case(name=f"{kind} {_shown(given)}", input=given, codes=frozenset(codes), **about)
        for given in inputs
    ]


def _shown(given: Mapping[str, Any]) -> str:
    text = repr(dict(given))
    return text if len(text) <= 200 else f"{text[:120]}…{text[-60:]} ({len(text)} characters)"

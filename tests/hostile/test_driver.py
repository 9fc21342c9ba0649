import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.hostile.case import OK, Bounds, Case, Outcome, Surface, find_problems
from tests.hostile.driver import all_cases, run_cases
from tests.hostile.server import Canary, HostileSite, serve_hostile_site

# `make soak` runs all; here, of each kind, some that take neither long nor a browser.
_HEAVY = ("page", "pdf", "slow", "robots", "sitemap", "trap", "way out", "script", "rendered")
_OVER_REST, _OVER_MCP, _OVER_CLI = 9, 15, 250


@pytest.fixture(scope="module")
def hostile_site() -> Iterator[HostileSite]:
    with serve_hostile_site() as site:
        yield site


def sample() -> list[tuple[Case, Surface]]:
    """Return some of all the hostile inputs, each with a surface to go through."""
    cases = all_cases()
    light = [case for case in cases if not case.name.startswith(_HEAVY)]
    heavy = [case for case in cases if case.name.startswith(_HEAVY) and not case.renders]
    rendered = [case for case in cases if case.renders]
    return [
        *((case, Surface.REST) for case in [*light[::_OVER_REST], *heavy[::35], *rendered[::70]]),
        *((case, Surface.MCP) for case in [*light[1::_OVER_MCP], *heavy[4::80]]),
        *((case, Surface.CLI) for case in light[5::_OVER_CLI]),
    ]


@pytest.mark.timeout(600)  # hundreds of inputs, on a machine that may be busy
async def test_hostile_inputs_are_answered_as_they_must_be(
    hostile_site: HostileSite, tmp_path: Path
) -> None:
    account = await run_cases(sample(), hostile_site, tmp_path)
    assert account.problems == []
    assert set(account.runs) == set(Surface)


def test_there_are_many_hostile_inputs_and_no_two_are_the_same() -> None:
    names = [case.name for case in all_cases()]
    assert len(names) > 1_200
    assert len(set(names)) == len(names)


def test_whatever_reaches_the_canary_is_noticed() -> None:
    with closing(Canary()) as canary:
        assert not canary.was_reached()
        socket.create_connection(("127.0.0.1", canary.port)).close()
        assert canary.was_reached()
        with socket.socket(type=socket.SOCK_DGRAM) as sender:
            sender.sendto(b"x", ("127.0.0.2", canary.port))
        assert canary.was_reached()
        assert not canary.was_reached()


def test_everything_that_is_not_as_it_must_be_is_told() -> None:
    case = Case(name="trial", input={}, codes=frozenset({OK}), bounds=Bounds(seconds=1))
    outcome = Outcome(
        code="HTTP 500",
        seconds=2,
        output_bytes=10**9,
        memory_bytes=10**10,
        was_canary_reached=True,
        detail="Oops",
    )
    assert find_problems(case, Surface.REST, outcome) == [
        "trial over rest: answered HTTP 500 instead of OK: Oops",
        "trial over rest: took 2.0 s",
        "trial over rest: answered with 1000000000 bytes",
        "trial over rest: took 9536 MiB",
        "trial over rest: reached the canary",
    ]

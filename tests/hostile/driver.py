"""The driver: runs hostile inputs through every surface of a real server and watches all of it."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import psutil

from tests.api.running import run_server
from tests.cli.commands import free_port
from tests.hostile.addresses import address_cases
from tests.hostile.case import MEBIBYTE, Case, Outcome, Surface, find_problems
from tests.hostile.commands import open_commands
from tests.hostile.crawl_files import crawl_cases
from tests.hostile.documents import document_cases
from tests.hostile.options import option_cases
from tests.hostile.pages import page_cases
from tests.hostile.questions import question_cases
from tests.hostile.scripts import script_cases
from tests.hostile.server import HostileSite
from tests.hostile.surfaces import Reply, Sender, open_senders
from tests.hostile.traps import trap_cases
from tests.hostile.wire import wire_cases

_LOOK_SECONDS = 0.1
_GIVEN_UP_SECONDS = 120


@dataclass(slots=True)
class Account:
    """What came of many hostile inputs."""

    problems: list[str] = field(default_factory=list)
    runs: Counter[Surface] = field(default_factory=Counter)
    most_memory_bytes: int = 0
    most_seconds: float = 0


def all_cases() -> list[Case]:
    """Return every hostile input there is."""
    return [
        *address_cases(),
        *option_cases(),
        *wire_cases(),
        *page_cases(),
        *document_cases(),
        *question_cases(),
        *crawl_cases(),
        *trap_cases(),
        *script_cases(),
    ]


async def run_cases(
    cases: Iterable[tuple[Case, Surface]],
    site: HostileSite,
    folder: Path,
    say: Callable[[str], None] = lambda _: None,
) -> Account:
    """Run inputs one after the other, so that what happens is known to come from which."""
    account = Account()
    # The canary's port is open, so that it is for its address alone that nobody gets there.
    egress = {
        "CINDER_EGRESS__ALLOW": ",".join(site.addresses),
        "CINDER_EGRESS__PORTS": f"80,443,8000-8999,{site.canary.port}",
    }
    (folder / "cli").mkdir(parents=True)
    async with (
        run_server(folder / "data", **egress) as server,
        open_commands(folder / "cli", {**egress, **_own_settings(folder / "cli")}) as commands,
        open_senders(server, commands) as senders,
        _watched(server.process.pid, commands.process_id) as watch,
    ):
        for case, surface in cases:
            await _run_case(case, surface, senders[surface], site, watch, account, say)
        if server.process.returncode is not None:
            account.problems.append(f"The server ended with {server.process.returncode}")
    return account


def _own_settings(folder: Path) -> dict[str, str]:
    # On a port where no server is, a command does the work itself.
    return {"CINDER_DATA_DIR": str(folder), "CINDER_SERVER__PORT": str(free_port())}


async def _run_case(
    case: Case,
    surface: Surface,
    sender: Sender,
    site: HostileSite,
    watch: "MemoryWatch",
    account: Account,
    say: Callable[[str], None],
) -> None:
    given = _filled(dict(case.input), site)
    if not sender.can_say(case.task, given):
        return
    watch.most_bytes = 0
    started = time.monotonic()
    reply = await _reply(sender, case, given)
    outcome = Outcome(
        code=reply.code,
        seconds=time.monotonic() - started,
        output_bytes=reply.output_bytes,
        memory_bytes=watch.most_bytes,
        was_canary_reached=site.canary.was_reached(),
        detail=reply.detail,
    )
    problems = find_problems(case, surface, outcome)
    if site.was_slipped_a_header:
        site.was_slipped_a_header = False
        problems.append(f"{case.name} over {surface}: slipped a header in")
    for problem in problems:
        say(problem)
    account.problems += problems
    account.runs[surface] += 1
    account.most_memory_bytes = max(account.most_memory_bytes, outcome.memory_bytes)
    account.most_seconds = max(account.most_seconds, outcome.seconds)


async def _reply(sender: Sender, case: Case, given: dict[str, Any]) -> Reply:
    try:
        async with asyncio.timeout(_GIVEN_UP_SECONDS):
            return await sender.send(case.task, given)
    except TimeoutError:
        return Reply("NO ANSWER", 0)


def _filled(given: dict[str, Any], site: HostileSite) -> dict[str, Any]:
    """Return an input with the addresses in it. Any: JSON."""
    # Escaped, a text holds no braces but those that it is about.
    filled: dict[str, Any] = json.loads(site.fill(json.dumps(given)))
    return filled


@dataclass(slots=True)
class MemoryWatch:
    """Looks again and again how much the largest of some processes and their children takes."""

    processes: tuple[psutil.Process, ...]
    most_bytes: int = 0

    async def look(self) -> None:
        """Look until cancelled."""
        while True:
            self.most_bytes = max(self.most_bytes, self._largest())
            await asyncio.sleep(_LOOK_SECONDS)

    def _largest(self) -> int:
        sizes = [0]
        with suppress(psutil.Error):
            below = (each.children(recursive=True) for each in self.processes)
            for process in chain(self.processes, *below):
                with suppress(psutil.Error):
                    if "chrom" not in process.name() and "headless" not in process.name():
                        sizes.append(process.memory_info().rss)
        return max(sizes)


@asynccontextmanager
async def _watched(*process_ids: int) -> AsyncIterator[MemoryWatch]:
    watch = MemoryWatch(tuple(map(psutil.Process, process_ids)))
    async with asyncio.TaskGroup() as tasks:
        looking = tasks.create_task(watch.look())
        yield watch
        looking.cancel()


def join_accounts(accounts: Iterable[Account]) -> Account:
    """Return what came of the inputs of several runs."""
    joined = Account()
    for each in accounts:
        joined.problems += each.problems
        joined.runs += each.runs
        joined.most_memory_bytes = max(joined.most_memory_bytes, each.most_memory_bytes)
        joined.most_seconds = max(joined.most_seconds, each.most_seconds)
    return joined


def describe(account: Account) -> str:
    """Return the figures in a line."""
    runs = ", ".join(f"{count} over {surface}" for surface, count in account.runs.items())
    return (
        f"Hostile inputs: {runs}; at most {account.most_seconds:.1f} s and "
        f"{account.most_memory_bytes / MEBIBYTE:.0f} MiB; {len(account.problems)} problems"
    )

"""Every hostile input, through every surface of a real server."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.hostile.case import Surface
from tests.hostile.driver import Account, all_cases, describe, join_accounts, run_cases
from tests.hostile.server import HostileSite, serve_hostile_site


def soak_hostile_inputs(say: Callable[[str], None]) -> list[str]:
    """Run all of them; return what went wrong."""
    with ExitStack() as open_things:
        folder = Path(open_things.enter_context(tempfile.TemporaryDirectory()))
        sites = {surface: open_things.enter_context(serve_hostile_site()) for surface in Surface}
        account = asyncio.run(_run_all(sites, folder, say))
    say(describe(account))
    return account.problems


async def _run_all(
    sites: Mapping[Surface, HostileSite], folder: Path, say: Callable[[str], None]
) -> Account:
    """Run the inputs of each surface in turn, and the surfaces at once, each with its own site."""
    async with asyncio.TaskGroup() as tasks:
        runs = [
            tasks.create_task(
                run_cases([(case, surface) for case in all_cases()], site, folder / surface, say)
            )
            for surface, site in sites.items()
        ]
    return join_accounts(run.result() for run in runs)

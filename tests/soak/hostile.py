"""Every hostile input, through every surface of a real server."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.hostile.case import Surface
from tests.hostile.driver import all_cases, describe, run_cases
from tests.hostile.server import serve_hostile_site


def soak_hostile_inputs(say: Callable[[str], None]) -> list[str]:
    """Run all of them; return what went wrong."""
    runs = [(case, surface) for surface in Surface for case in all_cases()]
    with tempfile.TemporaryDirectory() as folder, serve_hostile_site() as site:
        account = asyncio.run(run_cases(runs, site, Path(folder)))
    say(describe(account))
    return account.problems

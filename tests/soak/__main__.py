"""`python -m tests.soak`: all that takes too long for the tests; exits 1 on a failure."""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.logs import configure_logs
from tests.site import serve_site
from tests.soak.connections import soak_connections
from tests.soak.contract import soak_contract
from tests.soak.crawls import soak_crawls
from tests.soak.faults import soak_faults
from tests.soak.footprint import Footprint, take_footprint
from tests.soak.hostile import soak_hostile_inputs
from tests.soak.overload import soak_overload
from tests.soak.parsers import soak_parsers
from tests.soak.renders import MEBIBYTE, Renders, Soak
from tests.soak.searches import soak_searches

MAX_GROWTH_BYTES_PER_100_PAGES = MEBIBYTE
WARM_UP_PAGES = 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--pages", type=int, default=500, help="to render; 0 for none")
    parser.add_argument("--kills", type=int, default=20, help="of a crawl's processes; 0 for none")
    parser.add_argument(
        "--indexed", type=int, default=10_000, help="pages to crawl while searching"
    )
    parser.add_argument(
        "--hostile", type=int, choices=(0, 1), default=1, help="whether to run the hostile inputs"
    )
    parser.add_argument(
        "--contract", type=int, default=200, help="requests to make up for each operation"
    )
    parser.add_argument("--fuzz", type=int, default=5_000, help="inputs for each parser")
    parser.add_argument(
        "--faults", type=int, choices=(0, 1), default=1, help="whether to overload it, and so on"
    )
    parser.add_argument(
        "--overload", type=int, default=60, help="seconds of ten times the capacity; 0 for none"
    )
    parser.add_argument(
        "--connections", type=int, choices=(0, 1), default=1, help="whether to flood it with them"
    )
    arguments = parser.parse_args()
    configure_logs("error")
    started = time.monotonic()
    problems = asyncio.run(_soak(arguments.pages)) if arguments.pages else []
    problems += soak_crawls(arguments.kills, _say) if arguments.kills else []
    problems += soak_searches(arguments.indexed, _say) if arguments.indexed else []
    problems += soak_hostile_inputs(_say) if arguments.hostile else []
    problems += soak_contract(arguments.contract, _say) if arguments.contract else []
    problems += soak_parsers(arguments.fuzz, _say) if arguments.fuzz else []
    problems += soak_faults(_say) if arguments.faults else []
    problems += soak_overload(arguments.overload, _say) if arguments.overload else []
    problems += soak_connections(_say) if arguments.connections else []
    _say(f"{time.monotonic() - started:.0f} s")
    for line in problems or ["All is well."]:
        _say(line)
    sys.exit(1 if problems else 0)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def _soak(pages: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder, serve_site() as site:
        root = Path(folder)
        settings = read_settings(data_dir=root, egress={"allow": [site.address]})
        # What a first opening loads for good is no growth.
        async with open_app(settings):
            pass
        before = take_footprint()
        async with open_app(settings) as app:
            soak = await Renders(app, site).run(pages, _say)
        after = take_footprint()
        left = [path.name for path in (root / "browser").glob("slave_*")]
    _print_figures(soak, before, after)
    return [*_problems(soak, before, after), *(f"{name} was left" for name in left)]


def _problems(soak: Soak, before: Footprint, after: Footprint) -> list[str]:
    problems = list(soak.failures)
    growth = soak.growth_bytes_per_100_pages(WARM_UP_PAGES)
    if growth >= MAX_GROWTH_BYTES_PER_100_PAGES:
        problems.append(f"Memory grows by {growth / MEBIBYTE:.2f} MiB per 100 pages")
    if after.processes > before.processes:
        problems.append(f"{after.processes - before.processes} processes were left")
    if after.files > before.files:
        problems.append(f"{after.files - before.files} files were left open")
    return problems


def _print_figures(soak: Soak, before: Footprint, after: Footprint) -> None:
    for name, count in sorted(soak.hostile.items()):
        _say(f"{count:4} times {name}")
    for name, own in (("all processes", False), ("cinder alone", True)):
        growth = soak.growth_bytes_per_100_pages(WARM_UP_PAGES, own=own) / MEBIBYTE
        error = soak.error_bytes_per_100_pages(WARM_UP_PAGES, own=own) / MEBIBYTE
        _say(
            f"Memory after {WARM_UP_PAGES} pages, {name}: {growth:+.2f} MiB per 100 pages, "
            f"standard error {error:.2f}"
        )
    _say(f"Processes before and after: {before.processes}, {after.processes}")
    _say(f"Open files before and after: {before.files}, {after.files}")
    _say(f"Failed: {len(soak.failures)} of {soak.pages}")


if __name__ == "__main__":
    main()

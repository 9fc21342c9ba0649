"""`cinder worker`: a process that works on batches and crawls, and serves nobody."""

import asyncio
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cinder.config import Settings


def worker() -> None:
    """Work on batches and crawls until told to stop; any number of workers share PostgreSQL."""
    import structlog

    from cinder.config import read_settings, unknown_variables
    from cinder.surfaces.logs import set_up_logs

    settings = read_settings()
    set_up_logs(settings.log.level)
    for name in unknown_variables():
        structlog.get_logger().warning("not a setting of this version", variable=name)
    if settings.store_url.startswith("sqlite"):
        print(
            "This worker uses SQLite, so it can share jobs with processes of this machine alone. "
            "For a fleet set CINDER_STORE__URL to postgresql://….",
            file=sys.stderr,
        )
    try:
        asyncio.run(_work(settings))
    except asyncio.CancelledError:
        # What it held is free again once its leases have run out.
        seconds = settings.server.shutdown_seconds
        print(f"Not everything had ended after {seconds} s; stopped all the same.", file=sys.stderr)
    print("cinder worker: stopped", flush=True)


async def _work(settings: "Settings") -> None:
    from cinder.app import open_app
    from cinder.surfaces.cli.collector import spare_what_stays
    from cinder.surfaces.cli.stopping import end_by_signal

    loop = asyncio.get_running_loop()
    told_to_stop = asyncio.Event()

    def stop(number: int) -> None:
        if told_to_stop.is_set():
            end_by_signal(number)
        told_to_stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    async with open_app(settings, works_on_jobs=True) as app:
        await app.start_parsers()
        spare_what_stays()
        print(f"cinder worker: works on up to {settings.jobs.slots} jobs at once", flush=True)
        await told_to_stop.wait()
        if (task := asyncio.current_task()) is not None:
            loop.call_later(settings.server.shutdown_seconds, task.cancel)

"""A process that works on jobs until it is ended: `python -m tests.crawls.worker SETTINGS`.

The settings are JSON. It says "ready" on its standard output once it is at work.
"""

import asyncio
import json
import sys
from typing import Any

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.logs import configure_logs


async def work(settings: dict[str, Any]) -> None:  # Any: whatever the settings take
    async with open_app(read_settings(**settings), works_on_jobs=True):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    configure_logs("info")
    asyncio.run(work(json.loads(sys.argv[1])))

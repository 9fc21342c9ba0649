"""cinder as a service calls it: one app kept open, every page rendered anew."""

import asyncio
import sys
from pathlib import Path

from bench.contestant import answer_lines, take_stdout
from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.logs import configure_logs
from cinder.models.request import CachePolicy, Mode, RenderOptions, ScrapeRequest


async def main() -> None:
    address, folder = sys.argv[1:]
    answers = take_stdout()
    configure_logs("warning")
    settings = read_settings(data_dir=Path(folder), egress={"allow": [address]})
    async with open_app(settings) as app:

        async def render(url: str) -> str:
            request = ScrapeRequest(
                url=url,
                render=RenderOptions(mode=Mode.DYNAMIC),
                cache=CachePolicy(force_rescrape=True),
            )
            outcome = await app.scrape.scrape(request)
            return outcome.document.content.markdown or ""

        await answer_lines(answers, render)


asyncio.run(main())

"""Crawl4AI as its guide has it: one crawler kept open, headless, the cache bypassed.

It runs in the environment of its own that `make bench` makes, on the browser that cinder uses. It
opens a tab for each page, unless a session is named: that keeps one tab and all that pages leave.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

import playwright  # type: ignore[import-not-found]  # it is not in cinder's environment
from crawl4ai import (  # type: ignore[import-not-found]  # it is not in cinder's environment
    AsyncWebCrawler,
    BrowserConfig,
    CacheMode,
    CrawlerRunConfig,
)

from bench.contestant import answer_lines, take_stdout


def lend_browser(executable: str, folder: Path) -> None:
    """Have Playwright find a browser of the system where it looks for its own download."""
    registry = Path(playwright.__file__).parent / "driver/package/browsers.json"
    browsers = json.loads(registry.read_text())["browsers"]
    revision = next(each["revision"] for each in browsers if "headless-shell" in each["name"])
    for machine in ("linux64", "linux-arm64"):
        name = f"chromium_headless_shell-{revision}/chrome-headless-shell-{machine}"
        (folder / name).mkdir(parents=True)
        (folder / name / "chrome-headless-shell").symlink_to(executable)
    os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(folder)


async def main() -> None:
    executable, folder, session, selector = sys.argv[1:]
    answers = take_stdout()
    lend_browser(executable, Path(folder) / "browsers")
    options = CrawlerRunConfig(
        cache_mode=CacheMode.BYPASS,
        wait_until="domcontentloaded",
        # Measured a little cheaper than its `css:`.
        wait_for=f"js:() => document.querySelector('{selector}') !== null",
        session_id=session or None,
        verbose=False,
    )
    async with AsyncWebCrawler(config=BrowserConfig(headless=True, verbose=False)) as crawler:

        async def render(url: str) -> str:
            result = await crawler.arun(url, config=options)
            if not result.success:
                raise RuntimeError(f"Crawl4AI on {url}: {result.error_message}")
            return str(result.markdown)

        await answer_lines(answers, render)


asyncio.run(main())

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cinder.errors import BrowserCrashed, BrowserUnavailable, ConnectionFailed, ScrapeFailed
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.fetch.ladder import AttemptLog, Ladder
from cinder.fetch.plan import Step
from cinder.fetch.retry import RetryPolicy
from cinder.fetch.site_memory import SiteMemory
from cinder.model.document import FetchedPage, Source
from cinder.model.request import Mode, ProxyTier, RenderOptions

SMART = FetchTask(
    url="https://a.example/", timeout_seconds=10, render=RenderOptions(proxy=ProxyTier.BASIC)
)
TASK = replace(SMART, render=RenderOptions(mode=Mode.STATIC))
DYNAMIC = replace(SMART, render=RenderOptions(mode=Mode.DYNAMIC, proxy=ProxyTier.BASIC))

ARTICLE = b"<main><p>" + b"Embers glow under the ash until the morning comes. " * 40 + b"</main>"
SHELL = b'<div id="root"></div><script src="/app.js"></script>'
WALL = (
    b"<title>Just a moment...</title><p>Checking your browser</p>"
    b"<script>window._cf_chl_opt = {}</script>"
)


class ScriptedFetcher:
    """An engine that answers as it is told: with a status, or with an error."""

    name = "scripted"

    def __init__(self, *script: int | Exception, body: bytes = b"") -> None:
        self._script = list(script)
        self.body = body
        self.tasks: list[FetchTask] = []

    async def fetch(self, task: FetchTask) -> FetchedPage:
        self.tasks.append(task)
        step = self._script.pop(0)
        if isinstance(step, Exception):
            raise step
        return FetchedPage(
            url=task.url,
            final_url=task.url,
            status_code=step,
            headers={"content-type": "text/html"},
            body=self.body,
            source=Source.NATIVE,
            strategy=self.name,
        )


def climb(
    engines: ScriptedFetcher | Mapping[Step, Fetcher], **policy: float
) -> tuple[Ladder, AttemptLog]:
    if isinstance(engines, ScriptedFetcher):
        engines = {Step.STATIC: engines}
    retry = RetryPolicy(max_retries=2, first_wait_seconds=policy.get("wait", 0))
    ladder = Ladder(engines, retry, SiteMemory())
    return ladder, AttemptLog(1_000, lambda _strategy, _outcome: None)


async def test_a_broken_connection_is_tried_again() -> None:
    fetcher = ScriptedFetcher(ConnectionFailed("reset"), 200)
    ladder, log = climb(fetcher)
    assert (await ladder.fetch(TASK, log)).status_code == 200
    assert log.diagnostics.retry_count == 1
    assert log.diagnostics.last_error == "reset"


async def test_the_last_refusal_is_returned_when_patience_ends() -> None:
    ladder, log = climb(ScriptedFetcher(503, 429, 500))
    assert (await ladder.fetch(TASK, log)).status_code == 500
    assert log.diagnostics.retry_count == 2


async def test_other_failures_are_final() -> None:
    fetcher = ScriptedFetcher(ScrapeFailed("no certificate"))
    ladder, log = climb(fetcher)
    with pytest.raises(ScrapeFailed):
        await ladder.fetch(TASK, log)
    assert len(fetcher.tasks) == 1


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    fetcher = ScriptedFetcher(503, 200)
    ladder, log = climb(fetcher, wait=15)
    assert (await ladder.fetch(TASK, log)).status_code == 503


async def test_each_attempt_gets_the_time_that_is_left() -> None:
    fetcher = ScriptedFetcher(503, 200)
    ladder, log = climb(fetcher, wait=0.05)
    await ladder.fetch(TASK, log)
    assert fetcher.tasks[1].timeout_seconds < fetcher.tasks[0].timeout_seconds <= 10


async def test_a_page_that_a_browser_need_not_render_ends_the_climb() -> None:
    static, browser = ScriptedFetcher(200), ScriptedFetcher(200, body=ARTICLE)
    ladder, log = climb({Step.STATIC: static, Step.BROWSER: browser})
    static.body = ARTICLE
    assert (await ladder.fetch(SMART, log)).body == ARTICLE
    assert not browser.tasks


async def test_a_shell_is_rendered_and_the_log_says_why() -> None:
    static, browser = ScriptedFetcher(200, body=SHELL), ScriptedFetcher(200, body=ARTICLE)
    browser.name = "browser"
    ladder, log = climb({Step.STATIC: static, Step.BROWSER: browser})
    assert (await ladder.fetch(SMART, log)).body == ARTICLE
    assert log.diagnostics.strategies == ["scripted", "browser"]
    assert "JavaScript" in log.diagnostics.strategy_errors["scripted"]
    assert list(log.diagnostics.timing) == ["scripted", "browser"]


async def test_a_site_of_shells_is_remembered() -> None:
    static = ScriptedFetcher(200, 200, body=SHELL)
    browser = ScriptedFetcher(200, 200, 200, body=ARTICLE)
    ladder, log = climb({Step.STATIC: static, Step.BROWSER: browser})
    for page in "abc":
        await ladder.fetch(replace(SMART, url=f"https://a.example/{page}"), log)
    assert (len(static.tasks), len(browser.tasks)) == (2, 3)


async def test_a_wall_is_tried_in_stealth_where_the_request_leaves_it_open() -> None:
    engines = {
        Step.STATIC: ScriptedFetcher(403, body=WALL),
        Step.BROWSER: ScriptedFetcher(403, body=WALL),
        Step.STEALTH: ScriptedFetcher(200, body=ARTICLE),
    }
    ladder, log = climb(engines)
    auto = replace(SMART, render=RenderOptions(proxy=ProxyTier.AUTO))
    assert (await ladder.fetch(auto, log)).body == ARTICLE


async def test_a_wall_in_basic_is_the_answer() -> None:
    engines = {
        Step.STATIC: ScriptedFetcher(403, body=WALL),
        Step.BROWSER: ScriptedFetcher(403, body=WALL),
    }
    ladder, log = climb(engines)
    assert (await ladder.fetch(SMART, log)).status_code == 403


async def test_what_was_fetched_stands_with_a_warning_when_rendering_fails() -> None:
    engines = {
        Step.STATIC: ScriptedFetcher(200, body=SHELL),
        Step.BROWSER: ScriptedFetcher(BrowserUnavailable("no browser")),
    }
    ladder, log = climb(engines)
    page = await ladder.fetch(SMART, log)
    assert page.body == SHELL
    assert "no browser" in page.warnings[0]
    assert log.diagnostics.strategies == ["scripted"]


async def test_a_page_whose_browser_crashed_is_tried_once_more() -> None:
    browser = ScriptedFetcher(BrowserCrashed("gone"), BrowserCrashed("gone again"), 200)
    ladder, log = climb({Step.BROWSER: browser})
    with pytest.raises(BrowserCrashed, match="gone again"):
        await ladder.fetch(DYNAMIC, log)
    assert len(browser.tasks) == 2


async def test_a_file_met_by_a_browser_is_fetched_without_one() -> None:
    found = FileFound("https://a.example/paper.pdf", (("Cookie", "a=b"),))
    static = ScriptedFetcher(200, body=b"%PDF")
    ladder, log = climb({Step.BROWSER: ScriptedFetcher(found), Step.STATIC: static})
    page = await ladder.fetch(DYNAMIC, log)
    assert (page.url, page.final_url) == (DYNAMIC.url, found.url)
    assert static.tasks[0].headers == (("Cookie", "a=b"),)


class SilentFetcher:
    """An engine that never answers."""

    name = "silent"

    async def fetch(self, task: FetchTask) -> FetchedPage:
        answer: asyncio.Future[FetchedPage] = asyncio.get_running_loop().create_future()
        return await answer


async def test_what_was_fetched_stands_when_rendering_takes_all_the_time() -> None:
    engines: dict[Step, Fetcher] = {
        Step.STATIC: ScriptedFetcher(200, body=SHELL),
        Step.BROWSER: SilentFetcher(),
    }
    ladder, log = climb(engines)
    page = await ladder.fetch(replace(SMART, timeout_seconds=0.2), log)
    assert page.body == SHELL
    assert "took too long" in page.warnings[0]


async def test_a_shell_in_static_mode_comes_with_advice() -> None:
    ladder, log = climb(ScriptedFetcher(200, body=SHELL))
    assert "dynamic" in (await ladder.fetch(TASK, log)).warnings[0]


async def test_an_error_page_says_nothing_of_what_a_site_needs() -> None:
    static = ScriptedFetcher(200, 200, 404, body=SHELL)
    browser = ScriptedFetcher(200, 200, 200, body=ARTICLE)
    ladder, log = climb({Step.STATIC: static, Step.BROWSER: browser})
    for page in "ab":
        await ladder.fetch(replace(SMART, url=f"https://a.example/{page}"), log)
    await ladder.fetch(replace(SMART, url="https://a.example/c"), log)
    assert (len(static.tasks), len(browser.tasks)) == (2, 3)

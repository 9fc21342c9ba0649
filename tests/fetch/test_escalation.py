import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cinder.errors import (
    BrowserCrashed,
    BrowserUnavailable,
    ConnectionFailed,
    ErrorCode,
    InvalidRequest,
    ScrapeFailed,
)
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.fetch.escalation import (
    AttemptLog,
    EngineEscalation,
    EngineStep,
    FetchRetryPolicy,
    SiteMemory,
    check_mode,
    is_retryable,
    plan_steps,
    reason_to_escalate,
)
from cinder.models.document import FetchedPage, FetchSource
from cinder.models.http import read_retry_after
from cinder.models.request import (
    Action,
    ActionType,
    Format,
    Mode,
    Profile,
    ProxyTier,
    RenderOptions,
    ScrapeRequest,
)

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
    content_type = "text/html"

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
            headers={"content-type": self.content_type},
            body=self.body,
            source=FetchSource.NATIVE,
            strategy=self.name,
        )


def escalate(
    engines: ScriptedFetcher | Mapping[EngineStep, Fetcher], **policy: float
) -> tuple[EngineEscalation, AttemptLog]:
    if isinstance(engines, ScriptedFetcher):
        engines = {EngineStep.STATIC: engines}
    retry = FetchRetryPolicy(max_retries=2, first_wait_seconds=policy.get("wait", 0))
    escalation = EngineEscalation(engines, retry, SiteMemory())
    return escalation, AttemptLog(1_000, lambda _strategy, _outcome: None)


async def test_a_broken_connection_is_tried_again() -> None:
    fetcher = ScriptedFetcher(ConnectionFailed("reset"), 200)
    escalation, log = escalate(fetcher)
    assert (await escalation.fetch(TASK, log)).status_code == 200
    assert log.diagnostics.retry_count == 1
    assert log.diagnostics.last_error == "reset"


async def test_the_last_refusal_is_returned_when_patience_ends() -> None:
    escalation, log = escalate(ScriptedFetcher(503, 429, 500))
    assert (await escalation.fetch(TASK, log)).status_code == 500
    assert log.diagnostics.retry_count == 2


async def test_other_failures_are_final() -> None:
    fetcher = ScriptedFetcher(ScrapeFailed("no certificate"))
    escalation, log = escalate(fetcher)
    with pytest.raises(ScrapeFailed):
        await escalation.fetch(TASK, log)
    assert len(fetcher.tasks) == 1


async def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    fetcher = ScriptedFetcher(503, 200)
    escalation, log = escalate(fetcher, wait=15)
    assert (await escalation.fetch(TASK, log)).status_code == 503


async def test_each_attempt_gets_the_time_that_is_left() -> None:
    fetcher = ScriptedFetcher(503, 200)
    escalation, log = escalate(fetcher, wait=0.05)
    await escalation.fetch(TASK, log)
    assert fetcher.tasks[1].timeout_seconds < fetcher.tasks[0].timeout_seconds <= 10


async def test_a_page_that_a_browser_need_not_render_ends_the_climb() -> None:
    static, browser = ScriptedFetcher(200), ScriptedFetcher(200, body=ARTICLE)
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    static.body = ARTICLE
    assert (await escalation.fetch(SMART, log)).body == ARTICLE
    assert not browser.tasks


async def test_a_shell_is_rendered_and_the_log_says_why() -> None:
    static, browser = ScriptedFetcher(200, body=SHELL), ScriptedFetcher(200, body=ARTICLE)
    browser.name = "browser"
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    assert (await escalation.fetch(SMART, log)).body == ARTICLE
    assert log.diagnostics.strategies == ["scripted", "browser"]
    assert "JavaScript" in log.diagnostics.strategy_errors["scripted"]
    assert list(log.diagnostics.timing) == ["scripted", "browser"]


async def test_a_site_of_shells_is_remembered_and_its_other_pages_are_rendered() -> None:
    static = ScriptedFetcher(200, 200, 200, body=SHELL)
    browser = ScriptedFetcher(200, 200, 200, body=ARTICLE)
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    for page in "ab":
        assert not escalation.starts_in_browser(SMART)
        await escalation.fetch(replace(SMART, url=f"https://a.example/{page}"), log)
    assert escalation.starts_in_browser(SMART)
    static.body = ARTICLE
    await escalation.fetch(replace(SMART, url="https://a.example/c"), log)
    assert (len(static.tasks), len(browser.tasks)) == (3, 3)


async def test_the_missing_pages_and_files_of_a_site_of_shells_go_to_no_browser() -> None:
    static = ScriptedFetcher(200, 200, 404, 200, body=SHELL)
    browser = ScriptedFetcher(200, 200, body=ARTICLE)
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    for page in "ab":
        await escalation.fetch(replace(SMART, url=f"https://a.example/{page}"), log)
    assert (await escalation.fetch(SMART, log)).status_code == 404
    static.body, static.content_type = b"%PDF", "application/pdf"
    assert (await escalation.fetch(SMART, log)).body == b"%PDF"
    assert escalation.starts_in_browser(SMART)


@pytest.mark.parametrize("status", [200, 403, 500])
@pytest.mark.parametrize("body", [b"", b"<title>A guard</title><p>" + b"Hold on. " * 20])
async def test_a_wall_is_kept_where_a_browser_shows_less(status: int, body: bytes) -> None:
    browser = ScriptedFetcher(status, status, status, body=body)
    static = ScriptedFetcher(403, body=WALL.replace(b"Just a moment...", b"A guard"))
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    page = await escalation.fetch(SMART, log)
    assert (page.body, page.status_code) == (static.body, 403)
    assert "rendering it failed" in page.warnings[0]


async def test_a_shell_is_kept_where_a_browser_gets_an_error() -> None:
    static, browser = ScriptedFetcher(200, body=SHELL), ScriptedFetcher(404, body=ARTICLE)
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    page = await escalation.fetch(SMART, log)
    assert (page.body, page.status_code) == (SHELL, 200)
    assert "404" in page.warnings[0]


async def test_a_wall_is_tried_in_stealth_where_the_request_leaves_it_open() -> None:
    engines = {
        EngineStep.STATIC: ScriptedFetcher(403, body=WALL),
        EngineStep.BROWSER: ScriptedFetcher(403, body=WALL),
        EngineStep.STEALTH: ScriptedFetcher(200, body=ARTICLE),
    }
    escalation, log = escalate(engines)
    auto = replace(SMART, render=RenderOptions(proxy=ProxyTier.AUTO))
    assert (await escalation.fetch(auto, log)).body == ARTICLE


async def test_a_wall_in_basic_is_the_answer() -> None:
    engines = {
        EngineStep.STATIC: ScriptedFetcher(403, body=WALL),
        EngineStep.BROWSER: ScriptedFetcher(403, body=WALL),
    }
    escalation, log = escalate(engines)
    assert (await escalation.fetch(SMART, log)).status_code == 403


async def test_what_was_fetched_stands_with_a_warning_when_rendering_fails() -> None:
    engines = {
        EngineStep.STATIC: ScriptedFetcher(200, body=SHELL),
        EngineStep.BROWSER: ScriptedFetcher(BrowserUnavailable("no browser")),
    }
    escalation, log = escalate(engines)
    page = await escalation.fetch(SMART, log)
    assert page.body == SHELL
    assert "no browser" in page.warnings[0]
    assert log.diagnostics.strategies == ["scripted"]


async def test_a_page_whose_browser_crashed_is_tried_once_more() -> None:
    browser = ScriptedFetcher(BrowserCrashed("gone"), BrowserCrashed("gone again"), 200)
    escalation, log = escalate({EngineStep.BROWSER: browser})
    with pytest.raises(BrowserCrashed, match="gone again"):
        await escalation.fetch(DYNAMIC, log)
    assert len(browser.tasks) == 2


async def test_a_file_met_by_a_browser_is_fetched_without_one() -> None:
    found = FileFound("https://a.example/paper.pdf", (("Cookie", "a=b"),))
    static = ScriptedFetcher(200, body=b"%PDF")
    escalation, log = escalate(
        {EngineStep.BROWSER: ScriptedFetcher(found), EngineStep.STATIC: static}
    )
    page = await escalation.fetch(DYNAMIC, log)
    assert (page.url, page.final_url) == (DYNAMIC.url, found.url)
    assert static.tasks[0].headers == (("Cookie", "a=b"),)


class SilentFetcher:
    """An engine that never answers."""

    name = "silent"

    async def fetch(self, task: FetchTask) -> FetchedPage:
        answer: asyncio.Future[FetchedPage] = asyncio.get_running_loop().create_future()
        return await answer


async def test_what_was_fetched_stands_when_rendering_takes_all_the_time() -> None:
    engines: dict[EngineStep, Fetcher] = {
        EngineStep.STATIC: ScriptedFetcher(200, body=SHELL),
        EngineStep.BROWSER: SilentFetcher(),
    }
    escalation, log = escalate(engines)
    page = await escalation.fetch(replace(SMART, timeout_seconds=0.2), log)
    assert page.body == SHELL
    assert "took too long" in page.warnings[0]


async def test_a_wall_is_known_while_a_browser_takes_all_the_time() -> None:
    engines: dict[EngineStep, Fetcher] = {
        EngineStep.STATIC: ScriptedFetcher(200, body=WALL),
        EngineStep.BROWSER: SilentFetcher(),
    }
    escalation, log = escalate(engines)
    page = await escalation.fetch(replace(SMART, timeout_seconds=0.2), log)
    assert page.body == WALL
    assert log.page is not None
    assert log.page.body == WALL


async def test_a_shell_in_static_mode_comes_with_advice() -> None:
    escalation, log = escalate(ScriptedFetcher(200, body=SHELL))
    assert "dynamic" in (await escalation.fetch(TASK, log)).warnings[0]


async def test_an_error_page_says_nothing_of_what_a_site_needs() -> None:
    static = ScriptedFetcher(200, 404, 200, body=SHELL)
    browser = ScriptedFetcher(200, 200, body=ARTICLE)
    escalation, log = escalate({EngineStep.STATIC: static, EngineStep.BROWSER: browser})
    for page in "abc":
        await escalation.fetch(replace(SMART, url=f"https://a.example/{page}"), log)
    assert escalation.starts_in_browser(SMART)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def remember_shells(memory: SiteMemory, *urls: str) -> None:
    for url in urls:
        memory.remember(url, needs_browser=True)


def test_an_unknown_site_needs_no_browser() -> None:
    assert not SiteMemory().needs_browser("https://a.example/")


def test_two_shells_in_a_row_speak_for_their_site_only() -> None:
    memory = SiteMemory()
    remember_shells(memory, "https://a.example/1")
    assert not memory.needs_browser("https://a.example/3")
    remember_shells(memory, "https://a.example/2")
    assert memory.needs_browser("https://a.example/3")
    assert not memory.needs_browser("https://a.example:8443/3")
    assert not memory.needs_browser("https://b.example/3")


def test_one_page_does_not_speak_for_its_site_however_often_it_is_fetched() -> None:
    memory = SiteMemory()
    remember_shells(memory, *["https://a.example/odd"] * 5)
    assert not memory.needs_browser("https://a.example/other")


def test_a_whole_page_clears_its_site() -> None:
    memory = SiteMemory()
    remember_shells(memory, "https://a.example/1", "https://a.example/2")
    memory.remember("https://a.example/3", needs_browser=False)
    remember_shells(memory, "https://a.example/1")
    assert not memory.needs_browser("https://a.example/3")


def test_a_belief_ends_and_one_more_shell_renews_it() -> None:
    clock = Clock()
    memory = SiteMemory(expiry_seconds=60, clock=clock)
    remember_shells(memory, "https://a.example/1", "https://a.example/2")
    clock.now = 60
    assert memory.needs_browser("https://a.example/")
    clock.now = 61
    assert not memory.needs_browser("https://a.example/")
    remember_shells(memory, "https://a.example/2")
    assert memory.needs_browser("https://a.example/")


def test_the_sites_heard_of_last_are_kept() -> None:
    memory = SiteMemory(max_sites=2)
    for site in ("a", "b", "a", "c"):
        remember_shells(memory, f"https://{site}.example/1", f"https://{site}.example/2")
    known = [site for site in "abc" if memory.needs_browser(f"https://{site}.example/")]
    assert known == ["a", "c"]


NOW = datetime(2025, 11, 15, 18, 30, tzinfo=UTC)


def page(status: int, **headers: str) -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=status,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        body=b"",
        source=FetchSource.NATIVE,
        strategy="native",
    )


@pytest.mark.parametrize(
    ("status", "expected"), [(200, False), (404, False), (429, True), (500, True), (503, True)]
)
def test_only_answers_that_may_change_are_retried(status: int, expected: bool) -> None:
    assert is_retryable(page(status)) is expected


def test_waits_double_up_to_the_longest_and_end() -> None:
    policy = FetchRetryPolicy(max_retries=4, first_wait_seconds=1, max_wait_seconds=3)
    assert [policy.wait_seconds(done) for done in range(5)] == [1, 2, 3, 3, None]


def test_the_server_decides_the_wait_within_our_patience() -> None:
    policy = FetchRetryPolicy(max_retries=1, max_wait_seconds=20)
    assert policy.wait_seconds(0, 7) == 7
    assert policy.wait_seconds(0, 3600) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("Sat, 15 Nov 2025 18:31:00 GMT", 60),
        ("Sat, 15 Nov 2025 18:00:00 GMT", 0),
        ("soon", None),
        ("Thu, 01 Jan 1970 00:00:00 +99999999999999", None),
        ("Thu, 01 Jan 99999999999999999999 00:00:00 GMT", None),
        ("-5", None),
        ("", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float | None) -> None:
    assert read_retry_after(value, NOW) == seconds


def test_an_answer_that_broke_off_is_retried() -> None:
    assert is_retryable(replace(page(200), is_cut=True))


PLANNED = FetchTask(url="https://a.example/", timeout_seconds=10)
NEEDING = (
    RenderOptions(wait_for_ms=1),
    RenderOptions(actions=(Action(type=ActionType.SCROLL, direction="down"),)),
    RenderOptions(proxy=ProxyTier.STEALTH),
    RenderOptions(profile=Profile.MASTER),
    RenderOptions(mobile=True),
)


def plan(render: RenderOptions) -> tuple[EngineStep, ...]:
    return plan_steps(replace(PLANNED, render=render))


def test_each_mode_has_its_engines() -> None:
    assert plan(RenderOptions()) == (EngineStep.STATIC, EngineStep.BROWSER, EngineStep.STEALTH)
    assert plan(RenderOptions(mode=Mode.STATIC)) == (EngineStep.STATIC,)
    assert plan(RenderOptions(mode=Mode.DYNAMIC)) == (EngineStep.BROWSER, EngineStep.STEALTH)


def test_the_proxy_tier_says_how_far_to_go() -> None:
    assert plan(RenderOptions(proxy=ProxyTier.BASIC)) == (EngineStep.STATIC, EngineStep.BROWSER)
    assert plan(RenderOptions(proxy=ProxyTier.STEALTH)) == (EngineStep.STEALTH,)


def test_a_persons_profile_is_used_once() -> None:
    assert plan(RenderOptions(profile=Profile.MASTER)) == (EngineStep.BROWSER,)


@pytest.mark.parametrize(
    ("render", "step"),
    [
        (RenderOptions(mode=Mode.DYNAMIC, proxy=ProxyTier.BASIC), EngineStep.REMOTE_BROWSER),
        (RenderOptions(proxy=ProxyTier.STEALTH), EngineStep.REMOTE_STEALTH),
        (RenderOptions(profile=Profile.MASTER, proxy=ProxyTier.BASIC), EngineStep.BROWSER),
        (RenderOptions(proxy=ProxyTier.BASIC), EngineStep.STATIC),
    ],
)
async def test_a_remote_browser_replaces_the_local_one_but_for_a_persons_profile(
    render: RenderOptions, step: EngineStep
) -> None:
    engines = {it: ScriptedFetcher(200, body=ARTICLE) for it in EngineStep}
    escalation = EngineEscalation(engines, FetchRetryPolicy(), SiteMemory())
    await escalation.fetch(replace(SMART, render=render), AttemptLog(1_000, lambda *_: None))
    assert [it for it, engine in engines.items() if engine.tasks] == [step]


@pytest.mark.parametrize("render", NEEDING)
def test_what_only_a_browser_can_do_goes_to_one(render: RenderOptions) -> None:
    assert EngineStep.STATIC not in plan(render)


def test_a_screenshot_goes_to_a_browser() -> None:
    task = replace(PLANNED, screenshot=Format.SCREENSHOT)
    assert plan_steps(task) == (EngineStep.BROWSER, EngineStep.STEALTH)


@pytest.mark.parametrize("render", NEEDING)
def test_static_with_what_only_a_browser_can_do_is_refused(render: RenderOptions) -> None:
    request = ScrapeRequest(url=PLANNED.url, render=replace(render, mode=Mode.STATIC))
    with pytest.raises(InvalidRequest) as refused:
        check_mode(request)
    assert refused.value.code is ErrorCode.VALIDATION_ERROR
    assert [problem.field for problem in refused.value.problems] == ["mode"]
    check_mode(replace(request, render=render))


CONSENT = "<p>We and our partners use cookies to process your data.</p><button>Accept all</button>"
LOGIN = "<title>Log in</title><form><input type='password'><button>Log in</button></form>"
MISSING = "<title>Page not found</title><p>Try the menu.</p>"
WALL_HTML = "<title>Just a moment...</title>"
SHELL_HTML = "<div id='root'></div><script src='/app.js'></script>"


def got(html: str) -> FetchedPage:
    return FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=200,
        headers={"content-type": "text/html"},
        body=html.encode(),
        source=FetchSource.NATIVE,
        strategy="native",
    )


@pytest.mark.parametrize(
    ("html", "reason"), [(CONSENT, "consent"), (WALL_HTML, "Blocked"), (SHELL_HTML, "JavaScript")]
)
def test_what_a_browser_may_get_past_goes_on_to_one(html: str, reason: str) -> None:
    assert reason in (reason_to_escalate(got(html), EngineStep.STATIC) or "")


@pytest.mark.parametrize("html", [LOGIN, MISSING, "<p>A page.</p>"])
def test_what_a_browser_would_show_as_well_is_taken_as_it_is(html: str) -> None:
    assert reason_to_escalate(got(html), EngineStep.STATIC) is None


def test_only_a_wall_goes_on_from_a_browser() -> None:
    assert reason_to_escalate(got(WALL_HTML), EngineStep.BROWSER)
    assert reason_to_escalate(got(CONSENT), EngineStep.BROWSER) is None
    assert reason_to_escalate(got(SHELL_HTML), EngineStep.BROWSER) is None

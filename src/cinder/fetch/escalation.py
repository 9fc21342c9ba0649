"""Engine escalation: which engines try a URL, in which order, with which retries."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

import can_ada

from cinder.errors import (
    Attempt,
    BrowserCrashed,
    CinderError,
    ConnectionFailed,
    Diagnostics,
    FieldProblem,
    InvalidRequest,
)
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.models.document import FetchedPage
from cinder.models.http import read_retry_after
from cinder.models.request import Format, Mode, Profile, ProxyTier, RenderOptions, ScrapeRequest
from cinder.verdicts.blocked import find_block_signs
from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.js_shell import find_shell_signs
from cinder.verdicts.verdict import describe_status
from cinder.verdicts.walls import find_consent_signs


class EngineStep(StrEnum):
    """A rung of the ladder: an engine to try."""

    STATIC = "static"
    BROWSER = "browser"
    STEALTH = "stealth"


_BROWSER_STEPS = {
    ProxyTier.BASIC: (EngineStep.BROWSER,),
    ProxyTier.STEALTH: (EngineStep.STEALTH,),
    ProxyTier.AUTO: (EngineStep.BROWSER, EngineStep.STEALTH),
}


def plan_steps(task: FetchTask, *, site_needs_browser: bool) -> tuple[EngineStep, ...]:
    """Return the engines that may try a URL, in order; `site_needs_browser` is what was learnt."""
    render = task.render
    if render.mode is Mode.STATIC:
        return (EngineStep.STATIC,)
    steps = _BROWSER_STEPS[render.proxy]
    if render.profile is Profile.MASTER:
        steps = steps[:1]  # a person's profile is not tried twice on one page
    is_told = render.mode is Mode.DYNAMIC or option_for_browser(render, task.screenshot)
    return steps if is_told or site_needs_browser else (EngineStep.STATIC, *steps)


def reason_to_escalate(page: FetchedPage, step: EngineStep) -> str | None:
    """Return why the next engine should try as well, where this one's page is not good enough."""
    reading = PageEvidence(page)
    if signs := find_block_signs(reading):
        return f"Blocked: {signs}"
    if step is not EngineStep.STATIC or page.status_code >= 400:
        return None
    if signs := find_consent_signs(reading):
        return f"The page asks for consent first: {signs}"
    if signs := find_shell_signs(reading):
        return f"The page needs JavaScript: {signs}"
    return None


def check_mode(request: ScrapeRequest) -> None:
    """Return if a request's options fit its mode.

    Raises:
        InvalidRequest: it wants no browser, and something that only a browser can do.
    """
    option = option_for_browser(request.render, request.screenshot)
    if request.render.mode is Mode.STATIC and option:
        message = f"'static' fetches without a browser, and {option} needs one"
        raise InvalidRequest(problems=(FieldProblem("mode", message),), url=request.url)


def option_for_browser(render: RenderOptions, screenshot: Format | None) -> str | None:
    """Return the option that only a browser can serve, if there is one."""
    needs = {
        "waitFor": render.wait_for_ms > 0,
        "actions": bool(render.actions),
        "proxy 'stealth'": render.proxy is ProxyTier.STEALTH,
        "profile 'master'": render.profile is Profile.MASTER,
        "mobile": render.mobile,
        "a screenshot": screenshot is not None,
    }
    return next((option for option, is_asked in needs.items() if is_asked), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRetryPolicy:
    """How often and how patiently a page is tried again."""

    max_retries: int = 2
    first_wait_seconds: float = 0.5
    max_wait_seconds: float = 20

    def wait_seconds(self, retries_done: int, retry_after: float | None = None) -> float | None:
        """Return how long to wait before the next try; None when there should be none.

        A server that asks for more patience than the policy has is not tried again: coming back
        early is what it asked us not to do.
        """
        if retries_done >= self.max_retries:
            return None
        if retry_after is not None:
            return retry_after if retry_after <= self.max_wait_seconds else None
        return min(self.first_wait_seconds * 2.0**retries_done, self.max_wait_seconds)


def is_retryable(page: FetchedPage) -> bool:
    """Whether the server's answer says, or breaks off so, that another try may go better."""
    return page.is_cut or page.status_code == 429 or page.status_code >= 500


def retry_after_seconds(page: FetchedPage, now: datetime) -> float | None:
    """Return the wait that the server asked for, given in seconds or as a date."""
    return read_retry_after(page.headers.get("retry-after", ""), now)


_SHELLS_TO_BELIEVE = 2


@dataclass(slots=True)
class _SiteRecord:
    """What a site's pages were like lately."""

    last_shell_url: str
    last_shell_at: float
    shells_in_a_row: int = 1


class SiteMemory:
    """Remembers which sites need a browser, so that the next page goes straight to it.

    A site (host and port) is believed to need one after two different pages in a row were shells:
    one odd page, however often it is fetched, does not speak for the others. A page that was whole
    without a browser clears the site. The belief also ends by itself, some time after the last
    shell: then one page is fetched without a browser again, and only if that is a shell, too, is
    the site believed to need one for as long again. Of all the sites the memory keeps those heard
    of last.
    """

    def __init__(
        self,
        *,
        max_sites: int = 10_000,
        expiry_seconds: float = 3_600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sites: OrderedDict[str, _SiteRecord] = OrderedDict()
        self._max_sites = max_sites
        self._expiry_seconds = expiry_seconds
        self._clock = clock

    def needs_browser(self, url: str) -> bool:
        """Whether a page of this site is better fetched with a browser from the start."""
        experience = self._sites.get(_site(url))
        if experience is None or self._clock() - experience.last_shell_at > self._expiry_seconds:
            return False
        return experience.shells_in_a_row >= _SHELLS_TO_BELIEVE

    def remember(self, url: str, *, needs_browser: bool) -> None:
        """Note what a page was like when it was fetched without a browser.

        A page that went straight to the browser says nothing of this, and must not be noted: the
        belief would keep itself alive.
        """
        site = _site(url)
        if not needs_browser:
            self._sites.pop(site, None)
            return
        experience = self._sites.setdefault(site, _SiteRecord(url, self._clock()))
        if experience.last_shell_url != url:
            experience.shells_in_a_row += 1
        experience.last_shell_url, experience.last_shell_at = url, self._clock()
        self._sites.move_to_end(site)
        if len(self._sites) > self._max_sites:
            self._sites.popitem(last=False)


def _site(url: str) -> str:
    return can_ada.parse(url).host


# A browser that ended under a page is tried again once: it may have been killed from outside, and
# it may have been the page.
_RETRIES_AFTER_CRASH = 1
_LATER_ENGINES_SHARE = 0.9
_ADVICE = "The page may be more than this: mode 'dynamic' renders it in a browser."

# Called after each attempt with the strategy and its outcome: ok, http_error, partial (the answer
# broke off), unfit (another engine should try), cancelled (the request's time ran out, or its
# caller left), or an error code.
AttemptObserver = Callable[[str, str], None]


class AttemptLog:
    """What has been tried for one request, kept up to date while it runs."""

    def __init__(self, timeout_ms: int, observe: AttemptObserver) -> None:
        self._timeout_ms = timeout_ms
        self._attempts: list[Attempt] = []
        self._running: tuple[str, float] | None = None
        self._retries = 0
        self._observe = observe

    @property
    def diagnostics(self) -> Diagnostics:
        """The way taken so far; an attempt that still runs is one that ran out of time."""
        running = [self._attempt(*self._running, self._timed_out)] if self._running else []
        return Diagnostics((*self._attempts, *running), self._retries)

    @property
    def _timed_out(self) -> str:
        return f"Timed out after {self._timeout_ms}ms"

    def count_retry(self) -> None:
        """Note that what follows is another try of the same strategy."""
        self._retries += 1

    def add(self, strategy: str, started: float, error: str | None, outcome: str) -> None:
        """Note an attempt that has ended."""
        self._attempts.append(self._attempt(strategy, started, error))
        self._observe(strategy, outcome)

    def _attempt(self, strategy: str, started: float, error: str | None) -> Attempt:
        return Attempt(strategy, round((time.monotonic() - started) * 1000), error)

    @contextmanager
    def failures(self, strategy: str, started: float) -> Iterator[None]:
        """Note an attempt that ends here by failing, or by being cut off."""
        self._running = (strategy, started)
        try:
            yield
        except CinderError as error:
            self.add(strategy, started, error.message, error.code)
            raise
        except asyncio.CancelledError:
            self.add(strategy, started, self._timed_out, "cancelled")
            raise
        finally:
            self._running = None


class EngineEscalation:
    """Tries a URL with the engines that its plan names, and again where that may help."""

    def __init__(
        self, engines: Mapping[EngineStep, Fetcher], retry: FetchRetryPolicy, memory: SiteMemory
    ) -> None:
        self._engines = engines
        self._retry = retry
        self._memory = memory

    def engine(self, step: EngineStep) -> Fetcher:
        """Return the engine of a step, for what goes with a page rather than being one."""
        return self._engines[step]

    def starts_in_browser(self, task: FetchTask) -> bool:
        """Whether a browser is the first to try a URL."""
        return self._plan(task)[0] is not EngineStep.STATIC

    def _plan(self, task: FetchTask) -> tuple[EngineStep, ...]:
        return plan_steps(task, site_needs_browser=self._memory.needs_browser(task.url))

    async def fetch(self, task: FetchTask, log: AttemptLog) -> FetchedPage:
        """Return the page, or the server's last word if it kept refusing.

        Raises:
            CinderError: there was no answer.
        """
        deadline = time.monotonic() + task.timeout_seconds
        steps = self._plan(task)
        page: FetchedPage | None = None
        for step in steps:
            is_last = step is steps[-1]
            try:
                # Where there is a page already, time is left to make something of it.
                async with asyncio.timeout(None if page is None else _share(deadline)):
                    page, reason = await self._try_engine(
                        step, task, log, deadline, is_last=is_last
                    )
            except (CinderError, TimeoutError) as error:
                if page is None:
                    raise
                # What the engine before brought is better than nothing, if it is said.
                return _with_warning(page, str(error) or "it took too long")
            if reason is None:
                self._learn(task, steps, step, page)
                return page
        if page is None:
            raise RuntimeError("a plan has at least one step")
        if task.render.mode is Mode.STATIC and page.status_code < 400:
            return replace(page, warnings=(*page.warnings, _ADVICE))
        return page

    def _learn(
        self, task: FetchTask, steps: tuple[EngineStep, ...], step: EngineStep, page: FetchedPage
    ) -> None:
        """Remember what the site needs, where both ways were open; errors tell nothing."""
        if EngineStep.STATIC in steps and len(steps) > 1 and page.status_code < 400:
            self._memory.remember(task.url, needs_browser=step is not EngineStep.STATIC)

    async def _try_engine(
        self, step: EngineStep, task: FetchTask, log: AttemptLog, deadline: float, *, is_last: bool
    ) -> tuple[FetchedPage, str | None]:
        """Try one engine, and again where that may help; return its page and why to go on."""
        started, retries = time.monotonic(), 0
        while True:
            remaining = max(0.0, deadline - time.monotonic())
            attempt = replace(task, timeout_seconds=remaining)
            try:
                page, reason = await self._attempt(step, attempt, log, started)
            except (ConnectionFailed, BrowserCrashed) as error:
                wait = self._wait_after_error(error, retries)
                if wait is None or wait >= deadline - time.monotonic():
                    raise
            else:
                wait = self._wait_after(page, retries)
                is_hopeless = reason is not None and not is_last
                if is_hopeless or wait is None or wait >= deadline - time.monotonic():
                    return page, reason
            # The wait counts as part of the attempt that follows it.
            started = time.monotonic()
            await asyncio.sleep(wait)
            retries += 1
            log.count_retry()

    def _wait_after_error(self, error: CinderError, retries: int) -> float | None:
        if isinstance(error, BrowserCrashed):
            return 0.0 if retries < _RETRIES_AFTER_CRASH else None
        return self._retry.wait_seconds(retries)

    def _wait_after(self, page: FetchedPage, retries: int) -> float | None:
        if not is_retryable(page):
            return None
        return self._retry.wait_seconds(retries, retry_after_seconds(page, datetime.now(UTC)))

    async def _attempt(
        self, step: EngineStep, task: FetchTask, log: AttemptLog, started: float
    ) -> tuple[FetchedPage, str | None]:
        engine = self._engines[step]
        try:
            with log.failures(engine.name, started):
                page = await engine.fetch(task)
        except FileFound as found:
            log.add(engine.name, started, None, "ok")
            file = replace(task, url=found.url, headers=(*task.headers, *found.headers))
            page, _ = await self._attempt(EngineStep.STATIC, file, log, time.monotonic())
            return replace(page, url=task.url), None
        reason = reason_to_escalate(page, step)
        error, outcome = (reason, "unfit") if reason else _describe(page)
        log.add(engine.name, started, error, outcome)
        return page, reason


def _describe(page: FetchedPage) -> tuple[str | None, str]:
    """Return what is wrong with a page, if anything is, and how its attempt counts."""
    if page.status_code >= 400:
        return f"HTTP {describe_status(page.status_code)}", "http_error"
    if page.is_cut:
        return f"The answer broke off after {len(page.body)} bytes", "partial"
    return None, "ok"


def _share(deadline: float) -> float:
    """Return how much of the time that is left an engine may take that is not the first."""
    return max(0.0, deadline - time.monotonic()) * _LATER_ENGINES_SHARE


def _with_warning(page: FetchedPage, failure: str) -> FetchedPage:
    warning = f"The page may need a browser, and rendering it failed: {failure}"
    return replace(page, warnings=(*page.warnings, warning))

"""The ladder: tries a URL with one engine after another, and keeps the log of the way taken."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from cinder.errors import Attempt, BrowserCrashed, CinderError, ConnectionFailed, Diagnostics
from cinder.fetch.base import Fetcher, FetchTask, FileFound
from cinder.fetch.plan import Step, plan_steps, reason_to_go_on
from cinder.fetch.retry import RetryPolicy, is_retryable, retry_after_seconds
from cinder.fetch.site_memory import SiteMemory
from cinder.fetch.verdicts.verdict import describe_status
from cinder.model.document import FetchedPage
from cinder.model.request import Mode

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


class Ladder:
    """Tries a URL with the engines that its plan names, and again where that may help."""

    def __init__(
        self, engines: Mapping[Step, Fetcher], retry: RetryPolicy, memory: SiteMemory
    ) -> None:
        self._engines = engines
        self._retry = retry
        self._memory = memory

    def engine(self, step: Step) -> Fetcher:
        """Return the engine of a step, for what goes with a page rather than being one."""
        return self._engines[step]

    def begins_in_browser(self, task: FetchTask) -> bool:
        """Whether a browser is the first to try a URL."""
        return self._plan(task)[0] is not Step.STATIC

    def _plan(self, task: FetchTask) -> tuple[Step, ...]:
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
                    page, reason = await self._climb(step, task, log, deadline, is_last=is_last)
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
        self, task: FetchTask, steps: tuple[Step, ...], step: Step, page: FetchedPage
    ) -> None:
        """Remember what the site needs, where both ways were open; errors tell nothing."""
        if Step.STATIC in steps and len(steps) > 1 and page.status_code < 400:
            self._memory.remember(task.url, needs_browser=step is not Step.STATIC)

    async def _climb(
        self, step: Step, task: FetchTask, log: AttemptLog, deadline: float, *, is_last: bool
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
        self, step: Step, task: FetchTask, log: AttemptLog, started: float
    ) -> tuple[FetchedPage, str | None]:
        engine = self._engines[step]
        try:
            with log.failures(engine.name, started):
                page = await engine.fetch(task)
        except FileFound as found:
            log.add(engine.name, started, None, "ok")
            file = replace(task, url=found.url, headers=(*task.headers, *found.headers))
            page, _ = await self._attempt(Step.STATIC, file, log, time.monotonic())
            return replace(page, url=task.url), None
        reason = reason_to_go_on(page, step)
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

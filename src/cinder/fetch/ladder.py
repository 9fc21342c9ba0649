"""The ladder: which engine tries a URL, how often, and the log of the way taken."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

from cinder.errors import Attempt, CinderError, ConnectionFailed, Diagnostics, Unsupported
from cinder.fetch.base import Fetcher, FetchTask
from cinder.fetch.retry import RetryPolicy, is_retryable, retry_after_seconds
from cinder.fetch.verdict import describe_status
from cinder.model.document import FetchedPage
from cinder.model.request import Format, Mode, Profile, ProxyTier, ScrapeRequest

# Called after each attempt with the strategy and its outcome: ok, http_error, cancelled (the
# request's time ran out, or its caller left), or an error code.
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
    """Tries a URL, and again where that may help."""

    def __init__(self, engine: Fetcher, retry: RetryPolicy) -> None:
        self._engine = engine
        self._retry = retry

    async def fetch(self, task: FetchTask, log: AttemptLog) -> FetchedPage:
        """Return the page, or the server's last word if it kept refusing.

        Raises:
            CinderError: there was no answer.
        """
        deadline = time.monotonic() + task.timeout_seconds
        started, retries = time.monotonic(), 0
        while True:
            remaining = max(0.0, deadline - time.monotonic())
            try:
                page = await self._attempt(replace(task, timeout_seconds=remaining), log, started)
            except ConnectionFailed:
                wait = self._retry.wait_seconds(retries)
                if wait is None or wait >= deadline - time.monotonic():
                    raise
            else:
                wait = self._wait_after(page, retries)
                if wait is None or wait >= deadline - time.monotonic():
                    return page
            # The wait counts as part of the attempt that follows it.
            started = time.monotonic()
            await asyncio.sleep(wait)
            retries += 1
            log.count_retry()

    def _wait_after(self, page: FetchedPage, retries: int) -> float | None:
        if not is_retryable(page):
            return None
        return self._retry.wait_seconds(retries, retry_after_seconds(page, datetime.now(UTC)))

    async def _attempt(self, task: FetchTask, log: AttemptLog, started: float) -> FetchedPage:
        name = self._engine.name
        with log.failures(name, started):
            page = await self._engine.fetch(task)
        is_error = page.status_code >= 400
        error = f"HTTP {describe_status(page.status_code)}" if is_error else None
        log.add(name, started, error, "http_error" if is_error else "ok")
        return page


def require_static(request: ScrapeRequest) -> None:
    """Return if a request can be served without a browser.

    Raises:
        Unsupported: it cannot; the message names what it asked for.
    """
    if option := _option_that_needs_a_browser(request):
        raise Unsupported(
            f"{option} needs a browser, and this version of cinder fetches pages without one. "
            "Leave it out to get the page as the server sends it.",
            url=request.url,
        )


def _option_that_needs_a_browser(request: ScrapeRequest) -> str | None:
    render = request.render
    needs = {
        "mode 'dynamic'": render.mode is Mode.DYNAMIC,
        "waitFor": render.wait_for_ms > 0,
        "actions": bool(render.actions),
        "proxy 'stealth'": render.proxy is ProxyTier.STEALTH,
        "profile 'master'": render.profile is Profile.MASTER,
        "mobile": render.mobile,
        "The format 'screenshot'": Format.SCREENSHOT in request.formats,
        "The format 'fullscreenshot'": Format.FULL_SCREENSHOT in request.formats,
    }
    return next((option for option, is_asked in needs.items() if is_asked), None)

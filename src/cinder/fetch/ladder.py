"""The ladder: which engine tries a URL, how often, and the log of the way taken."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

from cinder.errors import Attempt, CinderError, ConnectionFailed, Diagnostics, Unsupported
from cinder.fetch.base import Fetcher, FetchTask
from cinder.fetch.retry import RetryPolicy, is_retryable, retry_after_seconds
from cinder.fetch.verdict import describe_status
from cinder.model.document import FetchedPage
from cinder.model.request import Format, Mode, Profile, ProxyTier, ScrapeRequest

# Called after each attempt with the strategy and its outcome: an error code, or "ok".
AttemptObserver = Callable[[str, str], None]


class AttemptLog:
    """What has been tried for one request, kept up to date while it runs."""

    def __init__(self, timeout_ms: int, observe: AttemptObserver) -> None:
        self._timeout_ms = timeout_ms
        self._attempts: list[Attempt] = []
        self._retries = 0
        self._observe = observe

    @property
    def diagnostics(self) -> Diagnostics:
        """The way taken so far."""
        return Diagnostics(tuple(self._attempts), self._retries)

    def count_retry(self) -> None:
        """Note that what follows is another try of the same strategy."""
        self._retries += 1

    def add(self, strategy: str, started: float, error: str | None, outcome: str) -> None:
        """Note an attempt that has ended."""
        elapsed_ms = round((time.monotonic() - started) * 1000)
        self._attempts.append(Attempt(strategy, elapsed_ms, error))
        self._observe(strategy, outcome)

    @contextmanager
    def failures(self, strategy: str, started: float) -> Iterator[None]:
        """Note an attempt that ends here by failing, or by the request's time running out."""
        try:
            yield
        except CinderError as error:
            self.add(strategy, started, error.message, error.code)
            raise
        except asyncio.CancelledError:
            self.add(strategy, started, f"Timed out after {self._timeout_ms}ms", "timeout")
            raise


class Ladder:
    """Tries a URL with the engines that may serve it, and again where that may help."""

    def __init__(self, engines: Sequence[Fetcher], retry: RetryPolicy) -> None:
        self._engines = engines
        self._retry = retry

    async def fetch(self, task: FetchTask, log: AttemptLog) -> FetchedPage:
        """Return the page, or the server's last word if it kept refusing.

        Raises:
            CinderError: no engine could get an answer.
        """
        engine = self._engines[0]
        retries = 0
        while True:
            try:
                page = await self._attempt(engine, task, log)
            except ConnectionFailed:
                wait = self._retry.wait_seconds(retries)
                if wait is None:
                    raise
            else:
                if not is_retryable(page):
                    return page
                asked = retry_after_seconds(page, datetime.now(UTC))
                wait = self._retry.wait_seconds(retries, asked)
                if wait is None:
                    return page
            await asyncio.sleep(wait)
            retries += 1
            log.count_retry()

    async def _attempt(self, engine: Fetcher, task: FetchTask, log: AttemptLog) -> FetchedPage:
        started = time.monotonic()
        with log.failures(engine.name, started):
            page = await engine.fetch(task)
        is_error = page.status_code >= 400
        error = f"HTTP {describe_status(page.status_code)}" if is_error else None
        log.add(engine.name, started, error, "http_error" if is_error else "ok")
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

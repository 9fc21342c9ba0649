"""Engine escalation: which engines try a URL, in which order, with which retries."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

import can_ada

from cinder.egress.pools import ProxyPool
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
from cinder.html.hydration import may_carry_data, read_hydration
from cinder.models.document import FetchedPage
from cinder.models.http import read_retry_after
from cinder.models.request import Mode, Profile, ProxyTier, ScrapeRequest, option_for_browser
from cinder.models.url import host_and_port
from cinder.text.content_type import decode_body
from cinder.verdicts.blocked import find_block_signs
from cinder.verdicts.evidence import PageEvidence
from cinder.verdicts.js_shell import find_shell_signs
from cinder.verdicts.verdict import describe_status
from cinder.verdicts.walls import find_consent_signs


class EngineStep(StrEnum):
    """An engine that the escalation can try."""

    STATIC = "static"
    BROWSER = "browser"
    STEALTH = "stealth"
    REMOTE_BROWSER = "remote-browser"
    REMOTE_STEALTH = "remote-stealth"


# What replaces a local browser where a remote one is configured.
_REMOTE_STEPS = {
    EngineStep.BROWSER: EngineStep.REMOTE_BROWSER,
    EngineStep.STEALTH: EngineStep.REMOTE_STEALTH,
}
_BROWSER_STEPS = {
    ProxyTier.BASIC: (EngineStep.BROWSER,),
    ProxyTier.STEALTH: (EngineStep.STEALTH,),
    ProxyTier.AUTO: (EngineStep.BROWSER, EngineStep.STEALTH),
}


def plan_steps(task: FetchTask) -> tuple[EngineStep, ...]:
    """Return the engines that may try a URL, in order."""
    render = task.render
    if render.mode is Mode.STATIC:
        return (EngineStep.STATIC,)
    steps = _BROWSER_STEPS[render.proxy]
    if render.profile is Profile.MASTER:
        steps = steps[:1]  # a person's profile visits a page once
    is_required = render.mode is Mode.DYNAMIC or option_for_browser(render, task.screenshot)
    return steps if is_required else (EngineStep.STATIC, *steps)


_BLOCKED = "Blocked"


def reason_to_escalate(page: FetchedPage, step: EngineStep) -> str | None:
    """Return why the next engine should try as well; None if the page is good enough."""
    evidence = PageEvidence(page)
    if signs := find_block_signs(evidence):
        return f"{_BLOCKED}: {signs}"
    if step is not EngineStep.STATIC or page.status_code >= 400:
        return None
    if signs := find_consent_signs(evidence):
        return f"The page asks for consent first: {signs}"
    signs = find_shell_signs(evidence)
    if signs is None:
        return None
    html = decode_body(page.body, page.headers.get("content-type", ""))
    data = read_hydration(html) if may_carry_data(html) else None
    # What the scripts would show is in the page already.
    return None if data and data.is_ample else f"The page needs JavaScript: {signs}"


_LARGE_BODY = 200_000
_MAX_WORDS_OF_NO_PAGE = 15
_MAX_WORDS_BELOW_SAME_TITLE = 150


def shows_less(page: FetchedPage, before: FetchedPage) -> bool:
    """Whether the page of a later engine says less than the page of the engine before.

    An error page or the remains of a bot wall that a browser rendered would lose its verdict.
    """
    evidence, earlier = PageEvidence(page), PageEvidence(before)
    if find_block_signs(evidence):
        return False
    if page.status_code >= 400:
        return True
    if not evidence.is_html or not find_block_signs(earlier):
        return False
    is_same_wall = earlier.title and evidence.title == earlier.title
    limit = _MAX_WORDS_BELOW_SAME_TITLE if is_same_wall else _MAX_WORDS_OF_NO_PAGE
    return evidence.words <= limit


def check_mode(request: ScrapeRequest) -> None:
    """Return if a request's options fit its mode.

    Raises:
        InvalidRequest: it excludes browsers, and has an option that only a browser can serve.
    """
    option = option_for_browser(request.render, request.screenshot)
    if request.render.mode is Mode.STATIC and option:
        message = f"'static' fetches without a browser, and {option} needs one"
        raise InvalidRequest(problems=(FieldProblem("mode", message),), url=request.url)


def check_proxy_pool(name: str | None, configured: Collection[str]) -> None:
    """Return if a pool of upstream proxies is in the settings.

    Raises:
        InvalidRequest: it is not; the message lists those that are.
    """
    if name is not None and name not in configured:
        known = (
            f"Configured are: {', '.join(sorted(configured))}"
            if configured
            else ("None is configured; the owner adds them as egress.proxy-pools")
        )
        raise InvalidRequest.at("proxyPool", f"There is no pool {name!r}. {known}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchRetryPolicy:
    """How often a page is retried, and with which waits."""

    max_retries: int = 2
    first_wait_seconds: float = 0.5
    max_wait_seconds: float = 20

    def wait_seconds(self, retries_done: int, retry_after: float | None = None) -> float | None:
        """Return how long to wait before the next try; None for no further try.

        A server that asks for a longer wait than the policy allows is not tried again.
        """
        if retries_done >= self.max_retries:
            return None
        if retry_after is not None:
            return retry_after if retry_after <= self.max_wait_seconds else None
        return min(self.first_wait_seconds * 2.0**retries_done, self.max_wait_seconds)


def is_retryable(page: FetchedPage) -> bool:
    """Whether another try may succeed, by the response's status or because it is incomplete."""
    return page.is_cut or page.status_code == 429 or page.status_code >= 500


_SHELLS_TO_BELIEVE = 2


@dataclass(slots=True)
class _SiteRecord:
    """The recent shell pages of a site."""

    last_shell_url: str
    last_shell_at: float
    shells_in_a_row: int = 1


class SiteMemory:
    """Remembers which sites need a browser, so that all their pages are rendered.

    A site (host and port) needs one after two different pages in a row were JavaScript shells; a
    single page, however often fetched, does not count for the others. A page that was complete
    without a browser clears the site. The record expires some time after the last shell: then one
    page is fetched without a browser, and the record is renewed only if that is a shell, too. The
    least recently updated sites are dropped.
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
        """Whether a page of this site should be rendered, whatever it shows without a browser."""
        record = self._sites.get(_site(url))
        if record is None or self._clock() - record.last_shell_at > self._expiry_seconds:
            return False
        return record.shells_in_a_row >= _SHELLS_TO_BELIEVE

    def remember(self, url: str, *, needs_browser: bool) -> None:
        """Record whether a page that was fetched without a browser needed one.

        Pages that are rendered because of the record must not renew it: it would never expire.
        """
        site = _site(url)
        if not needs_browser:
            self._sites.pop(site, None)
            return
        record = self._sites.setdefault(site, _SiteRecord(url, self._clock()))
        if record.last_shell_url != url:
            record.shells_in_a_row += 1
        record.last_shell_url, record.last_shell_at = url, self._clock()
        self._sites.move_to_end(site)
        if len(self._sites) > self._max_sites:
            self._sites.popitem(last=False)


def _site(url: str) -> str:
    return can_ada.parse(url).host


# A page whose browser crashed is retried once: the process may have been killed from outside.
_RETRIES_AFTER_CRASH = 1
# The share of the remaining time for a later engine: the rest is for processing the page before,
# and a browser that gets past a wall does so soon.
_LATER_ENGINES_SHARE = 0.8
_SHARE_AFTER_WALL = 0.6
_ADVICE = "The page may be more than this: mode 'dynamic' renders it in a browser."

# Called after each attempt with the strategy and its outcome: ok, http_error, partial (incomplete
# response), unfit (another engine should try), cancelled (timed out, or the caller disconnected),
# or an error code.
AttemptObserver = Callable[[str, str], None]


class AttemptLog:
    """The attempts of one request, updated while it runs."""

    def __init__(
        self, timeout_ms: int, observe: AttemptObserver, *, proxy_pool: str | None = None
    ) -> None:
        self._timeout_ms = timeout_ms
        self._proxy_pool = proxy_pool
        self._attempts: list[Attempt] = []
        self._running: tuple[str, float] | None = None
        self.retries = 0
        """How many attempts repeated the strategy of the attempt before."""
        self.page: FetchedPage | None = None
        """The best page so far."""
        self._observe = observe

    @property
    def diagnostics(self) -> Diagnostics:
        """The attempts so far; one that still runs is reported as timed out."""
        running = [self._attempt(*self._running, self._timed_out)] if self._running else []
        return Diagnostics((*self._attempts, *running), self.retries, self._proxy_pool)

    @property
    def _timed_out(self) -> str:
        return f"Timed out after {self._timeout_ms}ms"

    def add(self, strategy: str, started: float, error: str | None, outcome: str) -> None:
        """Record an attempt that has ended."""
        self._attempts.append(self._attempt(strategy, started, error))
        self._observe(strategy, outcome)

    def _attempt(self, strategy: str, started: float, error: str | None) -> Attempt:
        return Attempt(strategy, round((time.monotonic() - started) * 1000), error)

    @contextmanager
    def failures(self, strategy: str, started: float) -> Iterator[None]:
        """Record an attempt that fails or is cancelled in this block."""
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
    """Tries a URL with the engines of its plan, with retries."""

    def __init__(
        self,
        engines: Mapping[EngineStep, Fetcher],
        retry: FetchRetryPolicy,
        memory: SiteMemory,
        pools: Mapping[str, ProxyPool] | None = None,
    ) -> None:
        self._engines = engines
        self._retry = retry
        self._memory = memory
        self._pools = pools or {}

    def check(self, request: ScrapeRequest) -> None:
        """Return if the engines can serve a request's options.

        Raises:
            InvalidRequest: they cannot.
        """
        check_mode(request)
        check_proxy_pool(request.render.proxy_pool, self._pools)

    def engine(self, step: EngineStep) -> Fetcher:
        """Return the engine of a step, to fetch a page's resources."""
        return self._engines[step]

    def _engine_for(self, step: EngineStep, task: FetchTask) -> Fetcher:
        """Return the engine of a step; a person's profile is on this machine."""
        if task.render.profile is Profile.MASTER or step not in _REMOTE_STEPS:
            return self._engines[step]
        return self._engines.get(_REMOTE_STEPS[step], self._engines[step])

    def starts_in_browser(self, task: FetchTask) -> bool:
        """Whether a URL is known to need a browser."""
        steps = plan_steps(task)
        return steps[0] is not EngineStep.STATIC or (
            len(steps) > 1 and self._memory.needs_browser(task.url)
        )

    async def fetch(self, task: FetchTask, log: AttemptLog) -> FetchedPage:
        """Return the page; an error page if the server kept responding with one.

        Raises:
            CinderError: there was no response.
        """
        deadline = time.monotonic() + task.timeout_seconds
        steps = plan_steps(task)
        is_smart = steps[0] is EngineStep.STATIC and len(steps) > 1
        is_known = is_smart and self._memory.needs_browser(task.url)
        log.page = None
        for step in steps:
            before: FetchedPage | None = log.page
            try:
                async with asyncio.timeout(_share_of_time(before, deadline)):
                    page, reason = await self._try_engine(
                        step, task, log, deadline, is_last=step is steps[-1]
                    )
            except (CinderError, TimeoutError) as error:
                if before is None:
                    raise
                return _with_failure(before, str(error) or "it took too long")
            if before is not None and shows_less(page, before):
                failure = f"it got {describe_status(page.status_code)} without the page"
                return _with_failure(before, failure)
            log.page = page
            # Error pages and files do not show whether the site needs a browser.
            is_page = page.status_code < 300 and PageEvidence(page).is_html
            is_first = step is EngineStep.STATIC
            if reason is None and not (is_first and is_known and is_page):
                if is_smart and is_page and not is_known:
                    self._memory.remember(task.url, needs_browser=not is_first)
                return page
        if log.page is None:
            raise RuntimeError("a plan has at least one step")
        if task.render.mode is Mode.STATIC and log.page.status_code < 400:
            return replace(log.page, warnings=(*log.page.warnings, _ADVICE))
        return log.page

    async def _try_engine(
        self, step: EngineStep, task: FetchTask, log: AttemptLog, deadline: float, *, is_last: bool
    ) -> tuple[FetchedPage, str | None]:
        """Try one engine, with retries; return its page and the reason to escalate."""
        started, retries, rotations = time.monotonic(), 0, 0
        pool = self._pools.get(task.render.proxy_pool or "")
        while True:
            attempt = replace(task, timeout_seconds=_seconds_until(deadline))
            try:
                page, reason = await self._attempt(step, attempt, log, started)
            except (ConnectionFailed, BrowserCrashed) as error:
                if isinstance(error, BrowserCrashed):
                    wait = 0.0 if retries < _RETRIES_AFTER_CRASH else None
                else:
                    wait = self._retry.wait_seconds(retries)
                if wait is None or wait >= deadline - time.monotonic():
                    raise
            else:
                is_blocked = reason is not None and reason.startswith(_BLOCKED)
                # Another proxy is tried before another engine, each at most once.
                if is_blocked and pool is not None and rotations < len(pool) - 1:
                    rotations += 1
                    is_rotated = pool.rotate(host_and_port(task.url)[0], page.proxy_number)
                    if is_rotated and deadline > time.monotonic():
                        log.retries += 1
                        started = time.monotonic()
                        continue
                if (reason is not None and not is_last) or not is_retryable(page):
                    return page, reason
                retry_after = read_retry_after(
                    page.headers.get("retry-after", ""), datetime.now(UTC)
                )
                wait = self._retry.wait_seconds(retries, retry_after)
                if wait is None or wait >= deadline - time.monotonic():
                    return page, reason
            # The wait counts as part of the attempt that follows it.
            started = time.monotonic()
            await asyncio.sleep(wait)
            retries += 1
            log.retries += 1

    async def _attempt(
        self, step: EngineStep, task: FetchTask, log: AttemptLog, started: float
    ) -> tuple[FetchedPage, str | None]:
        engine = self._engine_for(step, task)
        try:
            with log.failures(engine.name, started):
                page = await engine.fetch(task)
        except FileFound as found:
            log.add(engine.name, started, None, "ok")
            file = replace(task, url=found.url, headers=(*task.headers, *found.headers))
            page, _ = await self._attempt(EngineStep.STATIC, file, log, time.monotonic())
            return replace(page, url=task.url), None
        # Reading the data of a large page would block the event loop.
        is_large = len(page.body) > _LARGE_BODY
        reason = (
            await asyncio.to_thread(reason_to_escalate, page, step)
            if is_large
            else (reason_to_escalate(page, step))
        )
        if reason:
            log.add(engine.name, started, reason, "unfit")
        elif page.status_code >= 400:
            status = describe_status(page.status_code)
            log.add(engine.name, started, f"HTTP {status}", "http_error")
        elif page.is_cut:
            error = f"The answer broke off after {len(page.body)} bytes"
            log.add(engine.name, started, error, "partial")
        else:
            log.add(engine.name, started, None, "ok")
        return page, reason


def _share_of_time(before: FetchedPage | None, deadline: float) -> float | None:
    """Return how long an engine may take; with a page already, leave time to process it."""
    if before is None:
        return None
    is_wall = find_block_signs(PageEvidence(before)) is not None
    return _seconds_until(deadline) * (_SHARE_AFTER_WALL if is_wall else _LATER_ENGINES_SHARE)


def _with_failure(page: FetchedPage, failure: str) -> FetchedPage:
    """Return the page of the engine before, with a warning about the one that failed."""
    warning = f"The page may need a browser, and rendering it failed: {failure}"
    return replace(page, warnings=(*page.warnings, warning))


def _seconds_until(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())

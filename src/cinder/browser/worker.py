"""A browser worker: one Chromium on one profile, its contexts, tabs and proxy authentication."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.browser.cdp import CdpMessage, CdpSession, CommandFailed, ConnectionClosed
from cinder.browser.chromium import proxy_url_for_browser
from cinder.browser.process import BrowserProcess, start_process
from cinder.browser.tab import Tab
from cinder.egress import ForwardProxy, ProxyCredentials, Route
from cinder.errors import BrowserCrashed, BrowserUnavailable, CinderError, ScrapeFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPurpose:
    """Whom a context is for, and how its connections leave.

    Without a caller it is for a single page: one that came with somebody's credentials, say.
    """

    caller: str | None = None
    route: Route = Route.DIRECT


@dataclass(eq=False, slots=True, kw_only=True)
class BrowserContext:
    """One memory. Its anchor is an empty tab that keeps the process of its pages alive."""

    id: str
    purpose: ContextPurpose
    proxy_credentials: ProxyCredentials
    anchor: CdpSession
    visits: int = 0

    async def clear(self, browser: CdpSession, origins: Iterable[str]) -> None:
        """Forget what a page of these origins has left; its tab is closed already.

        Raises:
            CommandFailed: the browser does not manage to.
            ConnectionClosed: the browser is gone.
        """
        # What a page has sent with its last breath would bring cookies after it.
        self.proxy_credentials.close_connections()
        await asyncio.gather(
            self.clear_cookies(browser),
            # A script that goes on in the page's process keeps the anchor from answering.
            self.anchor.send("Runtime.evaluate", expression="1"),
            self.anchor.send("Network.clearBrowserCache"),
            *(
                self.anchor.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
                for origin in origins
            ),
        )

    async def clear_cookies(self, browser: CdpSession) -> None:
        """Forget all cookies."""
        await browser.send("Storage.clearCookies", browserContextId=self.id)


async def authenticate_to_proxy(session: CdpSession, proxy_credentials: ProxyCredentials) -> None:
    """Show a pass's credentials; the tab's context then sends them with all it asks for.

    Only requests that are watched can be answered for, and watching all of them would cost a
    round trip each. The proxy answers this URL itself.
    """
    url = proxy_credentials.proxy_auth_url

    def let_pass(event: CdpMessage) -> None:
        session.post("Fetch.continueRequest", requestId=event["requestId"])

    def show(event: CdpMessage) -> None:
        session.post(
            "Fetch.continueWithAuth",
            requestId=event["requestId"],
            authChallengeResponse={
                "response": "ProvideCredentials",
                "username": proxy_credentials.credentials.user,
                "password": proxy_credentials.credentials.password,
            },
        )

    stop = (session.on("Fetch.requestPaused", let_pass), session.on("Fetch.authRequired", show))
    await session.send("Fetch.enable", handleAuthRequests=True, patterns=[{"urlPattern": url}])
    await session.send("Page.navigate", url=url)
    await session.send("Fetch.disable")
    for remove in stop:
        remove()


_log: FilteringBoundLogger = structlog.get_logger()

_POLL_SECONDS = 0.05
_CLEARING_SECONDS = 1
_LOG_NAME = "chromium.log"
_LOG_TAIL_CHARS = 600
_SANDBOX_ADVICE = (
    " Chromium cannot make its sandbox here: allow user namespaces, or run it without by the "
    "setting browser.sandbox."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserWorkerLimits:
    """How much a worker may take before it is replaced."""

    max_pages: int = 200
    max_pages_in_context: int = 25
    max_memory_bytes: int | None = 1024 * 1024 * 1024
    start_timeout_seconds: float = 20
    answer_timeout_seconds: float = 3
    watch_interval_seconds: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserLaunch:
    """What to start a browser with."""

    executable: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]
    profile: Path
    closes_popups: bool = True
    """Whether windows that pages open are closed again; a person may need them to log in."""


class BrowserWorker:
    """A running browser."""

    def __init__(
        self,
        launch: BrowserLaunch,
        process: BrowserProcess,
        proxy: ForwardProxy,
        limits: BrowserWorkerLimits,
    ) -> None:
        self.profile = launch.profile
        self._closes_popups = launch.closes_popups
        self.pages = 0
        self.idle_since = monotonic()
        self.failure: CinderError | None = None
        self.user_agent = ""
        self._process = process
        self._proxy = proxy
        self._limits = limits
        self._tabs: dict[str, Tab] = {}
        self._kept: BrowserContext | None = None
        self._tasks = BackgroundTasks()
        process.connection.closed.add_done_callback(self._fail_tabs)

    @classmethod
    async def start(
        cls, launch: BrowserLaunch, proxy: ForwardProxy, limits: BrowserWorkerLimits
    ) -> "BrowserWorker":
        """Start a browser and wait until it answers.

        Raises:
            BrowserUnavailable: it does not start; the message has its last words.
        """
        log = launch.profile / _LOG_NAME
        try:
            process = await start_process(
                launch.executable, launch.arguments, environment=launch.environment, log=log
            )
        except OSError as error:
            raise BrowserUnavailable(
                f"{launch.executable} cannot be started: {error.strerror}"
            ) from error
        worker = cls(launch, process, proxy, limits)
        await worker._tasks.__aenter__()
        try:
            async with asyncio.timeout(limits.start_timeout_seconds):
                await worker._greet()
        except (ConnectionClosed, CommandFailed, TimeoutError) as error:
            not_started = _not_started(launch.executable, log)  # before "Killed" is its last word
            await worker.kill()
            raise not_started from error
        except BaseException:
            await worker.kill()
            raise
        worker._tasks.start(worker._watch())
        return worker

    @property
    def pid(self) -> int:
        """The main process's number."""
        return self._process.pid

    @property
    def browser(self) -> CdpSession:
        """The session with the browser itself."""
        return self._process.connection.browser

    @property
    def is_fit(self) -> bool:
        """Whether the worker can take another page."""
        is_fresh = self.pages < self._limits.max_pages
        return self.failure is None and self.is_running and is_fresh

    def is_ready_for(self, purpose: ContextPurpose) -> bool:
        """Whether a context for this purpose is at hand."""
        return self._kept is not None and self._kept.purpose == purpose

    @property
    def is_running(self) -> bool:
        """Whether the browser is still there to be asked."""
        return not self._process.connection.closed.done()

    async def wait_ended(self, timeout_seconds: float) -> None:
        """Wait until the browser has ended, or for some time."""
        await asyncio.wait([self._process.connection.closed], timeout=timeout_seconds)

    async def _greet(self) -> None:
        version = await self.browser.send("Browser.getVersion")
        self.user_agent = version["userAgent"]
        if self._closes_popups:
            self.browser.on("Target.targetCreated", self._close_popup)
        self.browser.on("Target.detachedFromTarget", self._note_detached)
        await self.browser.send("Target.setDiscoverTargets", discover=True)

    def _close_popup(self, event: CdpMessage) -> None:
        target = event["targetInfo"]
        if target["type"] == "page" and target.get("openerId"):
            self.browser.post("Target.closeTarget", targetId=target["targetId"])

    def _note_detached(self, event: CdpMessage) -> None:
        if tab := self._tabs.pop(event["sessionId"], None):
            tab.note_closed()
            tab.fail(ScrapeFailed("The page's tab was closed"))
        self._process.connection.forget(event["sessionId"], "The tab was closed")

    def _fail_tabs(self, _: object) -> None:
        """Tell those who wait for events of a tab that there will be none."""
        for tab in self._tabs.values():
            tab.note_closed()
            tab.fail(self.failure or BrowserCrashed())
        self._tabs.clear()

    # Tabs

    async def open_tab(self, purpose: ContextPurpose) -> "WorkerTab":
        """Open a tab that no page has been in, in a context that only this caller's pages were.

        Raises:
            ConnectionClosed: the browser has ended.
        """
        self.pages += 1
        context = await self._take_context(purpose)
        context.visits += 1
        try:
            session, target_id = await self._create_target(context.id)
        except BaseException:
            context.proxy_credentials.revoke()
            raise
        tab = self._tabs[session.id] = Tab(session, target_id)
        return WorkerTab(
            tab=tab, worker=self, proxy_credentials=context.proxy_credentials, context=context
        )

    async def open_own_tab(self, purpose: ContextPurpose) -> "WorkerTab":
        """Open a tab in the profile itself: what the page sets stays there."""
        self.pages += 1
        proxy_credentials = self._proxy.issue_credentials(route=purpose.route)
        try:
            await self.browser.send("Browser.setDownloadBehavior", behavior="deny")
            session, target_id = await self._create_target(None)
            return await self._authenticate_to_proxy(session, target_id, proxy_credentials)
        except BaseException:
            proxy_credentials.revoke()
            raise

    async def _take_context(self, purpose: ContextPurpose) -> BrowserContext:
        kept, self._kept = self._kept, None
        if kept is not None and kept.purpose == purpose:
            await kept.clear_cookies(self.browser)  # some may have come after the clearing
            return kept
        if kept is not None:
            await self._dispose(kept)
        return await self._make_context(purpose)

    async def _make_context(self, purpose: ContextPurpose) -> BrowserContext:
        created = await self.browser.send(
            "Target.createBrowserContext",
            disposeOnDetach=True,
            proxyServer=proxy_url_for_browser(self._proxy.url),
            proxyBypassList="<-loopback>",
        )
        context_id = created["browserContextId"]
        proxy_credentials = self._proxy.issue_credentials(route=purpose.route)
        try:
            await self.browser.send(
                "Browser.setDownloadBehavior", behavior="deny", browserContextId=context_id
            )
            anchor, _ = await self._create_target(context_id)
            await authenticate_to_proxy(anchor, proxy_credentials)
        except BaseException:
            proxy_credentials.revoke()
            raise
        return BrowserContext(
            id=context_id, purpose=purpose, proxy_credentials=proxy_credentials, anchor=anchor
        )

    async def _create_target(self, context_id: str | None) -> tuple[CdpSession, str]:
        context = {} if context_id is None else {"browserContextId": context_id}
        created = await self.browser.send("Target.createTarget", url="about:blank", **context)
        target_id = str(created["targetId"])
        return await self._attach(target_id), target_id

    async def _attach(self, target_id: str) -> CdpSession:
        attached = await self.browser.send(
            "Target.attachToTarget", targetId=target_id, flatten=True
        )
        return self._process.connection.session(attached["sessionId"])

    async def _authenticate_to_proxy(
        self, session: CdpSession, target_id: str, proxy_credentials: ProxyCredentials
    ) -> "WorkerTab":
        await authenticate_to_proxy(session, proxy_credentials)
        tab = self._tabs[session.id] = Tab(session, target_id)
        return WorkerTab(tab=tab, worker=self, proxy_credentials=proxy_credentials)

    async def adopt_tab(self, proxy_credentials: ProxyCredentials) -> "WorkerTab":
        """Attach to the tab that a window opened with.

        Raises:
            BrowserUnavailable: no window opened.
            ConnectionClosed: the window was closed.
        """
        try:
            async with asyncio.timeout(self._limits.start_timeout_seconds):
                target_id = await self._find_page()
                return await self._authenticate_to_proxy(
                    await self._attach(target_id), target_id, proxy_credentials
                )
        except (CommandFailed, TimeoutError) as error:
            raise BrowserUnavailable("The browser started and opened no window") from error

    async def _find_page(self) -> str:
        while True:
            targets = (await self.browser.send("Target.getTargets"))["targetInfos"]
            if page := next((t for t in targets if t["type"] == "page"), None):
                return str(page["targetId"])
            await asyncio.sleep(_POLL_SECONDS)

    async def close_tab(self, opened: "WorkerTab") -> None:
        """Close a tab, and its context unless the caller's next page may have it.

        A browser that does not manage to is condemned.
        """
        try:
            async with asyncio.timeout(self._limits.answer_timeout_seconds):
                await self._close(opened)
        except TimeoutError:
            self.condemn(BrowserCrashed("The browser did not close a page in time"), "hung")
        except (CommandFailed, ConnectionClosed):
            pass  # the tab, or the browser, is gone already
        finally:
            if opened.context is None or opened.context is not self._kept:
                opened.proxy_credentials.revoke()
        self.idle_since = monotonic()

    async def _close(self, opened: "WorkerTab") -> None:
        context = opened.context
        if context is None:
            await self.browser.send("Target.closeTarget", targetId=opened.tab.frame_id)
        elif opened.is_tidy and await self._is_worth_keeping(context) and await self._clear(opened):
            self._kept = context
        else:
            await self._dispose(context)

    async def _is_worth_keeping(self, context: BrowserContext) -> bool:
        is_fresh = context.visits < self._limits.max_pages_in_context
        if context.purpose.caller is None or not is_fresh:
            return False
        limit = self._limits.max_memory_bytes
        return limit is None or await self._process.private_bytes() < limit // 2

    async def _clear(self, opened: "WorkerTab") -> bool:
        """Close a tab and clear its context; return whether nothing is left in it."""
        if opened.context is None:
            return False
        try:
            async with asyncio.timeout(_CLEARING_SECONDS):
                await self.browser.send("Target.closeTarget", targetId=opened.tab.frame_id)
                await opened.tab.wait_closed()
                await opened.context.clear(self.browser, opened.tab.origins)
        except (CommandFailed, TimeoutError):
            return False
        return not opened.tab.has_foreign_frames

    async def _dispose(self, context: BrowserContext) -> None:
        context.proxy_credentials.revoke()
        await self.browser.send("Target.disposeBrowserContext", browserContextId=context.id)

    # Health

    async def _watch(self) -> None:
        """End the browser when it takes too much or stops answering, until it has ended."""
        while self.is_running:
            try:
                async with asyncio.timeout(self._limits.answer_timeout_seconds):
                    await self.browser.send("Browser.getVersion")
            except TimeoutError:
                self.condemn(BrowserCrashed("The browser stopped answering"), "hung")
            except (CommandFailed, ConnectionClosed):
                return
            await self._check_memory()
            await self.wait_ended(self._limits.watch_interval_seconds)

    async def _check_memory(self) -> None:
        limit = self._limits.max_memory_bytes
        if limit is not None and (taken := await self._process.private_bytes()) > limit:
            message = (
                f"With this page the browser took {taken >> 20} MiB of memory, more than the "
                f"{limit >> 20} MiB that it may (setting browser.max-memory-bytes)"
            )
            self.condemn(ScrapeFailed(message), "fat")

    def condemn(self, error: CinderError, reason: str) -> None:
        """End the browser at once; what is going on in it fails with this error."""
        if self.failure is None:
            _log.warning("browser ended", reason=reason, pid=self.pid, profile=self.profile.name)
            self.failure = error
            self._process.kill()
            self._process.connection.close()

    async def close(self) -> None:
        """End the browser, politely at first, and wait until nothing of it is left."""
        try:
            if self.is_running:
                with suppress(ConnectionClosed):
                    self.browser.post("Browser.close")
                await self._process.wait_ended(self._limits.answer_timeout_seconds)
        finally:
            await self.kill()

    async def kill(self) -> None:
        """End the browser at once and wait until nothing of it is left."""
        if self._kept is not None:
            self._kept.proxy_credentials.revoke()
        self._process.connection.close()
        await self._process.kill_all()
        if not await self._process.wait_ended(self._limits.answer_timeout_seconds):
            _log.error("browser not ended", pid=self.pid, profile=self.profile.name)
        self._tasks.cancel_all()
        await self._tasks.__aexit__()


@dataclass(eq=False, slots=True, kw_only=True)
class WorkerTab:
    """A tab, the worker whose it is, and the context it is in; None for the profile itself."""

    tab: Tab
    worker: BrowserWorker
    proxy_credentials: ProxyCredentials
    context: BrowserContext | None = None
    is_tidy: bool = False
    """Whether its page left nothing that clearing the context would not forget."""


def _not_started(executable: Path, log: Path) -> BrowserUnavailable:
    said = log.read_text(errors="replace").strip()[-_LOG_TAIL_CHARS:] if log.exists() else ""
    advice = _SANDBOX_ADVICE if "sandbox" in said.lower() else ""
    return BrowserUnavailable(
        f"{executable} did not start.{advice} It said: {said or 'nothing'}. "
        "`cinder doctor` tries it again."
    )

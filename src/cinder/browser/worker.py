"""A browser worker: one Chromium on one profile, its contexts, tabs and proxy authentication."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.browser.cdp import (
    CdpConnection,
    CdpMessage,
    CdpSession,
    CommandFailed,
    ConnectionClosed,
)
from cinder.browser.chromium import proxy_url_for_browser
from cinder.browser.process import start_process
from cinder.browser.tab import Tab, authenticate_to_proxy
from cinder.egress.credentials import ProxyCredentials, Route
from cinder.egress.proxy import ForwardProxy
from cinder.errors import BrowserCrashed, BrowserUnavailable, CinderError, ScrapeFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPurpose:
    """The caller of a context, and the route of its connections.

    Without a caller it is for a single page, such as one with a caller's credentials.
    """

    caller: str | None = None
    route: Route = Route.DIRECT
    pool: str | None = None
    """The pool of the route `POOL`; the engine chooses a proxy of it for each page."""


@dataclass(eq=False, slots=True, kw_only=True)
class BrowserContext:
    """A browser context. Its anchor is an empty tab that keeps the process of its pages alive."""

    id: str
    purpose: ContextPurpose
    proxy_credentials: ProxyCredentials
    anchor: CdpSession
    visits: int = 0
    kept: "WorkerTab | None" = None
    """The tab of the page before, which is empty now."""

    async def clear(self, browser: CdpSession, origins: Iterable[str]) -> None:
        """Delete the data of these origins, after their page is gone from its tab.

        Raises:
            CommandFailed: the browser cannot delete it.
            ConnectionClosed: the browser is gone.
        """
        # Responses to the page's last requests would set cookies later.
        self.proxy_credentials.close_connections()
        await asyncio.gather(
            self.clear_cookies(browser),
            # The anchor does not respond while a script of the page still runs.
            self.anchor.send("Runtime.evaluate", expression="1"),
            self.anchor.send("Network.clearBrowserCache"),
            *(
                self.anchor.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
                for origin in origins
            ),
        )

    async def clear_cookies(self, browser: CdpSession) -> None:
        """Delete all cookies."""
        await browser.send("Storage.clearCookies", browserContextId=self.id)


_log: FilteringBoundLogger = structlog.get_logger()

_POLL_SECONDS = 0.05
# Chromium deletes the sessionStorage of tabs only with that of all origins.
_ALL_ORIGINS = ("",)
_CLEARING_SECONDS = 1
_LOG_NAME = "chromium.log"
_LOG_TAIL_CHARS = 600
_SANDBOX_ADVICE = (
    " Chromium cannot make its sandbox here: allow user namespaces, or run it without by the "
    "setting browser.sandbox."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserWorkerLimits:
    """The limits after which a worker is replaced."""

    max_pages: int = 200
    max_pages_in_context: int = 25
    max_memory_bytes: int | None = 1024 * 1024 * 1024
    start_timeout_seconds: float = 20
    answer_timeout_seconds: float = 3
    watch_interval_seconds: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserLaunch:
    """The command of a browser, and its profile."""

    executable: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]
    profile: Path
    closes_popups: bool = True
    """Whether windows that pages open are closed; a person may need them to log in."""


class RunningBrowser(Protocol):
    """A browser that a worker controls: the processes of a local one, or a remote one."""

    @property
    def is_remote(self) -> bool:
        """Whether others may use it too, and its connections do not pass the egress proxy."""
        ...

    @property
    def name(self) -> str:
        """Its name in the log."""
        ...

    @property
    def pid(self) -> int:
        """The id of the main process; 0 for a remote browser."""
        ...

    @property
    def connection(self) -> CdpConnection:
        """The connection that commands are sent over."""
        ...

    @property
    def loss(self) -> CinderError:
        """The error of pages that it leaves unread."""
        ...

    async def private_bytes(self) -> int:
        """Return the memory that the browser's processes do not share."""
        ...

    def kill(self) -> None:
        """End it at once, or begin to."""
        ...

    async def kill_all(self) -> None:
        """End all of it."""
        ...

    async def wait_ended(self, timeout_seconds: float) -> bool:
        """Wait until all of it has ended; return whether it has."""
        ...


class BrowserWorker:
    """A running browser."""

    def __init__(
        self,
        process: RunningBrowser,
        proxy: ForwardProxy,
        limits: BrowserWorkerLimits,
        *,
        profile: Path | None = None,
    ) -> None:
        self.profile = profile
        """The folder of a local browser's profile."""
        self.pages = 0
        self.idle_since = monotonic()
        self.failure: CinderError | None = None
        self.user_agent = ""
        self._process = process
        self._proxy = proxy
        self._limits = limits
        self._tabs: dict[str, Tab] = {}
        self._kept: BrowserContext | None = None
        self._context_ids: set[str] = set()
        self._tasks = BackgroundTasks()
        process.connection.closed.add_done_callback(self._fail_tabs)

    @classmethod
    async def start(
        cls, launch: BrowserLaunch, proxy: ForwardProxy, limits: BrowserWorkerLimits
    ) -> "BrowserWorker":
        """Start a browser and wait until it responds.

        Raises:
            BrowserUnavailable: it does not start; the message has the end of its output.
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
        worker = cls(process, proxy, limits, profile=launch.profile)
        try:
            await worker.open(closes_popups=launch.closes_popups)
        except (ConnectionClosed, CommandFailed, TimeoutError) as error:
            # Read before the kill, which appends to it.
            output = log.read_text(errors="replace").strip() if log.exists() else ""
            await worker.kill()
            output = output[-_LOG_TAIL_CHARS:]
            advice = _SANDBOX_ADVICE if "sandbox" in output.lower() else ""
            raise BrowserUnavailable(
                f"{launch.executable} did not start.{advice} It said: {output or 'nothing'}. "
                "`cinder doctor` tries it again."
            ) from error
        except BaseException:
            await worker.kill()
            raise
        return worker

    async def open(self, *, closes_popups: bool = True) -> None:
        """Wait until the browser responds, and watch it from then on.

        If it fails, the caller kills the worker.

        Raises:
            TimeoutError: it does not respond in time.
            CommandFailed: it refuses to be controlled.
            ConnectionClosed: it has ended.
        """
        await self._tasks.__aenter__()
        async with asyncio.timeout(self._limits.start_timeout_seconds):
            version = await self.browser.send("Browser.getVersion")
            self.user_agent = version["userAgent"]
            if closes_popups:
                self.browser.on("Target.targetCreated", self._close_popup)
            self.browser.on("Target.detachedFromTarget", self._on_detached)
            await self.browser.send("Target.setDiscoverTargets", discover=True)
        self._tasks.start(self._watch())

    @property
    def pid(self) -> int:
        """The id of the main process."""
        return self._process.pid

    @property
    def browser(self) -> CdpSession:
        """The session with the browser itself."""
        return self._process.connection.browser

    @property
    def loss(self) -> CinderError:
        """The error of pages that it leaves unread."""
        return self.failure or self._process.loss

    @property
    def is_fit(self) -> bool:
        """Whether the worker can take another page."""
        is_fresh = self.pages < self._limits.max_pages
        return self.failure is None and self.is_running and is_fresh

    def is_ready_for(self, purpose: ContextPurpose) -> bool:
        """Whether it has a context for this purpose."""
        return self._kept is not None and self._kept.purpose == purpose

    @property
    def is_running(self) -> bool:
        """Whether the browser has not ended."""
        return not self._process.connection.closed.done()

    async def wait_ended(self, timeout_seconds: float) -> None:
        """Wait until the browser has ended, at most for so long."""
        await asyncio.wait([self._process.connection.closed], timeout=timeout_seconds)

    def _close_popup(self, event: CdpMessage) -> None:
        target = event["targetInfo"]
        if self._process.is_remote and target.get("browserContextId") not in self._context_ids:
            return  # another client's
        if target["type"] == "page" and target.get("openerId"):
            self.browser.post("Target.closeTarget", targetId=target["targetId"])

    def _on_detached(self, event: CdpMessage) -> None:
        if tab := self._tabs.pop(event["sessionId"], None):
            tab.closed.set()
            tab.fail(ScrapeFailed("The page's tab was closed"))
        self._process.connection.forget(event["sessionId"], "The tab was closed")

    def _fail_tabs(self, _: object) -> None:
        """Fail all tabs, for whose events other tasks wait."""
        for tab in self._tabs.values():
            tab.closed.set()
            tab.fail(self.loss)
        self._tabs.clear()

    # Tabs

    async def open_tab(self, purpose: ContextPurpose) -> "WorkerTab":
        """Open a new tab, in a context that only this caller's pages have used.

        Raises:
            ConnectionClosed: the browser has ended.
        """
        self.pages += 1
        context, self._kept = self._kept, None
        if context is not None and context.purpose == purpose:
            await context.clear_cookies(self.browser)  # some may have arrived after the cleanup
        else:
            if context is not None:
                await self._dispose(context)
            # A remote browser cannot reach the egress proxy.
            egress = (
                {}
                if self._process.is_remote
                else {
                    "proxyServer": proxy_url_for_browser(self._proxy.url),
                    "proxyBypassList": "<-loopback>",
                }
            )
            created = await self.browser.send(
                "Target.createBrowserContext", disposeOnDetach=True, **egress
            )
            context_id = created["browserContextId"]
            self._context_ids.add(context_id)
            proxy_credentials = self._proxy.issue_credentials(route=purpose.route)
            try:
                await self.browser.send(
                    "Browser.setDownloadBehavior", behavior="deny", browserContextId=context_id
                )
                anchor, _ = await self._create_target(context_id)
                if not self._process.is_remote:
                    await authenticate_to_proxy(anchor, proxy_credentials)
            except BaseException:
                proxy_credentials.revoke()
                raise
            context = BrowserContext(
                id=context_id, purpose=purpose, proxy_credentials=proxy_credentials, anchor=anchor
            )
        context.visits += 1
        try:
            opened, context.kept = context.kept, None
            if opened is not None and opened.tab.session.is_open:
                opened.tab = self._follow(opened.tab.session, opened.tab.frame_id)
                opened.is_tidy = opened.is_as_configured = False
                return opened
            session, target_id = await self._create_target(context.id)
        except BaseException:
            context.proxy_credentials.revoke()
            raise
        return WorkerTab(
            tab=self._follow(session, target_id),
            worker=self,
            proxy_credentials=context.proxy_credentials,
            context=context,
        )

    async def open_own_tab(self, purpose: ContextPurpose) -> "WorkerTab":
        """Open a tab in the profile itself, which keeps the page's data."""
        self.pages += 1
        proxy_credentials = self._proxy.issue_credentials(route=purpose.route)
        try:
            await self.browser.send("Browser.setDownloadBehavior", behavior="deny")
            session, target_id = await self._create_target(None)
            return await self._authenticate_to_proxy(session, target_id, proxy_credentials)
        except BaseException:
            proxy_credentials.revoke()
            raise

    async def _create_target(self, context_id: str | None) -> tuple[CdpSession, str]:
        context = {} if context_id is None else {"browserContextId": context_id}
        created = await self.browser.send("Target.createTarget", url="about:blank", **context)
        target_id = str(created["targetId"])
        return await self._attach(target_id), target_id

    def _follow(self, session: CdpSession, target_id: str) -> Tab:
        tab = self._tabs[session.id] = Tab(session, target_id)
        return tab

    async def attach_anew(self, tab: Tab) -> Tab:
        """Return the tab with a new session: what was set up in the old one ends with it.

        Raises:
            CommandFailed: the tab is gone.
            ConnectionClosed: the browser has ended.
        """
        self._tabs.pop(tab.session.id, None)
        await self.browser.send("Target.detachFromTarget", sessionId=tab.session.id)
        return self._follow(await self._attach(tab.frame_id), tab.frame_id)

    async def _attach(self, target_id: str) -> CdpSession:
        attached = await self.browser.send(
            "Target.attachToTarget", targetId=target_id, flatten=True
        )
        return self._process.connection.session(attached["sessionId"])

    async def _authenticate_to_proxy(
        self, session: CdpSession, target_id: str, proxy_credentials: ProxyCredentials
    ) -> "WorkerTab":
        await authenticate_to_proxy(session, proxy_credentials)
        tab = self._follow(session, target_id)
        return WorkerTab(tab=tab, worker=self, proxy_credentials=proxy_credentials)

    async def adopt_tab(self, proxy_credentials: ProxyCredentials) -> "WorkerTab":
        """Attach to the first tab of a window.

        Raises:
            BrowserUnavailable: no window opened.
            ConnectionClosed: the window was closed.
        """
        try:
            async with asyncio.timeout(self._limits.start_timeout_seconds):
                while True:
                    targets = (await self.browser.send("Target.getTargets"))["targetInfos"]
                    if page := next((t for t in targets if t["type"] == "page"), None):
                        break
                    await asyncio.sleep(_POLL_SECONDS)
                target_id = str(page["targetId"])
                return await self._authenticate_to_proxy(
                    await self._attach(target_id), target_id, proxy_credentials
                )
        except (CommandFailed, TimeoutError) as error:
            raise BrowserUnavailable("The browser started and opened no window") from error

    async def close_tab(self, opened: "WorkerTab") -> None:
        """Close a tab and its context, unless the caller's next page may use them.

        A browser that fails to is condemned.
        """
        try:
            async with asyncio.timeout(self._limits.answer_timeout_seconds):
                context = opened.context
                if context is None:
                    await self.browser.send("Target.closeTarget", targetId=opened.tab.frame_id)
                elif await self._clear(opened, context):
                    self._kept = context
                else:
                    await self._dispose(context)
        except TimeoutError:
            self.condemn(BrowserCrashed("The browser did not close a page in time"), "hung")
        except (CommandFailed, ConnectionClosed):
            pass  # the tab, or the browser, is gone already
        finally:
            if opened.context is None or opened.context is not self._kept:
                opened.proxy_credentials.revoke()
        self.idle_since = monotonic()

    async def _clear(self, opened: "WorkerTab", context: BrowserContext) -> bool:
        """Clear a context and its tab; return whether the context can be used again."""
        tab, limit = opened.tab, self._limits.max_memory_bytes
        is_fresh = context.visits < self._limits.max_pages_in_context
        is_private = context.purpose.caller is None
        if not opened.is_tidy or is_private or not is_fresh or tab.has_foreign_frames:
            return False
        if limit is not None and await self._process.private_bytes() >= limit // 2:
            return False
        try:
            async with asyncio.timeout(_CLEARING_SECONDS):
                # The back-forward cache of a remote browser may keep the page.
                keeps_tab = opened.is_as_configured and tab.is_plain and not self._process.is_remote
                if keeps_tab:
                    await tab.leave_page()
                    tab.release()
                    self._tabs.pop(tab.session.id, None)
                    context.kept = opened
                else:
                    await self.browser.send("Target.closeTarget", targetId=tab.frame_id)
                    await tab.closed.wait()
                # Remote browsers may be of a version that does not clear all origins at once.
                origins = tab.origins if self._process.is_remote else _ALL_ORIGINS
                await context.clear(self.browser, origins)
        except (CommandFailed, TimeoutError):
            return False
        except ConnectionClosed:
            return False  # if the browser is gone, disposing of the context says so
        return not tab.has_foreign_frames

    async def _dispose(self, context: BrowserContext) -> None:
        context.proxy_credentials.revoke()
        self._context_ids.discard(context.id)
        await self.browser.send("Target.disposeBrowserContext", browserContextId=context.id)

    # Health

    async def _watch(self) -> None:
        """Condemn the browser if it uses too much memory or stops responding."""
        limit = self._limits.max_memory_bytes
        while self.is_running:
            try:
                async with asyncio.timeout(self._limits.answer_timeout_seconds):
                    await self.browser.send("Browser.getVersion")
            except TimeoutError:
                self.condemn(BrowserCrashed("The browser stopped answering"), "hung")
            except (CommandFailed, ConnectionClosed):
                return
            if limit is not None and (taken := await self._process.private_bytes()) > limit:
                message = (
                    f"With this page the browser took {taken >> 20} MiB of memory, more than the "
                    f"{limit >> 20} MiB that it may (setting browser.max-memory-bytes)"
                )
                self.condemn(ScrapeFailed(message), "fat")
            await self.wait_ended(self._limits.watch_interval_seconds)

    def condemn(self, error: CinderError, reason: str) -> None:
        """Kill the browser; its tabs fail with this error."""
        if self.failure is None:
            _log.warning("browser ended", reason=reason, pid=self.pid, profile=self._process.name)
            # For callers, a remote browser that does not answer is a broken connection.
            self.failure = self._process.loss if self._process.is_remote else error
            self._process.kill()
            self._process.connection.close()

    async def close(self) -> None:
        """Close the browser, kill it if it does not close, and wait until it has ended."""
        try:
            # A remote browser may have other clients; the end of the connection ends its contexts.
            if self.is_running and not self._process.is_remote:
                with suppress(ConnectionClosed):
                    self.browser.post("Browser.close")
                await self._process.wait_ended(self._limits.answer_timeout_seconds)
        finally:
            await self.kill()

    async def kill(self) -> None:
        """Kill the browser and wait until all its processes have ended."""
        if self._kept is not None:
            self._kept.proxy_credentials.revoke()
        self._process.connection.close()
        await self._process.kill_all()
        if not await self._process.wait_ended(self._limits.answer_timeout_seconds):
            _log.error("browser not ended", pid=self.pid, profile=self._process.name)
        self._tasks.cancel_all()
        await self._tasks.__aexit__()


@dataclass(eq=False, slots=True, kw_only=True)
class WorkerTab:
    """A tab, its worker and its context; None for the profile itself."""

    tab: Tab
    worker: BrowserWorker
    proxy_credentials: ProxyCredentials
    context: BrowserContext | None = None
    is_tidy: bool = False
    """Whether clearing the context deletes all data of its page."""
    is_as_configured: bool = False
    """Whether the page changed nothing of what the tab was configured with."""
    question: str = field(default_factory=partial(secrets.token_hex, 16))
    """A name for events that the tab's pages cannot guess."""
    _commands: list[tuple[str, CdpMessage]] = field(default_factory=list)

    async def configure(self, commands: list[tuple[str, CdpMessage]]) -> None:
        """Send the commands that configure the tab, unless its session has had just these.

        Raises:
            ScrapeFailed: the browser refused one of them.
            CommandFailed: the tab is gone.
            ConnectionClosed: the tab or the browser is gone.
        """
        if self._commands == commands:
            return
        if self._commands:
            self.tab = await self.worker.attach_anew(self.tab)
        self._commands = commands

        async def send(command: str, arguments: CdpMessage) -> None:
            try:
                await self.tab.session.send(command, **arguments)
            except CommandFailed as error:
                # Headers in the settings may be secret; the parameters of Emulation are not.
                shown = f" of {arguments}" if command.startswith("Emulation.") else ""
                raise ScrapeFailed(
                    f"The browser cannot be set up as the settings want: {command}{shown} fails: "
                    f"{error}"
                ) from error

        # Together, to save round trips.
        await asyncio.gather(*(send(name, arguments) for name, arguments in commands))

"""A tab: navigation, the page's response, cinder's own scripts, and Chromium's network errors."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from cinder.browser.cdp import CdpMessage, CdpSession, CommandFailed, ConnectionClosed
from cinder.egress.credentials import ProxyCredentials
from cinder.errors import (
    BrowserCrashed,
    CinderError,
    ConnectionFailed,
    ContentTooLarge,
    EgressBlocked,
    ScrapeFailed,
    ScrapeTimeout,
    TlsFailed,
)
from cinder.fetch.responses import REDIRECT_STATUSES, redirect_target
from cinder.models.url import MAX_URL_LENGTH, origin_of, parse_web_url

T = TypeVar("T")

_CRASH = "The page crashed the browser's process that showed it"
_BROKEN_OFF = "The connection broke before the answer was whole"
_BAD_TLS = "No secure connection could be made: the TLS handshake failed"
# The errors by the beginnings of their codes; the first that fits counts.
_FAILURES: tuple[tuple[tuple[str, ...], type[CinderError], str], ...] = (
    (("CERT_",), ScrapeFailed, "The server's certificate could not be verified"),
    (("SSL_", "BAD_SSL_"), TlsFailed, _BAD_TLS),
    (("TOO_MANY_REDIRECTS",), ScrapeFailed, "The page redirects without end"),
    (("UNSAFE_REDIRECT", "UNKNOWN_URL_SCHEME"), EgressBlocked, "The page redirects out of the web"),
    (("UNSAFE_PORT",), EgressBlocked, "Browsers connect to no such port"),
    (("INVALID_", "RESPONSE_HEADERS_"), ScrapeFailed, "The server's answer is not valid HTTP"),
    (("CONTENT_DECODING_FAILED",), ScrapeFailed, "The server's answer could not be decompressed"),
    (("BLOCKED_BY_",), ScrapeFailed, "The browser refused the page"),
    (("TIMED_OUT", "CONNECTION_TIMED_OUT"), ScrapeTimeout, "The server did not answer in time"),
    (("CONNECTION_", "EMPTY_RESPONSE", "INCOMPLETE_"), ConnectionFailed, _BROKEN_OFF),
    (("CONTENT_LENGTH_", "HTTP2_", "NETWORK_"), ConnectionFailed, _BROKEN_OFF),
    (("SOCKET_", "PROXY_", "TUNNEL_"), ConnectionFailed, "The connection could not be made"),
)


def error_of_net_code(error_text: str, url: str) -> CinderError:
    """Return the error for a `net::ERR_…` code."""
    name = error_text.removeprefix("net::")
    for prefixes, failure, sentence in _FAILURES:
        if name.startswith(tuple(f"ERR_{prefix}" for prefix in prefixes)):
            return failure(f"{sentence} ({name})", url=url)
    return ScrapeFailed(f"The page could not be loaded ({name})", url=url)


def page_too_large(page: str, limit: int) -> ContentTooLarge:
    """Return the error for a page beyond the limit."""
    return ContentTooLarge(f"{page} is larger than {limit} bytes (setting scrape.max-body-bytes)")


_SCRIPTS_FOLDER = Path(__file__).parent / "scripts"
_USED_SCRIPT = re.compile(r"\bUSE_(\w+)")


def script_call(name: str, *arguments: object) -> str:
    """Return the expression that calls the function in one of cinder's scripts."""
    return f"({read_script(name)})({', '.join(json.dumps(argument) for argument in arguments)})"


def wrap_script(expression: str, max_chars: int) -> str:
    """Return an expression that evaluates a caller's expression and returns its result as JSON."""
    template = read_script("run_script")
    # The caller's script is inserted last: it may contain either word itself.
    before, after = template.replace("LIMIT", str(max_chars)).split("SCRIPT")
    return f"{before}{expression}{after}"


@cache
def read_script(name: str) -> str:
    """Return the text of a script without its first comment, and with the scripts it uses."""
    text = (_SCRIPTS_FOLDER / f"{name}.js").read_text()
    text = text.partition("\n")[2].strip() if text.startswith("//") else text.strip()
    return _USED_SCRIPT.sub(lambda found: f"({read_script(found[1])})", text)


# A page that keeps opening dialogs would never finish.
_MAX_DIALOGS = 20
_MAX_LOADS_KEPT = 50
_MAX_IN_FLIGHT = 10_000

# cinder's scripts run in an isolated world: they see the page's tree, but not its changes to
# globals.
_WORLD = "cinder"
_EMPTY_PAGE = "about:blank"
_EMPTYING_TRIES = 5
# Responses without a page: a browser stays on the current one.
_NO_PAGE = (204, 205)
_WITHIN_PAGE = ("sameDocument", "historySameDocument")


class ScriptFailed(Exception):
    """A script threw; the message is the text of the exception."""


class DownloadStarted(Exception):
    """The URL leads to a file, which a browser would download."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponse:
    """The server's response for the page in a tab."""

    request_id: str
    url: str
    status_code: int
    mime: str
    headers: dict[str, str]


@dataclass
class NoPage(ScrapeFailed):
    """The server's response has no page."""

    answer: PageResponse = field(kw_only=True)

    __hash__ = ScrapeFailed.__hash__


class Tab:
    """One attached tab of a browser, which follows its events."""

    asked_url = ""
    """The last URL that the tab requested for its page, after redirects."""
    pages_asked_for = 0
    """How many pages the tab has requested, without redirects."""
    page_id = ""
    """The id of the current page: of its load."""

    def __init__(self, session: CdpSession, frame_id: str) -> None:
        self.session = session
        self.frame_id = frame_id
        self.origins: set[str] = set()
        """The origins of the pages in this tab."""
        self.has_foreign_frames = False
        """Whether frames had another origin than their page.

        Their data is stored for their site within the page's, which no command deletes.
        """
        self._main_origin = ""
        self.opened_windows: list[str] = []
        self.files_met = 0
        self.failure: CinderError | None = None
        self.max_document_bytes: int | None = None
        """The limit on a page's own document, decompressed; scripts may add to it."""
        self._document = ""
        self._document_bytes = 0
        self._reached: dict[str, set[str]] = {}
        self._answers: dict[str, PageResponse] = {}
        self._load_errors: dict[str, str] = {}
        self._redirects: dict[str, tuple[int, str]] = {}
        self._in_flight: set[str] = set()
        self._network_used_at = 0.0
        self._has_socket = False
        self.is_leaving = False
        """Whether the tab is navigating to another page."""
        self._dialogs = 0
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.closed = asyncio.Event()
        """Set when the tab is gone."""
        self._world: tuple[str, int] | None = None
        listeners: dict[str, Callable[[CdpMessage], None]] = {
            "Page.lifecycleEvent": self._on_lifecycle,
            "Page.frameStartedNavigating": partial(self._on_navigation, is_leaving=True),
            "Page.frameRequestedNavigation": partial(self._on_navigation, is_leaving=True),
            "Page.frameStoppedLoading": partial(self._on_navigation, is_leaving=False),
            "Page.javascriptDialogOpening": self._close_dialog,
            "Page.windowOpen": self._on_window,
            "Page.downloadWillBegin": self._on_download,
            "Network.requestWillBeSent": self._on_request,
            "Network.dataReceived": self._on_data,
            "Network.responseReceived": self._on_response,
            "Network.responseReceivedExtraInfo": self._on_redirect,
            "Network.loadingFinished": self._on_loaded,
            "Network.loadingFailed": self._on_load_error,
            "Network.webSocketCreated": self._on_socket,
            "Inspector.targetCrashed": lambda _: self.fail(BrowserCrashed(_CRASH)),
        }
        self._stop_listening: list[Callable[[], None]] = []
        for event, listener in listeners.items():
            self.on(event, listener)

    def on(self, event: str, listener: Callable[[CdpMessage], None]) -> None:
        """Add a listener for the events of a name, until the tab is released."""
        self._stop_listening.append(self.session.on(event, listener))

    def release(self) -> None:
        """Follow no more events: the session is for another page."""
        for stop in self._stop_listening:
            stop()
        self._stop_listening.clear()

    # Events

    def _on_lifecycle(self, event: CdpMessage) -> None:
        if event["frameId"] != self.frame_id:
            return
        if event["name"] == "init":
            self.page_id = event["loaderId"]
            self.is_leaving = False
            self._reached = _last_loads(self._reached)
            self._in_flight &= {self.page_id}
            self._has_socket = False
        self._reached.setdefault(event["loaderId"], set()).add(event["name"])
        self._notify()

    def _on_navigation(self, event: CdpMessage, *, is_leaving: bool) -> None:
        is_within_page = event.get("navigationType") in _WITHIN_PAGE
        if event["frameId"] == self.frame_id and not is_within_page:
            self.is_leaving = is_leaving
            self._notify()

    def _on_download(self, _: CdpMessage) -> None:
        self.files_met += 1
        self.is_leaving = False
        self._notify()

    def _on_request(self, event: CdpMessage) -> None:
        # Nothing comes of a ping, and it may outlive its page.
        if event.get("type") != "Ping" and len(self._in_flight) < _MAX_IN_FLIGHT:
            self._in_flight.add(event["requestId"])
        if event.get("type") != "Document":
            return
        url = event["request"]["url"]
        is_main = event.get("frameId") == self.frame_id
        if is_main:
            self.asked_url = url
            self.pages_asked_for += "redirectResponse" not in event
            self._document, self._document_bytes = event["requestId"], 0
        try:
            origin = origin_of(url)
        except ValueError:  # a document without a server has no storage
            return
        if is_main:
            self._main_origin = origin
            self.origins.add(origin)
        is_foreign = origin != self._main_origin
        self.has_foreign_frames |= is_foreign or len(self.origins) > _MAX_LOADS_KEPT

    def _on_response(self, event: CdpMessage) -> None:
        if event["type"] != "Document" or event.get("frameId") != self.frame_id:
            return
        response = event["response"]
        self._answers = _last_loads(self._answers)
        self._answers[event["loaderId"]] = PageResponse(
            request_id=event["requestId"],
            url=response["url"],
            status_code=response["status"],
            mime=response["mimeType"],
            headers={name.lower(): value for name, value in response["headers"].items()},
        )

    def _on_data(self, event: CdpMessage) -> None:
        # The tree may be smaller than the decompressed page: it has no NUL bytes, for example.
        if event["requestId"] == self._document:
            self._document_bytes += event["dataLength"]
            limit = self.max_document_bytes
            if limit is not None and self._document_bytes > limit:
                self.fail(page_too_large("The page", limit))

    def _on_redirect(self, event: CdpMessage) -> None:
        # No other event has the target of a redirect that the browser does not follow.
        if event["statusCode"] in REDIRECT_STATUSES:
            headers = {name.lower(): value for name, value in event["headers"].items()}
            self._redirects = _last_loads(self._redirects)
            self._redirects[event["requestId"]] = (
                event["statusCode"],
                headers.get("location", "")[: MAX_URL_LENGTH + 1],
            )

    def _on_loaded(self, event: CdpMessage) -> None:
        self._in_flight.discard(event["requestId"])
        self._network_used_at = asyncio.get_running_loop().time()
        self._notify()

    def _on_socket(self, _: CdpMessage) -> None:
        self._has_socket = True

    def _on_load_error(self, event: CdpMessage) -> None:
        self._on_loaded(event)
        # The id of a page's own request is the id of its load.
        if event.get("type") == "Document":
            self._load_errors = _last_loads(self._load_errors)
            self._load_errors[event["requestId"]] = event["errorText"]
            self._notify()

    def _on_window(self, event: CdpMessage) -> None:
        if event.get("userGesture") and len(self.opened_windows) < _MAX_LOADS_KEPT:
            self.opened_windows.append(event["url"])
            self._notify()

    def _close_dialog(self, event: CdpMessage) -> None:
        self._dialogs += 1
        if self._dialogs > _MAX_DIALOGS:
            self.fail(ScrapeFailed(f"The page opened more than {_MAX_DIALOGS} dialogs"))
        elif self.failure is None:
            # Only "Leave this page?" is accepted.
            accept = event["type"] == "beforeunload"
            self.session.post("Page.handleJavaScriptDialog", accept=accept)

    def fail(self, error: CinderError) -> None:
        """Fail everything that waits for the tab, with this error."""
        if self.failure is None:
            self.failure = error
            self.session.close(error.message)
            self._notify()

    def _notify(self) -> None:
        if not self._changed.done():
            self._changed.set_result(None)

    # Waiting

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until a condition holds, which is checked after each event of the tab.

        Raises:
            ConnectionClosed: the tab is gone.
        """
        while not holds():
            if self.failure is not None:
                raise ConnectionClosed(self.failure.message)
            if self._changed.done():
                self._changed = asyncio.get_running_loop().create_future()
            await self._changed

    def has_reached(self, event: str) -> bool:
        """Whether the current page has had a lifecycle event, such as `load`."""
        return event in self._reached.get(self.page_id, ())

    @property
    def awaits_data(self) -> bool:
        """Whether the page waits for responses, or has a socket over which data may come."""
        return bool(self._in_flight) or self._has_socket

    @property
    def network_used_at(self) -> float:
        """When the last request ended, in the event loop's time."""
        return self._network_used_at

    @property
    def answer(self) -> PageResponse | None:
        """The server's response for the current page."""
        return self._answers.get(self.page_id)

    @property
    def load_error(self) -> str | None:
        """The `net::ERR_…` code of the browser's own error page, if the tab shows it."""
        return self._load_errors.get(self.page_id)

    # Doing

    async def navigate(self, url: str) -> None:
        """Navigate to a URL and wait until its page starts to load.

        Raises:
            DownloadStarted: the URL leads to a file.
            NoPage: the response has no page.
            EgressBlocked: it redirects to a URL that is not of the web.
            CinderError: it cannot be loaded.
            ValueError: it is not a web URL.
        """
        # A browser would also open file: URLs and its own pages.
        result = await self.session.send("Page.navigate", url=parse_web_url(url))
        if result.get("isDownload"):
            raise DownloadStarted(url)
        loader, error = result.get("loaderId", ""), result.get("errorText")
        answer = self._answers.get(loader)
        if error and answer is not None and answer.status_code in _NO_PAGE:
            raise NoPage(url=url, answer=answer)
        # An error status without a body is an error of the navigation too, but has a response.
        if error and (answer is None or answer.status_code < 400):
            redirect_target(url, *self._redirects.get(loader, (0, "")))
            raise error_of_net_code(error, url)
        if loader:
            # Wait for this page even if its scripts have already navigated to the next.
            await self.wait_until(lambda: "init" in self._reached.get(loader, ()))

    @property
    def is_plain(self) -> bool:
        """Whether the pages did nothing to the tab that a navigation might not undo."""
        return not (self.failure or self.files_met or self.opened_windows or self._dialogs)

    async def leave_page(self) -> None:
        """Replace the page by an empty one without a name or a history.

        Raises:
            CommandFailed: the browser refused to.
            ConnectionClosed: the tab is gone, or is leaving the empty page.
        """
        if not self.pages_asked_for:
            return
        result = await self.session.send("Page.navigate", url=_EMPTY_PAGE)
        loader = str(result.get("loaderId"))
        await self.wait_until(lambda: "init" in self._reached.get(loader, ()))
        for _ in range(_EMPTYING_TRIES):
            _, _, history = await asyncio.gather(
                self.session.send("Runtime.evaluate", expression="window.name = ''"),
                self.session.send("Page.resetNavigationHistory"),
                self.session.send("Page.getNavigationHistory"),
            )
            # The browser's main process may learn of the navigation later than the renderer.
            if [entry["url"] for entry in history["entries"]] == [_EMPTY_PAGE]:
                break
        else:
            raise ConnectionClosed("The tab has a history")
        if self.page_id != loader or self.is_leaving or not self.is_plain:
            raise ConnectionClosed("The tab is not empty")

    async def call(self, name: str, *arguments: object) -> Any:
        """Call the function in one of cinder's scripts. Any: its result.

        Raises:
            ScriptFailed: it threw, or the page was replaced meanwhile.
        """
        try:
            return read_result(await (await self.start(name, *arguments)))
        except CommandFailed as error:
            self._world = None
            raise ScriptFailed(str(error)) from error

    async def start(self, name: str, *arguments: object) -> "asyncio.Future[CdpMessage]":
        """Start what `call` calls; `wait_until` checks its condition when it ends.

        Raises:
            CommandFailed: it cannot be started: the page is being replaced.
        """
        # The text is the same for each page, so that Chromium compiles it once.
        running = self.session.post(
            "Runtime.callFunctionOn",
            functionDeclaration=read_script(name),
            arguments=[{"value": argument} for argument in arguments],
            executionContextId=await self._enter_world(),
            returnByValue=True,
            awaitPromise=True,
        )
        running.add_done_callback(lambda _: self._notify())
        return running

    async def evaluate(self, script: str) -> Any:
        """Run a script in the isolated world and return its value. Any: the script's result.

        Raises:
            ScriptFailed: it threw, or the page was replaced meanwhile.
        """
        try:
            return read_result(
                await self.session.send(
                    "Runtime.evaluate",
                    expression=script,
                    contextId=await self._enter_world(),
                    returnByValue=True,
                    awaitPromise=True,
                )
            )
        except CommandFailed as error:
            self._world = None
            raise ScriptFailed(str(error)) from error

    async def _enter_world(self) -> int:
        """Return the id of the isolated world of the current page."""
        loader = self.page_id
        if self._world is None or self._world[0] != loader:
            world = await self.session.send(
                "Page.createIsolatedWorld", frameId=self.frame_id, worldName=_WORLD
            )
            self._world = (loader, world["executionContextId"])
        return self._world[1]


def _last_loads(by_load: dict[str, T]) -> dict[str, T]:
    return dict(list(by_load.items())[-_MAX_LOADS_KEPT:])


def read_result(answer: CdpMessage) -> Any:
    """Return the value of an evaluation. Any: the script's result.

    Raises:
        ScriptFailed: the script threw.
    """
    if details := answer.get("exceptionDetails"):
        thrown = details.get("exception", {})
        text = thrown.get("description") or str(thrown.get("value") or details.get("text"))
        raise ScriptFailed(text.partition("\n")[0][:500])
    return answer["result"].get("value")


async def authenticate_to_proxy(session: CdpSession, proxy_credentials: ProxyCredentials) -> None:
    """Authenticate a tab's context, which then sends the credentials with all requests.

    Only intercepted requests can be authenticated, and intercepting all would cost a round trip
    each. The proxy itself responds to this URL.
    """
    url = proxy_credentials.proxy_auth_url

    def continue_request(event: CdpMessage) -> None:
        session.post("Fetch.continueRequest", requestId=event["requestId"])

    def provide_credentials(event: CdpMessage) -> None:
        session.post(
            "Fetch.continueWithAuth",
            requestId=event["requestId"],
            authChallengeResponse={
                "response": "ProvideCredentials",
                "username": proxy_credentials.credentials.user,
                "password": proxy_credentials.credentials.password,
            },
        )

    remove_listeners = (
        session.on("Fetch.requestPaused", continue_request),
        session.on("Fetch.authRequired", provide_credentials),
    )
    await session.send("Fetch.enable", handleAuthRequests=True, patterns=[{"urlPattern": url}])
    await session.send("Page.navigate", url=url)
    await session.send("Fetch.disable")
    for remove in remove_listeners:
        remove()

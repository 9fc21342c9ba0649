"""A tab: navigation, the page's response, cinder's own scripts, and Chromium's network errors."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cinder.browser.cdp import CdpMessage, CdpSession, CommandFailed, ConnectionClosed
from cinder.errors import (
    BrowserCrashed,
    CinderError,
    ConnectionFailed,
    ContentTooLarge,
    EgressBlocked,
    ScrapeFailed,
    ScrapeTimeout,
)
from cinder.fetch.responses import REDIRECT_STATUSES, redirect_target
from cinder.models.url import MAX_URL_LENGTH, origin_of, parse_web_url

_FAILURES: tuple[tuple[str, type[CinderError], str], ...] = (
    ("ERR_CERT_", ScrapeFailed, "The server's certificate could not be verified"),
    ("ERR_SSL_", ScrapeFailed, "No secure connection could be made: the TLS handshake failed"),
    ("ERR_BAD_SSL_", ScrapeFailed, "No secure connection could be made: the TLS handshake failed"),
    ("ERR_TOO_MANY_REDIRECTS", ScrapeFailed, "The page redirects without end"),
    ("ERR_UNSAFE_REDIRECT", EgressBlocked, "The page redirects out of the web"),
    ("ERR_UNKNOWN_URL_SCHEME", EgressBlocked, "The page redirects out of the web"),
    ("ERR_UNSAFE_PORT", EgressBlocked, "Browsers connect to no such port"),
    ("ERR_INVALID_", ScrapeFailed, "The server's answer is not valid HTTP"),
    ("ERR_RESPONSE_HEADERS_", ScrapeFailed, "The server's answer is not valid HTTP"),
    ("ERR_CONTENT_DECODING_FAILED", ScrapeFailed, "The server's answer could not be decompressed"),
    ("ERR_BLOCKED_BY_", ScrapeFailed, "The browser refused the page"),
    ("ERR_TIMED_OUT", ScrapeTimeout, "The server did not answer in time"),
    ("ERR_CONNECTION_TIMED_OUT", ScrapeTimeout, "The server did not answer in time"),
    ("ERR_CONNECTION_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_EMPTY_RESPONSE", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_INCOMPLETE_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_CONTENT_LENGTH_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_HTTP2_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_NETWORK_", ConnectionFailed, "The connection broke before the answer was whole"),
    ("ERR_SOCKET_", ConnectionFailed, "The connection could not be made"),
    ("ERR_PROXY_", ConnectionFailed, "The connection could not be made"),
    ("ERR_TUNNEL_", ConnectionFailed, "The connection could not be made"),
)


def error_of_net_code(error_text: str, url: str) -> CinderError:
    """Return the error that `net::ERR_…` stands for."""
    name = error_text.removeprefix("net::")
    for prefix, failure, sentence in _FAILURES:
        if name.startswith(prefix):
            return failure(f"{sentence} ({name})", url=url)
    return ScrapeFailed(f"The page could not be loaded ({name})", url=url)


_SCRIPTS_FOLDER = Path(__file__).parent / "scripts"


def script_call(name: str, *arguments: object) -> str:
    """Return the expression that calls the function in a script of ours."""
    return f"({read_script(name)})({', '.join(json.dumps(argument) for argument in arguments)})"


def wrap_script(expression: str, max_chars: int) -> str:
    """Return the expression that evaluates a caller's one and returns its result as JSON."""
    template = read_script("run_script")
    # The caller's script goes in last: it may hold either word itself.
    before, after = template.replace("LIMIT", str(max_chars)).split("SCRIPT")
    return f"{before}{expression}{after}"


@cache
def read_script(name: str) -> str:
    """Return the text of a script, without the comment it opens with."""
    text = (_SCRIPTS_FOLDER / f"{name}.js").read_text()
    return text.partition("\n")[2].strip() if text.startswith("//") else text.strip()


# A page may ask now and then; one that keeps asking would never come to an end.
_MAX_DIALOGS = 20
_MAX_LOADS_KEPT = 50

# Scripts of ours run in a world of their own: they see the page's tree, while nothing the page
# did to its own globals reaches them.
_WORLD = "cinder"
# Answers that have no page to them: a browser stays where it is.
_NO_PAGE = (204, 205)
_WITHIN_PAGE = ("sameDocument", "historySameDocument")


class ScriptFailed(Exception):
    """A script threw; the message is what it threw."""


class DownloadStarted(Exception):
    """The URL led to a file, which a browser would download."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResponse:
    """What the server answered for the page that a tab shows."""

    request_id: str
    url: str
    status_code: int
    mime: str
    headers: dict[str, str]


@dataclass
class NoPage(ScrapeFailed):
    """The server answered that there is nothing to show."""

    answer: PageResponse = field(kw_only=True)

    __hash__ = ScrapeFailed.__hash__


class Tab:
    """One tab of a browser, attached to and listened to."""

    def __init__(self, session: CdpSession, frame_id: str) -> None:
        self.session = session
        self.frame_id = frame_id
        self.asked_url = ""
        """What the tab last asked for to show: after redirects, another than it was told to."""
        self.pages_asked_for = 0
        """How many pages the tab has gone to, however each was redirected."""
        self.origins: set[str] = set()
        """Where the pages that the tab showed came from."""
        self.has_foreign_frames = False
        """Whether frames came from elsewhere than the page that they were in.

        What they store is kept for their site within the page's, which no command clears.
        """
        self._main_origin = ""
        self.opened_windows: list[str] = []
        self.files_met = 0
        self.failure: CinderError | None = None
        self.max_document_bytes: int | None = None
        """How much of a page's own document is taken, unpacked; scripts may add to it."""
        self._document = ""
        self._document_bytes = 0
        self._loader = ""
        self._reached: dict[str, set[str]] = {}
        self._answers: dict[str, PageResponse] = {}
        self._load_errors: dict[str, str] = {}
        self._redirects: dict[str, tuple[int, str]] = {}
        self._is_leaving = False
        self._dialogs = 0
        self._changed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._is_closed = asyncio.Event()
        self._world: tuple[str, int] | None = None
        self._listen()

    def _listen(self) -> None:
        listeners: dict[str, Callable[[CdpMessage], None]] = {
            "Page.lifecycleEvent": self._note_lifecycle,
            "Page.frameStartedNavigating": self._note_leaving,
            "Page.frameRequestedNavigation": self._note_leaving,
            "Page.frameStoppedLoading": self._note_stopped,
            "Page.javascriptDialogOpening": self._close_dialog,
            "Page.windowOpen": self._note_window,
            "Page.downloadWillBegin": self._note_file,
            "Network.requestWillBeSent": self._note_request,
            "Network.dataReceived": self._note_data,
            "Network.responseReceived": self._note_answer,
            "Network.responseReceivedExtraInfo": self._note_redirect,
            "Network.loadingFailed": self._note_load_error,
            "Inspector.targetCrashed": self._note_crash,
        }
        for event, listener in listeners.items():
            self.session.on(event, listener)

    # Events

    def _note_lifecycle(self, event: CdpMessage) -> None:
        if event["frameId"] != self.frame_id:
            return
        if event["name"] == "init":
            self._loader = event["loaderId"]
            self._is_leaving = False
            self._reached = dict(list(self._reached.items())[-_MAX_LOADS_KEPT:])
        self._reached.setdefault(event["loaderId"], set()).add(event["name"])
        self._tell_change()

    def _note_leaving(self, event: CdpMessage) -> None:
        is_within_page = event.get("navigationType") in _WITHIN_PAGE
        if event["frameId"] == self.frame_id and not is_within_page:
            self._is_leaving = True
            self._tell_change()

    def _note_stopped(self, event: CdpMessage) -> None:
        if event["frameId"] == self.frame_id:
            self._is_leaving = False
            self._tell_change()

    def _note_request(self, event: CdpMessage) -> None:
        if event.get("type") != "Document":
            return
        url = event["request"]["url"]
        is_main = event.get("frameId") == self.frame_id
        if is_main:
            self.asked_url = url
            self.pages_asked_for += "redirectResponse" not in event
            self._document, self._document_bytes = event["requestId"], 0
        with suppress(ValueError):  # a document that comes from no server has no storage
            self._note_origin(origin_of(url), is_main=is_main)

    def _note_origin(self, origin: str, *, is_main: bool) -> None:
        if is_main:
            self._main_origin = origin
            self.origins.add(origin)
        is_foreign = origin != self._main_origin
        self.has_foreign_frames |= is_foreign or len(self.origins) > _MAX_LOADS_KEPT

    def _note_answer(self, event: CdpMessage) -> None:
        if event["type"] != "Document" or event.get("frameId") != self.frame_id:
            return
        response = event["response"]
        self._answers = dict(list(self._answers.items())[-_MAX_LOADS_KEPT:])
        self._answers[event["loaderId"]] = PageResponse(
            request_id=event["requestId"],
            url=response["url"],
            status_code=response["status"],
            mime=response["mimeType"],
            headers={name.lower(): value for name, value in response["headers"].items()},
        )

    def _note_data(self, event: CdpMessage) -> None:
        # What a page unpacks to need not show in its tree: NUL bytes, say, are left out of it.
        if event["requestId"] == self._document:
            self._document_bytes += event["dataLength"]
            limit = self.max_document_bytes
            if limit is not None and self._document_bytes > limit:
                self.fail(
                    ContentTooLarge(
                        f"The page is larger than {limit} bytes (setting scrape.max-body-bytes)"
                    )
                )

    def _note_redirect(self, event: CdpMessage) -> None:
        # Of a redirect that the browser will not follow, no other event says where it leads.
        if event["statusCode"] in REDIRECT_STATUSES:
            headers = {name.lower(): value for name, value in event["headers"].items()}
            self._redirects = dict(list(self._redirects.items())[-_MAX_LOADS_KEPT:])
            self._redirects[event["requestId"]] = (
                event["statusCode"],
                headers.get("location", "")[: MAX_URL_LENGTH + 1],
            )

    def _note_load_error(self, event: CdpMessage) -> None:
        # A page's own request has the number of its load.
        if event.get("type") == "Document":
            self._load_errors = dict(list(self._load_errors.items())[-_MAX_LOADS_KEPT:])
            self._load_errors[event["requestId"]] = event["errorText"]
            self._tell_change()

    def _note_window(self, event: CdpMessage) -> None:
        if event.get("userGesture") and len(self.opened_windows) < _MAX_LOADS_KEPT:
            self.opened_windows.append(event["url"])
            self._tell_change()

    def _note_file(self, _: CdpMessage) -> None:
        self.files_met += 1
        self._is_leaving = False
        self._tell_change()

    def _close_dialog(self, event: CdpMessage) -> None:
        self._dialogs += 1
        if self._dialogs > _MAX_DIALOGS:
            self.fail(ScrapeFailed(f"The page opened more than {_MAX_DIALOGS} dialogs"))
        elif self.failure is None:
            # "Leave this page?" has one answer; all else a page may ask has the other.
            accept = event["type"] == "beforeunload"
            self.session.post("Page.handleJavaScriptDialog", accept=accept)

    def _note_crash(self, _: CdpMessage) -> None:
        self.fail(BrowserCrashed("The page crashed the browser's process that showed it"))

    def fail(self, error: CinderError) -> None:
        """End whatever is going on in the tab, with this error."""
        if self.failure is None:
            self.failure = error
            self.session.close(error.message)
            self._tell_change()

    def _tell_change(self) -> None:
        if not self._changed.done():
            self._changed.set_result(None)

    # Waiting

    async def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds that events of the tab bring about.

        Raises:
            ConnectionClosed: the tab is gone.
        """
        while not holds():
            if self.failure is not None:
                raise ConnectionClosed(self.failure.message)
            if self._changed.done():
                self._changed = asyncio.get_running_loop().create_future()
            await self._changed

    def has_reached(self, moment: str) -> bool:
        """Whether the page that the tab shows has come to a moment, such as `load`."""
        return moment in self._reached.get(self._loader, ())

    @property
    def page_id(self) -> str:
        """What tells the page that the tab shows from the one before."""
        return self._loader

    @property
    def is_leaving(self) -> bool:
        """Whether the page is on its way to another one."""
        return self._is_leaving

    @property
    def answer(self) -> PageResponse | None:
        """What the server answered for the page that the tab shows."""
        return self._answers.get(self._loader)

    @property
    def load_error(self) -> str | None:
        """The `net::ERR_…` for which the tab shows the browser's own error page, if it does."""
        return self._load_errors.get(self._loader)

    def note_closed(self) -> None:
        """Take the news that the tab is gone."""
        self._is_closed.set()

    async def wait_closed(self) -> None:
        """Wait until the tab is gone."""
        await self._is_closed.wait()

    # Doing

    async def navigate(self, url: str) -> None:
        """Go to a URL and wait until its page begins to load.

        Raises:
            FileInstead: it is a file.
            NoPage: there is no page to the answer.
            EgressBlocked: it redirects out of the web.
            CinderError: it cannot be loaded.
            ValueError: it is no web URL.
        """
        # A browser would open file: and its own pages as well.
        result = await self.session.send("Page.navigate", url=parse_web_url(url))
        if result.get("isDownload"):
            raise DownloadStarted(url)
        loader, error = result.get("loaderId", ""), result.get("errorText")
        answer = self._answers.get(loader)
        if error and answer is not None and answer.status_code in _NO_PAGE:
            raise NoPage(url=url, answer=answer)
        # An error status without a body is an error of the navigation too, yet an answer.
        if error and (answer is None or answer.status_code < 400):
            redirect_target(url, *self._redirects.get(loader, (0, "")))
            raise error_of_net_code(error, url)
        if loader:
            # Not until it is the page shown: by now its scripts may have gone on to the next.
            await self.wait_until(lambda: "init" in self._reached.get(loader, ()))

    async def evaluate(self, script: str) -> Any:
        """Run a script of ours beside the page and return its value. Any: whatever it returns.

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
        """Return the number of the world beside the page that the tab shows."""
        loader = self._loader
        if self._world is None or self._world[0] != loader:
            world = await self.session.send(
                "Page.createIsolatedWorld", frameId=self.frame_id, worldName=_WORLD
            )
            self._world = (loader, world["executionContextId"])
        return self._world[1]


def read_result(answer: CdpMessage) -> Any:
    """Return the value of an evaluation. Any: whatever the script made.

    Raises:
        ScriptFailed: the script threw.
    """
    if details := answer.get("exceptionDetails"):
        thrown = details.get("exception", {})
        text = thrown.get("description") or str(thrown.get("value") or details.get("text"))
        raise ScriptFailed(text.partition("\n")[0][:500])
    return answer["result"].get("value")

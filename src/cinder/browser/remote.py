"""A remote browser: found and connected to by a URL from the settings, over a WebSocket.

Its own connections leave where it runs, so that they do not pass the egress proxy.
"""

import asyncio
import json
import re
from base64 import b64encode
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import unquote

import can_ada
import structlog
from curl_cffi import CurlECode, CurlError, CurlOpt, CurlWsFlag
from curl_cffi.requests import AsyncSession, AsyncWebSocket, Response
from curl_cffi.requests.websockets import WebSocketClosed
from structlog.typing import FilteringBoundLogger

from cinder.background import BackgroundTasks
from cinder.browser.cdp import CdpConnection, CommandFailed, ConnectionClosed
from cinder.browser.worker import BrowserWorker, BrowserWorkerLimits
from cinder.egress.base import Target
from cinder.egress.credentials import ProxyCredentials
from cinder.egress.proxy import ForwardProxy
from cinder.errors import BrowserCrashed, BrowserUnavailable, CinderError, ContentTooLarge
from cinder.fetch.curl import error_of_curl_code, proxy_only_options
from cinder.fetch.http_client import ClientOptions, ProxiedClient

_log: FilteringBoundLogger = structlog.get_logger()

SETTING = "browser.cdp-url"
SIZE_SETTING = "browser.cdp-max-message-bytes"
_BROKEN = f"The connection to the remote browser (setting {SETTING}) broke"
_FORM = (
    f"{SETTING}: write it as ws://host:port/path or wss://host/path, or as http://host:port or "
    "https://host, whose /json/version names the WebSocket"
)
_SCHEMES = {"ws:": "http:", "wss:": "https:", "http:": "http:", "https:": "https:"}
_VERSION_PATH = "/json/version"
_REFUSED_UPGRADE = re.compile(r"upgrade: *([1-5][0-9]{2})", re.IGNORECASE)
# Each message may have the greatest size.
_RECEIVE_QUEUE = 4
_SEND_QUEUE = 10_000
_CLOSE_SECONDS = 1.0
# A large screenshot delays the responses after it by seconds on a slow network.
_ANSWER_SECONDS = 20
_WATCH_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteUrl:
    """The address of a remote browser, with its secrets; only `origin` may be shown."""

    origin: str
    """Scheme, host and port, as http or https."""
    path: str
    """Path and query."""
    authorization: str | None = None
    is_websocket: bool = True
    """Whether it is the WebSocket itself; else its server names that."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the setting.

        Raises:
            ValueError: it is no URL of a browser; the message does not quote it.
        """
        try:
            parsed = can_ada.parse(text.strip())
        except (ValueError, TypeError):
            raise ValueError(_FORM) from None
        if parsed.protocol not in _SCHEMES or not parsed.hostname or parsed.port == "0":
            raise ValueError(_FORM)
        authorization = None
        if parsed.username:
            pair = f"{unquote(parsed.username)}:{unquote(parsed.password)}"
            authorization = f"Basic {b64encode(pair.encode()).decode()}"
        return cls(
            origin=f"{_SCHEMES[parsed.protocol]}//{parsed.host}",
            path=f"{parsed.pathname}{parsed.search}",
            authorization=authorization,
            is_websocket=parsed.protocol.startswith("ws"),
        )

    @property
    def target(self) -> Target:
        """Its host and port."""
        parsed = can_ada.parse(self.origin)
        default = 443 if parsed.protocol == "https:" else 80
        return Target(parsed.hostname.strip("[]"), int(parsed.port or default))

    @property
    def websocket(self) -> str:
        """The URL of the WebSocket."""
        return f"ws{self.origin.removeprefix('http')}{self.path}"

    @property
    def version_url(self) -> str:
        """The URL that names the WebSocket."""
        path, question_mark, query = self.path.partition("?")
        path = path.rstrip("/").removesuffix(_VERSION_PATH)
        return f"{self.origin}{path}{_VERSION_PATH}{question_mark}{query}"

    @property
    def headers(self) -> dict[str, str]:
        """The headers of its requests."""
        return {} if self.authorization is None else {"Authorization": self.authorization}

    def at_websocket(self, url: str) -> "RemoteUrl":
        """Return the address of a WebSocket that the server named.

        Host and port stay those of the setting: servers name inner addresses, and may not choose
        whom cinder connects to. A query, such as a token, is kept unless the server names one.

        Raises:
            ValueError: it is no WebSocket's URL.
        """
        parsed = can_ada.parse(url)
        if not parsed.protocol.startswith("ws"):
            raise ValueError("not the URL of a WebSocket")
        query = parsed.search or "".join(self.path.partition("?")[1:])
        return replace(self, path=f"{parsed.pathname}{query}", is_websocket=True)


class WebSocketConnection(CdpConnection):
    """A WebSocket to a remote browser."""

    def __init__(self, socket: AsyncWebSocket, opened: AsyncExitStack) -> None:
        super().__init__(ended=_BROKEN)
        self.loss: CinderError = BrowserCrashed(_BROKEN)
        """The error of pages that are not read when it ends."""
        self._socket = socket
        self._opened = opened
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(_SEND_QUEUE)
        self._tasks = BackgroundTasks()

    async def open(self) -> None:
        """Begin to send and receive."""
        await self._tasks.__aenter__()
        self._tasks.start(self._send_all())
        self._tasks.start(self._receive_all())

    @property
    def _can_write(self) -> bool:
        return not self.closed.done()

    def _write(self, message: bytes) -> None:
        try:
            self._unsent.put_nowait(message)
        except asyncio.QueueFull:  # the network has stopped
            self.close()

    async def _send_all(self) -> None:
        with suppress(CurlError):
            while True:
                await self._socket.send(await self._unsent.get(), CurlWsFlag.TEXT)
        self.close()

    async def _receive_all(self) -> None:
        try:
            while True:
                message, flags = await self._socket.recv()
                if flags & CurlWsFlag.CLOSE:
                    break
                self.receive(message)
        except WebSocketClosed:
            pass
        except CurlError as error:
            code = CurlECode(error.code)
            _log.warning("connection to the remote browser broke", reason=code.name.lower())
            if code is CurlECode.TOO_LARGE:
                self.loss = ContentTooLarge(
                    "The remote browser sent more in one message than may be received (setting "
                    f"{SIZE_SETTING})"
                )
        self.close()

    def _disconnect(self) -> None:
        self._tasks.cancel_all()
        self._socket.terminate()

    async def aclose(self) -> None:
        """Close the connection, and wait until it is closed."""
        # What is sent last, such as the end of a context, may still be on its way.
        self._tasks.cancel_all()
        await self._socket.close(timeout=_CLOSE_SECONDS)
        self.close()
        await self._tasks.__aexit__()
        await self._opened.aclose()


@dataclass(frozen=True, slots=True)
class RemoteBrowser:
    """A connection with a remote browser, of which nothing runs here."""

    is_remote: ClassVar[bool] = True
    name: ClassVar[str] = "remote"
    pid: ClassVar[int] = 0
    connection: WebSocketConnection

    @property
    def loss(self) -> CinderError:
        """The error of pages that it leaves unread."""
        return self.connection.loss

    async def private_bytes(self) -> int:
        """Return 0: its memory is not this machine's."""
        return 0

    def kill(self) -> None:
        """Do nothing: the connection is closed by its owner."""

    async def kill_all(self) -> None:
        """Close the connection, which ends the contexts that it made."""
        await self.connection.aclose()

    async def wait_ended(self, timeout_seconds: float) -> bool:  # noqa: ARG002 - nothing runs here
        """Return at once."""
        return True


class RemoteLauncher:
    """Starts workers that share a remote browser, each over a connection of its own."""

    def __init__(
        self,
        url: RemoteUrl,
        proxy: ForwardProxy,
        limits: BrowserWorkerLimits,
        *,
        max_message_bytes: int,
        ca_file: Path | None = None,
    ) -> None:
        self.url = url
        self._proxy = proxy
        self._limits = replace(
            limits,
            max_memory_bytes=None,
            answer_timeout_seconds=_ANSWER_SECONDS,
            watch_interval_seconds=_WATCH_SECONDS,
        )
        self._max_message_bytes = max_message_bytes
        self._ca_file = ca_file

    async def start(self) -> BrowserWorker:
        """Connect to the browser."""
        try:
            async with asyncio.timeout(self._limits.start_timeout_seconds):
                url = self.url if self.url.is_websocket else await self._discover()
                browser = RemoteBrowser(await self._connect(url))
        except TimeoutError:
            raise self._failure("it did not answer in time") from None
        except CinderError as error:
            raise self._failure(error.message) from error
        worker = BrowserWorker(browser, self._proxy, self._limits)
        try:
            await worker.open()
        except (ConnectionClosed, CommandFailed, TimeoutError, KeyError) as error:
            await worker.kill()
            raise self._failure("it does not speak the DevTools protocol") from error
        except BaseException:
            await worker.kill()
            raise
        _log.info("remote browser connected", browser=self.url.origin)
        return worker

    async def close(self, worker: BrowserWorker) -> None:
        """Disconnect from the browser."""
        await worker.close()

    def _failure(self, reason: str) -> BrowserUnavailable:
        # The address is the owner's: callers get to know the setting only.
        _log.warning("remote browser not connected", browser=self.url.origin, reason=reason)
        reason = f"{reason[:1].lower()}{reason[1:]}".rstrip(".")
        return BrowserUnavailable(
            f"The remote browser (setting {SETTING}) cannot be used: {reason}. `cinder doctor` "
            "tries it again."
        )

    async def _discover(self) -> RemoteUrl:
        """Ask the server for the address of the WebSocket."""
        options = ClientOptions(
            max_concurrency=1, timeout_seconds=self._limits.start_timeout_seconds
        )
        homes, ca_file = [self.url.origin], self._ca_file
        async with ProxiedClient(self._proxy, options, homes=homes, ca_file=ca_file) as client:
            response = await client.get(self.url.version_url, self.url.headers)
        if response.status != 200:
            raise BrowserUnavailable(f"{_VERSION_PATH} answers HTTP {response.status}")
        try:
            return self.url.at_websocket(str(json.loads(response.body)["webSocketDebuggerUrl"]))
        except (ValueError, TypeError, KeyError) as error:
            raise BrowserUnavailable(f"{_VERSION_PATH} names no WebSocket") from error

    async def _connect(self, url: RemoteUrl) -> WebSocketConnection:
        async with AsyncExitStack() as opened:
            credentials = opened.enter_context(
                self._proxy.issue_credentials(also_allowed=frozenset((url.target,)))
            )
            session: AsyncSession[Response] = AsyncSession(trust_env=False)
            opened.push_async_callback(session.close)
            # Any: curl takes numbers too, and the declared type has texts only.
            options: dict[CurlOpt, Any] = dict(proxy_only_options(self._ca_file))
            options[CurlOpt.PROTOCOLS_STR] = "ws,wss"
            try:
                socket = await session.ws_connect(
                    url.websocket,
                    headers=url.headers,
                    proxy=self._proxy.url,
                    proxy_auth=credentials.credentials,
                    allow_redirects=False,
                    timeout=self._limits.start_timeout_seconds,
                    quote=False,
                    http_version="v1",
                    recv_queue_size=_RECEIVE_QUEUE,
                    max_message_size=self._max_message_bytes,
                    curl_options=options,
                )
            except CurlError as error:
                raise _connect_error(error, credentials, url) from error
            connection = WebSocketConnection(socket, opened.pop_all())
        await connection.open()
        return connection


def _connect_error(error: CurlError, credentials: ProxyCredentials, url: RemoteUrl) -> CinderError:
    if refusal := credentials.refusal_for(url.target.host, url.target.port):
        return refusal.to_error_without_address()
    if status := _REFUSED_UPGRADE.search(str(error)):
        return BrowserUnavailable(f"it answers HTTP {status[1]} instead of a WebSocket")
    code = CurlECode(error.code)
    failure, sentence = error_of_curl_code(code)
    return failure(f"{sentence} ({code.name.lower()})")

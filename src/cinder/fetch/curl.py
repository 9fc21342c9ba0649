"""Curl requests on reused handles, curl's error codes, and the options that enforce the proxy."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Self

from curl_cffi import (
    AsyncCurl,
    Curl,
    CurlECode,
    CurlError,
    CurlHttpVersion,
    CurlInfo,
    CurlMOpt,
    CurlOpt,
    ffi,
    lib,
)
from curl_cffi.requests.headers import Headers
from curl_cffi.requests.impersonate import resolve_latest_browser_type

from cinder.errors import CinderError, ConnectionFailed, ScrapeFailed, ScrapeTimeout, TlsFailed


def proxy_only_options(ca_file: Path | None) -> dict[CurlOpt, str | int]:
    """Return the options that prevent curl from bypassing the proxy."""
    options: dict[CurlOpt, str | int] = {
        # Plain http uses a tunnel like https: refusals are of one kind, connections are kept, and
        # curl cannot request an IPv6 address any other way.
        CurlOpt.HTTPPROXYTUNNEL: 1,
        CurlOpt.NOPROXY: "",  # else NO_PROXY in the environment bypasses the proxy
        CurlOpt.PROTOCOLS_STR: "http,https",  # else curl reads file:
    }
    if ca_file is not None:
        options[CurlOpt.CAINFO] = str(ca_file)
    return options


Failure = tuple[type[CinderError], str]

_TIMED_OUT: Failure = (ScrapeTimeout, "The server did not answer in time")
_NO_CONNECTION: Failure = (ConnectionFailed, "The connection could not be made")
_BROKEN_OFF: Failure = (ConnectionFailed, "The connection broke before the answer was whole")
_BAD_TLS: Failure = (TlsFailed, "No secure connection could be made: the TLS handshake failed")
_BAD_CERTIFICATE: Failure = (ScrapeFailed, "The server's certificate could not be verified")
_BAD_ANSWER: Failure = (ScrapeFailed, "The server's answer is not valid HTTP")
_BAD_ENCODING: Failure = (ScrapeFailed, "The server's answer could not be decompressed")
_OTHER: Failure = (ScrapeFailed, "The page could not be fetched")

_FAILURES: dict[CurlECode, Failure] = {
    CurlECode.OPERATION_TIMEDOUT: _TIMED_OUT,
    CurlECode.COULDNT_RESOLVE_PROXY: _NO_CONNECTION,
    CurlECode.COULDNT_RESOLVE_HOST: _NO_CONNECTION,
    CurlECode.COULDNT_CONNECT: _NO_CONNECTION,
    CurlECode.NO_CONNECTION_AVAILABLE: _NO_CONNECTION,
    CurlECode.PROXY: _NO_CONNECTION,
    CurlECode.QUIC_CONNECT_ERROR: _NO_CONNECTION,
    CurlECode.GOT_NOTHING: _BROKEN_OFF,
    CurlECode.HTTP2: _BROKEN_OFF,
    CurlECode.HTTP2_STREAM: _BROKEN_OFF,
    CurlECode.HTTP3: _BROKEN_OFF,
    CurlECode.PARTIAL_FILE: _BROKEN_OFF,
    CurlECode.RECV_ERROR: _BROKEN_OFF,
    CurlECode.SEND_ERROR: _BROKEN_OFF,
    CurlECode.ECH_REQUIRED: _BAD_TLS,
    CurlECode.SSL_CIPHER: _BAD_TLS,
    CurlECode.SSL_CONNECT_ERROR: _BAD_TLS,
    CurlECode.SSL_SHUTDOWN_FAILED: _BAD_TLS,
    CurlECode.USE_SSL_FAILED: _BAD_TLS,
    CurlECode.PEER_FAILED_VERIFICATION: _BAD_CERTIFICATE,
    CurlECode.SSL_CACERT_BADFILE: _BAD_CERTIFICATE,
    CurlECode.SSL_INVALIDCERTSTATUS: _BAD_CERTIFICATE,
    CurlECode.SSL_ISSUER_ERROR: _BAD_CERTIFICATE,
    CurlECode.SSL_PINNEDPUBKEYNOTMATCH: _BAD_CERTIFICATE,
    CurlECode.TOO_LARGE: _BAD_ANSWER,
    CurlECode.WEIRD_SERVER_REPLY: _BAD_ANSWER,
    CurlECode.UNSUPPORTED_PROTOCOL: _BAD_ANSWER,
    CurlECode.BAD_CONTENT_ENCODING: _BAD_ENCODING,
    # Bytes follow the compressed data; a full body is checked before.
    CurlECode.WRITE_ERROR: _BAD_ENCODING,
}


def error_of_curl_code(code: CurlECode) -> Failure:
    """Return the error class and message for a curl code."""
    return _FAILURES.get(code, _OTHER)


@dataclass(frozen=True, slots=True)
class CurlResponse:
    """A server's response without its body."""

    status: int
    headers: Headers
    packed_bytes: int = 0
    """The size of the body before curl decompressed it."""
    packed_end: bytes = b""
    """The last bytes of the compressed body, including chunk framing."""


class CurlFailed(Exception):
    """The response is missing or incomplete; `response` is the part that arrived."""

    def __init__(self, error: CurlError, response: CurlResponse) -> None:
        super().__init__(str(error))
        self.code = CurlECode(error.code)
        self.response = response


class BoundedBody:
    """Collects a body as it arrives, decompressed, up to a limit."""

    def __init__(self, max_bytes: int) -> None:
        self.data = bytearray()
        self.is_full = False
        self._max_bytes = max_bytes

    def write(self, chunk: bytes) -> int:
        """Add a chunk, as curl's write callback; stop curl at the limit."""
        left = self._max_bytes - len(self.data)
        self.data += chunk[:left]
        self.is_full = len(chunk) > left
        return _STOP_WRITING if self.is_full else len(chunk)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurlSetup:
    """The options that all requests have in common."""

    impersonate: str
    """The browser whose fingerprint and headers curl uses."""
    proxy: str
    options: Mapping[CurlOpt, str | int]
    max_connections: int
    """How many idle connections may stay open."""


# The write callback returns this to make curl stop.
_STOP_WRITING = 0xFFFFFFFF
# CURLINFO_DATA_IN: curl's debug callback gets a piece of the body, before it is decompressed.
_DATA_IN = 3
_END_BYTES = 128


class _Received:
    """The head of a response, and the end of its body before it is decompressed."""

    def __init__(self) -> None:
        self.head = BytesIO()
        self.end = b""

    def on_debug(self, kind: int, data: bytes) -> None:
        if kind == _DATA_IN:
            self.end = (self.end + data[-_END_BYTES:])[-_END_BYTES:]


class _HandleKind(NamedTuple):
    """Requests of different kinds cannot share a handle."""

    is_tls: bool
    encodings: str | None


class CurlRequests:
    """Sends requests, any number at once; cookies are neither kept nor sent.

    curl_cffi's own session sets about thirty options on a handle for each request, which takes as
    long as curl's own work. Here handles are set up once and reused.
    """

    def __init__(self, setup: CurlSetup) -> None:
        self._setup = setup
        self._idle: defaultdict[_HandleKind, list[Curl]] = defaultdict(list)
        self._multi: AsyncCurl | None = None

    async def __aenter__(self) -> Self:
        self._multi = AsyncCurl()
        # Else curl keeps four connections for each running request. The library's own setter passes
        # curl the address of the number, which curl ignores.
        number = ffi.cast("void *", self._setup.max_connections)
        lib.curl_multi_setopt(self._multi._curlm, CurlMOpt.MAXCONNECTS, number)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._multi is not None:
            await self._multi.close()  # type: ignore[no-untyped-call]  # it has no types
            self._multi = None
        for handles in self._idle.values():
            while handles:
                handles.pop().close()

    async def get(
        self,
        url: str,
        headers: Sequence[tuple[str, str]],
        *,
        proxy_auth: tuple[str, str],
        timeout_seconds: float,
        write: Callable[[bytes], int],
        encodings: str | None,
    ) -> CurlResponse:
        """Request a page, whose canonical URL is sent unchanged.

        `write` is called with each piece of the body, and returns how many bytes it accepts. curl
        decompresses the body if it has one of the `encodings`. Connections are reused only with the
        same credentials of the proxy.

        Raises:
            CurlFailed: the response is missing or incomplete.
        """
        multi = self._multi
        if multi is None:
            raise RuntimeError("the requests are not open")
        kind = _HandleKind(url.startswith("https:"), encodings)
        idle = self._idle[kind]
        curl = idle.pop() if idle else self._make_handle(kind)
        is_done = False
        try:
            received = _Received()
            curl.setopt(CurlOpt.URL, url)
            curl.setopt(CurlOpt.PROXYUSERNAME, proxy_auth[0])
            curl.setopt(CurlOpt.PROXYPASSWORD, proxy_auth[1])
            curl.setopt(CurlOpt.TIMEOUT_MS, int(timeout_seconds * 1000))
            # curl removes a header that is written as a colon without a value.
            lines = [f"{name}: {value}" if value else f"{name};" for name, value in headers]
            curl.setopt(CurlOpt.HTTPHEADER, [line.encode() for line in lines])
            curl.setopt(CurlOpt.WRITEFUNCTION, write)
            curl.setopt(CurlOpt.HEADERDATA, received.head)
            if encodings is not None:
                # curl does not report compressed data that ends early: the last bytes show it.
                curl.setopt(CurlOpt.DEBUGFUNCTION, received.on_debug)
                curl.setopt(CurlOpt.VERBOSE, 1)
            try:
                await multi.add_handle(curl)
            except CurlError as error:
                raise CurlFailed(error, _read_response(curl, received)) from error
            response = _read_response(curl, received)
            is_done = True
            return response
        finally:
            # Else curl would call back into freed objects when it ends the transfer.
            curl.setopt(CurlOpt.VERBOSE, 0)
            curl.clean_handles_and_buffers()
            if is_done and self._multi is multi:
                idle.append(curl)
            else:
                # A handle that failed is not reused.
                if self._multi is multi:
                    multi.remove_handle(curl)
                curl.close()

    def _make_handle(self, kind: _HandleKind) -> Curl:
        setup, curl = self._setup, Curl()
        curl.setopt(CurlOpt.PROXY_CREDENTIAL_NO_REUSE, 1)
        curl.setopt(CurlOpt.PROXY, setup.proxy)
        curl.setopt(CurlOpt.FOLLOWLOCATION, 0)
        if kind.encodings is not None:
            curl.setopt(CurlOpt.ACCEPT_ENCODING, kind.encodings)
        if not kind.is_tls:
            # On plain http curl would offer an upgrade to h2c, which some servers cannot handle.
            curl.setopt(CurlOpt.HTTP_VERSION, CurlHttpVersion.V1_1)
        browser = resolve_latest_browser_type(setup.impersonate)  # type: ignore[no-untyped-call]  # as above
        if curl.impersonate(browser) != 0:
            raise ValueError(f"curl cannot impersonate {setup.impersonate!r}")
        for option, value in setup.options.items():
            curl.setopt(option, value)
        return curl


def _read_response(curl: Curl, received: _Received) -> CurlResponse:
    lines: list[bytes] = []
    for line in received.head.getvalue().splitlines():
        if line.startswith(b"HTTP/"):
            lines = []  # the lines before belong to the proxy or to an interim response
        elif line[:1] in (b" ", b"\t") and lines:
            lines[-1] += line
        elif line.strip():
            lines.append(line)
    status = curl.getinfo(CurlInfo.RESPONSE_CODE)
    size = curl.getinfo(CurlInfo.SIZE_DOWNLOAD_T)
    assert isinstance(status, int)  # noqa: S101 - curl's type for this value
    assert isinstance(size, int)  # noqa: S101 - the same
    return CurlResponse(status, Headers(lines), size, received.end)

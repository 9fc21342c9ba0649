"""Curl requests on reused handles, curl's error codes, and the options that enforce the proxy.

The session that comes with curl_cffi sets a handle up anew for each request, with some thirty
options: a crawl spent as much on that as on what curl itself does.
"""

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

from cinder.errors import CinderError, ConnectionFailed, ScrapeFailed, ScrapeTimeout


def proxy_only_options(ca_file: Path | None) -> dict[CurlOpt, str | int]:
    """Return the options without which curl would find ways round the proxy."""
    options: dict[CurlOpt, str | int] = {
        # Plain http goes through a tunnel like https: one kind of refusal, connections that
        # are kept, and curl cannot send a request for an IPv6 address any other way.
        CurlOpt.HTTPPROXYTUNNEL: 1,
        CurlOpt.NOPROXY: "",  # else NO_PROXY in the environment opens a way round
        CurlOpt.PROTOCOLS_STR: "http,https",  # else curl reads file:
    }
    if ca_file is not None:
        options[CurlOpt.CAINFO] = str(ca_file)
    return options


Failure = tuple[type[CinderError], str]

_TIMED_OUT: Failure = (ScrapeTimeout, "The server did not answer in time")
_NO_CONNECTION: Failure = (ConnectionFailed, "The connection could not be made")
_BROKEN_OFF: Failure = (ConnectionFailed, "The connection broke before the answer was whole")
_BAD_TLS: Failure = (ScrapeFailed, "No secure connection could be made: the TLS handshake failed")
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
    # Of bytes that follow the end of what was packed; a body that is full is told before.
    CurlECode.WRITE_ERROR: _BAD_ENCODING,
}


def error_of_curl_code(code: CurlECode) -> Failure:
    """Return the error that a curl code stands for, and a sentence that says it."""
    return _FAILURES.get(code, _OTHER)


@dataclass(frozen=True, slots=True)
class CurlResponse:
    """What a server answered, but for the body."""

    status: int
    headers: Headers
    packed_bytes: int = 0
    """How long the body was as it came, before curl unpacked it."""
    packed_end: bytes = b""
    """Its last bytes as they came, with the marks of chunks among them."""


class CurlFailed(Exception):
    """No whole answer came."""

    def __init__(self, error: CurlError, answer: CurlResponse) -> None:
        """Take curl's word, and what had come by then."""
        super().__init__(str(error))
        self.code = CurlECode(error.code)
        self.answer = answer


@dataclass(frozen=True, slots=True, kw_only=True)
class CurlSetup:
    """What all requests have in common."""

    impersonate: str
    """The browser whose fingerprint and headers curl takes on."""
    proxy: str
    proxy_auth: tuple[str, str]
    options: Mapping[CurlOpt, str | int]
    max_connections: int
    """How many idle connections may stay open."""


# CURLINFO_DATA_IN: what curl's debug callback calls a piece of the body, before it is unpacked.
_DATA_IN = 3
_END_BYTES = 128


class _Received:
    """What of an answer is kept beside its unpacked body."""

    def __init__(self) -> None:
        self.head = BytesIO()
        self.end = b""

    def note(self, kind: int, data: bytes) -> None:
        """Take what curl's debug callback is called with."""
        if kind == _DATA_IN:
            self.end = (self.end + data[-_END_BYTES:])[-_END_BYTES:]


class _HandleKind(NamedTuple):
    """What tells handles apart that cannot be used for each other's requests."""

    is_tls: bool
    unpacked: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CurlRequest:
    """A request without a body."""

    url: str
    """Taken as it is: it must be canonical."""
    headers: Sequence[tuple[str, str]]
    timeout_seconds: float
    write: Callable[[bytes], int]
    """Takes each piece of the body; returns how much of it was taken."""
    unpacked: str | None
    """The encodings that curl is to unpack; None for a body as it comes."""


class CurlRequests:
    """Sends requests, any number at once; cookies are neither kept nor sent."""

    def __init__(self, setup: CurlSetup) -> None:
        self._setup = setup
        self._idle: defaultdict[_HandleKind, list[Curl]] = defaultdict(list)
        self._multi: AsyncCurl | None = None

    async def __aenter__(self) -> Self:
        self._multi = AsyncCurl()
        # Else curl keeps four connections for each request under way. The library's own way to set
        # it hands curl the address of the number, which curl ignores.
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

    async def get(self, request: CurlRequest) -> CurlResponse:
        """Ask for a page.

        Raises:
            CurlFailed: no whole answer came.
        """
        multi = self._multi
        if multi is None:
            raise RuntimeError("the requests are not open")
        kind = _HandleKind(request.url.startswith("https:"), request.unpacked)
        idle = self._idle[kind]
        curl = idle.pop() if idle else self._set_up(kind)
        is_done = False
        try:
            received = _prepare(curl, request)
            try:
                await multi.add_handle(curl)
            except CurlError as error:
                raise CurlFailed(error, _read_response(curl, received)) from error
            answer = _read_response(curl, received)
            is_done = True
            return answer
        finally:
            # Else curl would call back into what is freed here as it lets go of the transfer.
            curl.setopt(CurlOpt.VERBOSE, 0)
            curl.clean_handles_and_buffers()
            if is_done and self._multi is multi:
                idle.append(curl)
            else:
                # Whatever went wrong, the next request is not to inherit it.
                if self._multi is multi:
                    multi.remove_handle(curl)
                curl.close()

    def _set_up(self, kind: _HandleKind) -> Curl:
        setup, curl = self._setup, Curl()
        user, password = setup.proxy_auth
        curl.setopt(CurlOpt.PROXY_CREDENTIAL_NO_REUSE, 1)
        curl.setopt(CurlOpt.PROXY, setup.proxy)
        curl.setopt(CurlOpt.PROXYUSERNAME, user)
        curl.setopt(CurlOpt.PROXYPASSWORD, password)
        curl.setopt(CurlOpt.FOLLOWLOCATION, 0)
        if kind.unpacked is not None:
            curl.setopt(CurlOpt.ACCEPT_ENCODING, kind.unpacked)
        if not kind.is_tls:
            # On plain http curl would offer an upgrade to h2c that some servers choke on.
            curl.setopt(CurlOpt.HTTP_VERSION, CurlHttpVersion.V1_1)
        browser = resolve_latest_browser_type(setup.impersonate)  # type: ignore[no-untyped-call]  # as above
        if curl.impersonate(browser) != 0:
            raise ValueError(f"curl cannot take on the guise of {setup.impersonate!r}")
        for option, value in setup.options.items():
            curl.setopt(option, value)
        return curl


def _prepare(curl: Curl, request: CurlRequest) -> _Received:
    """Set what is this request's own; return where all of its answer but the body will be."""
    received = _Received()
    curl.setopt(CurlOpt.URL, request.url)
    curl.setopt(CurlOpt.TIMEOUT_MS, int(request.timeout_seconds * 1000))
    curl.setopt(CurlOpt.HTTPHEADER, [_line(name, value) for name, value in request.headers])
    curl.setopt(CurlOpt.WRITEFUNCTION, request.write)
    curl.setopt(CurlOpt.HEADERDATA, received.head)
    if request.unpacked is not None:
        # curl takes what it unpacked for whole wherever it ends: only the bytes that came tell.
        curl.setopt(CurlOpt.DEBUGFUNCTION, received.note)
        curl.setopt(CurlOpt.VERBOSE, 1)
    return received


def _line(name: str, value: str) -> bytes:
    # A colon with nothing behind it would take the header out.
    return (f"{name}: {value}" if value else f"{name};").encode()


def _read_response(curl: Curl, received: _Received) -> CurlResponse:
    lines: list[bytes] = []
    for line in received.head.getvalue().splitlines():
        if line.startswith(b"HTTP/"):
            lines = []  # those before were the proxy's, or told to wait
        elif line[:1] in (b" ", b"\t") and lines:
            lines[-1] += line
        elif line.strip():
            lines.append(line)
    status = curl.getinfo(CurlInfo.RESPONSE_CODE)
    size = curl.getinfo(CurlInfo.SIZE_DOWNLOAD_T)
    assert isinstance(status, int)  # noqa: S101 - it is what curl has for this
    assert isinstance(size, int)  # noqa: S101 - the same
    return CurlResponse(status, Headers(lines), size, received.end)

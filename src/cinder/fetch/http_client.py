"""The HTTP client for servers that an owner or a caller named, through the egress proxy.

Webhooks and search leave through it. Pages are fetched by engines instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from curl_cffi import CurlECode
from curl_cffi.requests import AsyncSession, Response
from curl_cffi.requests.exceptions import RequestException

from cinder.egress import ForwardProxy, ProxyCredentials, Target
from cinder.errors import CinderError
from cinder.fetch.curl import error_of_curl_code, proxy_only_options
from cinder.fetch.redirects import redirect_target
from cinder.models.http import HttpResponse
from cinder.models.url import host_and_port, origin_of

# What a write callback returns to make curl give up.
_STOP_WRITING = 0xFFFFFFFF
_UNPACKED = "gzip, deflate, br"
_MAX_REDIRECTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """How much a client may take, and what it looks like."""

    max_concurrency: int
    timeout_seconds: float
    max_body_bytes: int = 64 * 1024
    """What is kept of an answer's body; the rest is not read."""
    accepts_packed: bool = False
    """Whether answers may come compressed; who only wants the status spares itself the risk."""
    impersonate: str | None = None
    """The browser to look like; without one it goes under its own name."""


class ProxiedClient:
    """Asks and tells with curl, under its own name or in a browser's guise.

    It may also reach the addresses of its `homes`, URLs that the owner wrote, if they are private.
    """

    def __init__(
        self,
        proxy: ForwardProxy,
        options: ClientOptions,
        *,
        homes: Iterable[str] = (),
        ca_file: Path | None = None,
    ) -> None:
        self._proxy = proxy
        self._options = options
        self._homes = frozenset(Target(*host_and_port(url)) for url in homes)
        self._ca_file = ca_file
        self._session: AsyncSession[Response] | None = None
        self._pass: ProxyCredentials | None = None

    async def __aenter__(self) -> Self:
        # No limit of its own: curl keeps connections open, and each of them has a place.
        self._pass = self._proxy.issue_credentials(max_connections=None, also_allowed=self._homes)
        self._session = AsyncSession(
            proxy=self._proxy.url,
            proxy_auth=self._pass.credentials,
            impersonate=self._options.impersonate,
            allow_redirects=False,
            max_clients=self._options.max_concurrency,
            timeout=self._options.timeout_seconds,
            trust_env=False,
            curl_options=proxy_only_options(self._ca_file),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._pass is not None:
            self._pass.revoke()

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Ask for a canonical URL; return the answer, whatever its status.

        Redirects are followed within the URL's origin only; one that leads elsewhere is the answer.

        Raises:
            EgressBlocked: the address policy refuses the server.
            CinderError: no answer came; the message says why, and nothing of the URL: who may
                know it is for the one who asks to say.
        """
        origin = origin_of(url)
        for _ in range(_MAX_REDIRECTS):
            answer = await self._ask("GET", url, headers)
            target = _place_after(url, answer)
            if target is None or origin_of(target) != origin:
                return answer
            url = target
        return await self._ask("GET", url, headers)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Post a body to a canonical URL; return the answer, whatever its status.

        Redirects are not followed: a receiver is who its owner named.

        Raises:
            EgressBlocked: the address policy refuses the receiver.
            CinderError: no answer came; the message says why, and nothing of the URL: who may
                know it is for the one who asks to say.
        """
        return await self._ask("POST", url, headers, body)

    async def _ask(
        self,
        method: Literal["GET", "POST"],
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> HttpResponse:
        if self._session is None:
            raise RuntimeError("the client is not open")
        received = _BoundedBody(self._options.max_body_bytes)
        try:
            response = await self._session.request(
                method,
                url,
                data=body,
                headers=dict(headers),
                content_callback=received.write,
                accept_encoding=_UNPACKED if self._options.accepts_packed else None,
                discard_cookies=True,
                http_version="v1" if url.startswith("http:") else None,
                quote=False,
            )
        except RequestException as error:
            if (begun := _answer_before(error, received)) is None:
                raise self._translate(error, url) from error
            return begun
        return _answer(response, received)

    def _translate(self, error: RequestException, url: str) -> CinderError:
        code = CurlECode(error.code)
        # With this code no tunnel came about, and only then may the proxy's word be the reason.
        if code is CurlECode.COULDNT_CONNECT and self._pass is not None:
            refusal = self._pass.refusal_for(*host_and_port(url))
            if refusal is not None:
                return refusal.to_error_without_address()
        failure, sentence = error_of_curl_code(code)
        return failure(f"{sentence} ({code.name.lower()})")


def _place_after(url: str, answer: HttpResponse) -> str | None:
    try:
        return redirect_target(url, answer.status, answer.headers.get("location"))
    except CinderError:
        # It leads nowhere; what it says of that has the whole URL in it.
        return None


class _BoundedBody:
    """Keeps a body as it arrives, unpacked, up to a limit."""

    def __init__(self, max_bytes: int) -> None:
        self.data = bytearray()
        self._max_bytes = max_bytes

    def write(self, chunk: bytes) -> int:
        left = self._max_bytes - len(self.data)
        self.data += chunk[:left]
        return len(chunk) if len(chunk) <= left else _STOP_WRITING


def _answer_before(error: RequestException, received: _BoundedBody) -> HttpResponse | None:
    """Return what came of an answer whose body was too long, too slow or broken off.

    Only where some of the body came: before that, the status may be the proxy's own.
    """
    response: Response | None = error.response
    if response is None or not received.data:
        return None
    return _answer(response, received, is_cut=True)


def _answer(response: Response, received: _BoundedBody, *, is_cut: bool = False) -> HttpResponse:
    headers = {name.lower(): value or "" for name, value in response.headers.items()}
    return HttpResponse(
        status=response.status_code, headers=headers, body=bytes(received.data), is_cut=is_cut
    )

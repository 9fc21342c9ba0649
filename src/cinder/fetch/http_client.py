"""The HTTP client of webhooks, search and language models, through the egress proxy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from curl_cffi import CurlECode
from curl_cffi.requests import AsyncSession, Response
from curl_cffi.requests.exceptions import RequestException

from cinder.egress.base import Target
from cinder.egress.credentials import ProxyCredentials
from cinder.egress.proxy import ForwardProxy
from cinder.errors import CinderError
from cinder.fetch.curl import BoundedBody, error_of_curl_code, proxy_only_options
from cinder.fetch.responses import redirect_target
from cinder.models.http import HttpResponse
from cinder.models.url import host_and_port, origin_of

_ENCODINGS = "gzip, deflate, br"
_MAX_REDIRECTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """The limits of a client, and the browser that it impersonates."""

    max_concurrency: int
    timeout_seconds: float
    max_body_bytes: int = 64 * 1024
    """How much of a response's body is read."""
    accepts_packed: bool = False
    """Whether responses may be compressed; clients that need only the status avoid the risk."""
    impersonate: str | None = None
    """The browser to impersonate; None for curl's own name."""


class ProxiedClient:
    """Sends requests with curl through the egress proxy.

    It may also reach the addresses of its `homes`, URLs from the settings, if they are private.
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
        self._credentials: ProxyCredentials | None = None

    async def __aenter__(self) -> Self:
        # No limit of its own: curl keeps idle connections open, and each of them uses a slot.
        self._credentials = self._proxy.issue_credentials(
            max_connections=None, also_allowed=self._homes
        )
        self._session = AsyncSession(
            proxy=self._proxy.url,
            proxy_auth=self._credentials.credentials,
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
        if self._credentials is not None:
            self._credentials.revoke()

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpResponse:
        """Request a canonical URL; return the response, whatever its status.

        Redirects are followed within the URL's origin only; others are returned.

        Raises:
            EgressBlocked: the address policy refuses the server.
            CinderError: there was no response; the message does not contain the URL, which not
                every caller may know.
        """
        origin = origin_of(url)
        for _ in range(_MAX_REDIRECTS):
            response = await self._request("GET", url, headers)
            try:
                target = redirect_target(url, response.status, response.headers.get("location"))
            except CinderError:  # an invalid target; the error's message contains the whole URL
                return response
            if target is None or origin_of(target) != origin:
                return response
            url = target
        return await self._request("GET", url, headers)

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Post a body to a canonical URL; return the response, whatever its status.

        Redirects are not followed: only the named receiver gets the body.

        Raises:
            EgressBlocked: the address policy refuses the receiver.
            CinderError: there was no response; the message does not contain the URL, which not
                every caller may know.
        """
        return await self._request("POST", url, headers, body)

    async def _request(
        self,
        method: Literal["GET", "POST"],
        url: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
    ) -> HttpResponse:
        if self._session is None:
            raise RuntimeError("the client is not open")
        received = BoundedBody(self._options.max_body_bytes)
        try:
            response = await self._session.request(
                method,
                url,
                data=body,
                headers=dict(headers),
                content_callback=received.write,
                accept_encoding=_ENCODINGS if self._options.accepts_packed else None,
                discard_cookies=True,
                http_version="v1" if url.startswith("http:") else None,
                quote=False,
            )
        except RequestException as error:
            # A body that was too long, too slow or broken off is returned as far as it came.
            # Without any of the body, the status may be the proxy's own.
            if error.response is not None and received.data:
                return _to_http_response(error.response, received, is_cut=True)
            code = CurlECode(error.code)
            # Only this code means that there was no tunnel, so that the proxy refused it.
            if code is CurlECode.COULDNT_CONNECT and self._credentials is not None:
                refusal = self._credentials.refusal_for(*host_and_port(url))
                if refusal is not None:
                    raise refusal.to_error_without_address() from error
            failure, sentence = error_of_curl_code(code)
            raise failure(f"{sentence} ({code.name.lower()})") from error
        return _to_http_response(response, received)


def _to_http_response(
    response: Response, received: BoundedBody, *, is_cut: bool = False
) -> HttpResponse:
    headers = {name.lower(): value or "" for name, value in response.headers.items()}
    return HttpResponse(
        status=response.status_code, headers=headers, body=bytes(received.data), is_cut=is_cut
    )

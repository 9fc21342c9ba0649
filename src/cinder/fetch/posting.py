"""Posting: sends a message to a receiver through the egress proxy, and reads how it is answered."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from curl_cffi import CurlECode
from curl_cffi.requests import AsyncSession, Response
from curl_cffi.requests.exceptions import RequestException

from cinder.egress import ForwardProxy, ProxyPass
from cinder.errors import CinderError
from cinder.fetch.curl_errors import kind_of_failure
from cinder.fetch.tunnel_options import tunnel_options
from cinder.model.url import host_and_port

# What a write callback returns to make curl give up.
_STOP_WRITING = 0xFFFFFFFF
_MAX_ANSWER_BYTES = 64 * 1024


class Poster:
    """Posts with curl, under its own name, to wherever the proxy lets it."""

    def __init__(
        self,
        proxy: ForwardProxy,
        *,
        max_concurrency: int,
        timeout_seconds: float,
        ca_file: Path | None = None,
    ) -> None:
        self._proxy = proxy
        self._max_concurrency = max_concurrency
        self._timeout_seconds = timeout_seconds
        self._ca_file = ca_file
        self._session: AsyncSession[Response] | None = None
        self._pass: ProxyPass | None = None

    async def __aenter__(self) -> Self:
        # No limit of its own: curl keeps connections open, and each of them has a place.
        self._pass = self._proxy.issue_pass(max_connections=None)
        self._session = AsyncSession(
            proxy=self._proxy.url,
            proxy_auth=self._pass.credentials,
            allow_redirects=False,
            max_clients=self._max_concurrency,
            timeout=self._timeout_seconds,
            trust_env=False,
            curl_options=tunnel_options(self._ca_file),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()
        if self._pass is not None:
            self._pass.revoke()

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Post a body to a canonical URL; return the status of the answer, whatever it is.

        Redirects are not followed: a receiver is who its owner named.

        Raises:
            EgressBlocked: the address policy refuses the receiver.
            CinderError: no answer came; the message says why and has no more of the URL than
                its host.
        """
        answer = _IgnoredBody()
        try:
            response = await self._send(url, body, headers, answer)
        except RequestException as error:
            if (status := _status_before(error, answer)) is None:
                raise self._translate(error, url) from error
            return status
        return response.status_code

    async def _send(
        self, url: str, body: bytes, headers: Mapping[str, str], answer: "_IgnoredBody"
    ) -> Response:
        if self._session is None:
            raise RuntimeError("the poster is not open")
        return await self._session.request(
            "POST",
            url,
            data=body,
            headers=dict(headers),
            content_callback=answer.write,
            accept_encoding=None,
            discard_cookies=True,
            http_version="v1" if url.startswith("http:") else None,
            quote=False,
        )

    def _translate(self, error: RequestException, url: str) -> CinderError:
        code = CurlECode(error.code)
        # With this code no tunnel came about, and only then may the proxy's word be the reason.
        if code is CurlECode.COULDNT_CONNECT and self._pass is not None:
            refusal = self._pass.refusal_for(*host_and_port(url))
            if refusal is not None:
                return refusal.to_error(url)
        failure, sentence = kind_of_failure(code)
        return failure(f"{sentence} ({code.name.lower()})", url=url)


class _IgnoredBody:
    """Lets a body go by, up to a limit."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, chunk: bytes) -> int:
        self.size += len(chunk)
        return len(chunk) if self.size <= _MAX_ANSWER_BYTES else _STOP_WRITING


def _status_before(error: RequestException, answer: _IgnoredBody) -> int | None:
    """Return the status of an answer whose body was too long, too slow or broken off.

    Only where some of the body came: before that, the status may be the proxy's own.
    """
    response: Response | None = error.response
    return response.status_code if response is not None and answer.size else None

"""The static engine: fetches pages with curl and a browser's TLS fingerprint.

curl decompresses only the first member of a gzip body, and does not notice when one ends early:
both are handled here.
"""

import asyncio
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypeAlias, get_args

from curl_cffi import CurlECode, CurlOpt
from curl_cffi.requests.impersonate import REAL_TARGET_MAP, BrowserTypeLiteral

from cinder.egress.credentials import ProxyCredentials, Route
from cinder.egress.proxy import ForwardProxy
from cinder.errors import CinderError, ContentTooLarge, EgressBlocked, ScrapeFailed, ScrapeTimeout
from cinder.fair_queue import FairQueue
from cinder.fetch.base import FetchTask, RedirectRefused
from cinder.fetch.curl import (
    BoundedBody,
    CurlFailed,
    CurlRequests,
    CurlResponse,
    CurlSetup,
    error_of_curl_code,
    proxy_only_options,
)
from cinder.fetch.responses import HopHeaders, redirect_target
from cinder.models.document import FetchedPage, FetchSource
from cinder.models.http import is_sendable
from cinder.models.url import host_and_port

# A body that is compressed piece by piece has hundreds; each costs as much time as kilobytes.
MAX_MEMBERS = 20_000

_MEMBER_START = b"\x1f\x8b\x08"
_GZIP = 31
# A step limits the bytes that a member leaves over; it decompresses to at most 1,000 times that.
_STEP_BYTES = 4_096


def is_end_of_member(data: bytes, packed_end: bytes) -> bool:
    """Whether a body that decompresses to this data ends as a complete member does.

    A member ends with the data's checksum and length; chunk framing may be between their bytes.
    """
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) % 2**32).to_bytes(4, "little")
    position = 0
    for byte in trailer:
        position = packed_end.find(byte, position) + 1
        if position == 0:
            return False
    return True


def unpack_members(packed: bytes, max_bytes: int) -> tuple[bytes, bool]:
    """Return the data of all gzip members, and whether the last one is complete.

    Bytes after the last one are ignored, as browsers do.

    Raises:
        ContentTooLarge: the data is larger than `max_bytes`, or there are too many members.
        zlib.error: a member is damaged.
    """
    unpacked = bytearray()
    position = 0
    for _ in range(MAX_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        while position < len(packed) and not member.eof:
            step = packed[position : position + _STEP_BYTES]
            unpacked += member.decompress(step)
            position += len(step) - len(member.unused_data)
            if len(unpacked) > max_bytes:
                raise ContentTooLarge(
                    f"It is larger than {max_bytes} bytes (setting scrape.max-body-bytes)"
                )
        if not packed.startswith(_MEMBER_START, position):
            return bytes(unpacked), member.eof
    raise ContentTooLarge(f"It is packed in more than {MAX_MEMBERS} gzip members")


_LEAST_BYTES_A_SECOND = 100

# The encodings that curl decompresses; the Accept-Encoding header is the impersonated browser's.
_ENCODINGS = "gzip, deflate, br"
_GZIP_NAMES = ("gzip", "x-gzip")
# The checksum of so much takes less time than waking a thread.
_IN_PLACE_BYTES = 256 * 1024

# curl's codes for a connection that ended in the middle of a response.
_BROKEN_OFF = (
    CurlECode.PARTIAL_FILE,
    CurlECode.RECV_ERROR,
    CurlECode.HTTP2,
    CurlECode.HTTP2_STREAM,
    CurlECode.HTTP3,
)

_BROWSERS = frozenset({*get_args(BrowserTypeLiteral), *REAL_TARGET_MAP})

_HeaderList: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticLimits:
    """The limits of a fetch."""

    max_body_bytes: int
    max_redirects: int
    max_concurrency: int
    stall_seconds: int = 30
    """How long a response may arrive more slowly than 100 bytes a second."""


@dataclass(frozen=True, slots=True)
class _Hop:
    """One request of a fetch."""

    url: str
    headers: _HeaderList
    deadline: float
    credentials: ProxyCredentials


class StaticFetcher:
    """Fetches with curl and a browser's fingerprint, through the egress proxy.

    Raises:
        ValueError: curl cannot impersonate the named browser.
    """

    name = "native"

    def __init__(
        self,
        proxy: ForwardProxy,
        limits: StaticLimits,
        *,
        impersonate: str,
        ca_file: Path | None = None,
    ) -> None:
        if impersonate not in _BROWSERS:
            known = ", ".join(sorted(_BROWSERS))
            raise ValueError(f"scrape.impersonate: {impersonate!r} is none of: {known}")
        self._proxy = proxy
        self._limits = limits
        self._impersonate = impersonate
        self._ca_file = ca_file
        self._slots = FairQueue(limits.max_concurrency)
        self._requests: CurlRequests | None = None
        self._credentials: ProxyCredentials | None = None

    async def __aenter__(self) -> Self:
        options = proxy_only_options(self._ca_file)
        options[CurlOpt.MAXFILESIZE_LARGE] = self._limits.max_body_bytes
        options[CurlOpt.LOW_SPEED_LIMIT] = _LEAST_BYTES_A_SECOND
        options[CurlOpt.LOW_SPEED_TIME] = self._limits.stall_seconds
        # No limit of its own: curl keeps idle connections open, and each of them uses a slot.
        self._credentials = self._proxy.issue_credentials(max_connections=None)
        self._requests = CurlRequests(
            CurlSetup(
                impersonate=self._impersonate,
                proxy=self._proxy.url,
                options=options,
                max_connections=self._limits.max_concurrency,
            )
        )
        await self._requests.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._requests is not None:
            await self._requests.__aexit__()
        if self._credentials is not None:
            self._credentials.revoke()

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Fetch a URL and follow its redirects; the proxy checks each hop."""
        if self._credentials is None:
            raise RuntimeError("the fetcher is not open")
        pool = task.render.proxy_pool
        if pool is None:
            return await self._fetch(task, self._credentials)
        # Each page has connections of its own, so that it uses the proxy chosen for it.
        exit_ = self._proxy.open_exit(pool, task.url)
        with self._proxy.issue_credentials(route=Route.POOL, max_connections=None) as credentials:
            credentials.exit = exit_
            page = await self._fetch(task, credentials)
        return replace(page, proxy_number=exit_.proxy.number)

    async def _fetch(self, task: FetchTask, credentials: ProxyCredentials) -> FetchedPage:
        deadline = asyncio.get_running_loop().time() + task.timeout_seconds
        try:
            async with asyncio.timeout_at(deadline):
                slot = await self._slots.take(task.claimant)
        except TimeoutError:
            raise ScrapeTimeout(
                "Too many pages are fetched at once (setting scrape.max-concurrency): its turn did "
                "not come in time",
                url=task.url,
            ) from None
        hop_headers, url = HopHeaders(task.url, task.headers), task.url
        try:
            for _ in range(self._limits.max_redirects + 1):
                headers = hop_headers.for_url(url)
                if url == task.validated_url:
                    etag, modified = task.validators.etag, task.validators.last_modified
                    conditions = (("If-None-Match", etag), ("If-Modified-Since", modified))
                    headers += [(name, it) for name, it in conditions if it and is_sendable(it)]
                # The last of several headers of one name is sent.
                named = {name.lower(): (name, value) for name, value in headers}
                hop = _Hop(url, tuple(named.values()), deadline, credentials)
                response, body, is_cut = await self._request(hop)
                target = redirect_target(url, response.status, response.headers.get("location"))
                if target is None:
                    received = response.headers.items()
                    return FetchedPage(
                        url=task.url,
                        final_url=url,
                        status_code=response.status,
                        headers={name.lower(): text or "" for name, text in received},
                        body=body,
                        source=FetchSource.NATIVE,
                        strategy=self.name,
                        is_cut=is_cut,
                    )
                if task.may_land is not None and not task.may_land(target):
                    raise RedirectRefused(task.url, target)
                hop_headers.keep_cookies(url, filter(None, response.headers.get_list("set-cookie")))
                url = target
        finally:
            self._slots.give_back(slot)
        raise ScrapeFailed(f"Redirected more than {self._limits.max_redirects} times", url=task.url)

    async def _request(self, hop: _Hop) -> tuple[CurlResponse, bytes, bool]:
        """Return the response, its body, and whether the body is incomplete."""
        body = BoundedBody(self._limits.max_body_bytes)
        try:
            response = await self._send(hop, body)
        except CurlFailed as error:
            if not body.is_full:
                # Bytes follow the gzip member that curl decompressed.
                if error.code is CurlECode.WRITE_ERROR and _is_gzip(error.response):
                    return await self._request_packed(hop)
                if error.code in _BROKEN_OFF and body.data and error.response.status >= 200:
                    return error.response, bytes(body.data), True
            raise self._translate(error, hop, body) from error
        data, end = bytes(body.data), response.packed_end
        if not _is_gzip(response) or response.packed_bytes == 0 or not end:
            return response, data, False
        if len(data) <= _IN_PLACE_BYTES:
            is_whole = is_end_of_member(data, end)
        else:
            is_whole = await asyncio.to_thread(is_end_of_member, data, end)
        return response, data, not is_whole

    async def _request_packed(self, hop: _Hop) -> tuple[CurlResponse, bytes, bool]:
        """Repeat a request whose response curl cannot decompress, and decompress it here."""
        body = BoundedBody(self._limits.max_body_bytes)
        try:
            response = await self._send(hop, body, encodings=None)
            data, is_whole = await asyncio.to_thread(
                unpack_members, bytes(body.data), self._limits.max_body_bytes
            )
        except CurlFailed as error:
            raise self._translate(error, hop, body) from error
        except zlib.error as error:
            failure, sentence = error_of_curl_code(CurlECode.BAD_CONTENT_ENCODING)
            raise failure(f"{sentence} ({error})", url=hop.url) from error
        return response, data, not is_whole

    async def _send(
        self, hop: _Hop, body: BoundedBody, *, encodings: str | None = _ENCODINGS
    ) -> CurlResponse:
        remaining = hop.deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            raise ScrapeTimeout("The time was spent on redirects", url=hop.url)
        if self._requests is None:
            raise RuntimeError("the fetcher is not open")
        return await self._requests.get(
            hop.url,
            hop.headers,
            proxy_auth=hop.credentials.credentials,
            timeout_seconds=remaining,
            write=body.write,
            encodings=encodings,
        )

    def _translate(self, error: CurlFailed, hop: _Hop, body: BoundedBody) -> CinderError:
        code, url = error.code, hop.url
        # Only this code means that there was no tunnel, so that the proxy's refusal is the reason.
        if code is CurlECode.COULDNT_CONNECT:
            host, port = host_and_port(url)
            if refusal := hop.credentials.refusal_for(host, port):
                return refusal.to_error(url)
            if port == 0:  # curl does not even ask the proxy for it
                return EgressBlocked("Port 0 may not be connected to: no service has it", url=url)
        if body.is_full or code is CurlECode.FILESIZE_EXCEEDED:
            limit = self._limits.max_body_bytes
            message = f"{url} is larger than {limit} bytes (setting scrape.max-body-bytes)"
            return ContentTooLarge(message, url=url)
        failure, sentence = error_of_curl_code(code)
        return failure(f"{sentence} ({code.name.lower()})", url=url)


def _is_gzip(response: CurlResponse) -> bool:
    encoding = response.headers.get("content-encoding") or ""
    return encoding.strip().lower() in _GZIP_NAMES

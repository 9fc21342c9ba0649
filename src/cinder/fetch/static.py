"""The static engine: fetches pages with curl and a browser's TLS fingerprint.

Of several members curl unpacks only one, and what it unpacked it takes for whole.
"""

import asyncio
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias, get_args

from curl_cffi import CurlECode, CurlOpt
from curl_cffi.requests.impersonate import REAL_TARGET_MAP, BrowserTypeLiteral

from cinder.egress import ForwardProxy, ProxyCredentials, ProxyRefusal
from cinder.errors import CinderError, ContentTooLarge, EgressBlocked, ScrapeFailed, ScrapeTimeout
from cinder.fair_queue import FairQueue, FairSlot
from cinder.fetch.base import FetchTask, RedirectRefused
from cinder.fetch.curl import (
    CurlFailed,
    CurlRequest,
    CurlRequests,
    CurlResponse,
    CurlSetup,
    error_of_curl_code,
    proxy_only_options,
)
from cinder.fetch.redirects import HopHeaders, redirect_target
from cinder.models.document import FetchedPage, FetchSource, Validators
from cinder.models.http import is_sendable
from cinder.models.url import host_and_port

# What is packed piece by piece has hundreds; each takes as long as kilobytes do.
MAX_MEMBERS = 20_000

_MEMBER_START = b"\x1f\x8b\x08"
_GZIP = 31
# What a member leaves over is copied, and no step unpacks to more than a thousand times its size.
_STEP_BYTES = 4_096


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """What a body held."""

    data: bytes
    is_whole: bool
    """Whether its last member has an end."""


def is_end_of_member(data: bytes, packed_end: bytes) -> bool:
    """Whether a body that unpacked to this data ends as a whole member does.

    That is with the data's checksum and length, between which marks of chunks may stand.
    """
    trailer = zlib.crc32(data).to_bytes(4, "little") + (len(data) % 2**32).to_bytes(4, "little")
    place = 0
    for byte in trailer:
        place = packed_end.find(byte, place) + 1
        if place == 0:
            return False
    return True


def unpack_members(packed: bytes, max_bytes: int) -> Unpacked:
    """Return what all members hold; bytes after the last one are left out, as browsers do.

    Raises:
        ContentTooLarge: they hold more than `max_bytes`, or are too many.
        zlib.error: one of them is damaged.
    """
    unpacked = bytearray()
    place = 0
    for _ in range(MAX_MEMBERS):
        member = zlib.decompressobj(_GZIP)
        while place < len(packed) and not member.eof:
            step = packed[place : place + _STEP_BYTES]
            unpacked += member.decompress(step)
            place += len(step) - len(member.unused_data)
            if len(unpacked) > max_bytes:
                raise ContentTooLarge(
                    f"It is larger than {max_bytes} bytes (setting scrape.max-body-bytes)"
                )
        if not packed.startswith(_MEMBER_START, place):
            return Unpacked(data=bytes(unpacked), is_whole=member.eof)
    raise ContentTooLarge(f"It is packed in more than {MAX_MEMBERS} gzip members")


# What a write callback returns to make curl give up.
_STOP_WRITING = 0xFFFFFFFF

_LEAST_BYTES_A_SECOND = 100

# What curl unpacks; the browser's own list is what it asks for, with or without this.
_UNPACKED = "gzip, deflate, br"
_GZIP_NAMES = ("gzip", "x-gzip")
# So much is summed up in less time than a thread takes to wake.
_IN_PLACE_BYTES = 256 * 1024

# What curl says of a connection that ended in the middle of an answer.
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
    """How much a fetch may take."""

    max_body_bytes: int
    max_redirects: int
    max_concurrency: int
    stall_seconds: int = 30
    """How long a page may come more slowly than any that is meant to be read."""


class StaticFetcher:
    """Fetches with curl, wearing a browser's fingerprint, through the egress proxy.

    Raises:
        ValueError: curl knows no browser of the name to impersonate.
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
        self._places = FairQueue(limits.max_concurrency)
        self._requests: CurlRequests | None = None
        self._pass: ProxyCredentials | None = None

    async def __aenter__(self) -> Self:
        options = proxy_only_options(self._ca_file)
        options[CurlOpt.MAXFILESIZE_LARGE] = self._limits.max_body_bytes
        options[CurlOpt.LOW_SPEED_LIMIT] = _LEAST_BYTES_A_SECOND
        options[CurlOpt.LOW_SPEED_TIME] = self._limits.stall_seconds
        # No limit of its own: curl keeps connections open, and each of them has a place.
        self._pass = self._proxy.issue_credentials(max_connections=None)
        self._requests = CurlRequests(
            CurlSetup(
                impersonate=self._impersonate,
                proxy=self._proxy.url,
                proxy_auth=self._pass.credentials,
                options=options,
                max_connections=self._limits.max_concurrency,
            )
        )
        await self._requests.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._requests is not None:
            await self._requests.__aexit__()
        if self._pass is not None:
            self._pass.revoke()

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Fetch a URL, following redirects, each judged anew by the proxy."""
        deadline = asyncio.get_running_loop().time() + task.timeout_seconds
        place = await self._take_place(task, deadline)
        try:
            return await self._follow(task, deadline)
        finally:
            self._places.give_back(place)

    async def _take_place(self, task: FetchTask, deadline: float) -> FairSlot:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._places.take(task.claimant)
        except TimeoutError:
            raise ScrapeTimeout(
                "Too many pages are fetched at once (setting scrape.max-concurrency): its turn did "
                "not come in time",
                url=task.url,
            ) from None

    async def _follow(self, task: FetchTask, deadline: float) -> FetchedPage:
        hop_headers = HopHeaders(task.url, task.headers)
        url = task.url
        for _ in range(self._limits.max_redirects + 1):
            headers = hop_headers.for_url(url)
            if url == task.validated_url:
                headers += _conditions(task.validators)
            # Of a name that is given twice, the last counts.
            named = {name.lower(): (name, value) for name, value in headers}
            answer, body, is_cut = await self._request(url, tuple(named.values()), deadline)
            target = redirect_target(url, answer.status, answer.headers.get("location"))
            if target is None:
                return _page(task.url, url, answer, body, is_cut=is_cut)
            if task.may_land is not None and not task.may_land(target):
                raise RedirectRefused(task.url, target)
            hop_headers.keep_cookies(url, _all_values(answer, "set-cookie"))
            url = target
        raise ScrapeFailed(f"Redirected more than {self._limits.max_redirects} times", url=task.url)

    async def _request(
        self, url: str, headers: _HeaderList, deadline: float
    ) -> tuple[CurlResponse, bytes, bool]:
        """Return the answer, its body, and whether the connection broke off before its end."""
        body = _BoundedBody(self._limits.max_body_bytes)
        try:
            answer = await self._send(url, headers, deadline, body)
        except CurlFailed as error:
            if _ended_after_one_member(error, body):
                return await self._request_packed(url, headers, deadline)
            if not _has_begun(error, body):
                raise self._translate(error, url, body) from error
            return error.answer, bytes(body.data), True
        data = bytes(body.data)
        return answer, data, await _ends_early(answer, data)

    async def _request_packed(
        self, url: str, headers: _HeaderList, deadline: float
    ) -> tuple[CurlResponse, bytes, bool]:
        """Ask again for an answer that curl cannot unpack, and unpack it here."""
        body = _BoundedBody(self._limits.max_body_bytes)
        try:
            answer = await self._send(url, headers, deadline, body, unpacked=None)
            unpacked = await asyncio.to_thread(
                unpack_members, bytes(body.data), self._limits.max_body_bytes
            )
        except CurlFailed as error:
            raise self._translate(error, url, body) from error
        except zlib.error as error:
            failure, sentence = error_of_curl_code(CurlECode.BAD_CONTENT_ENCODING)
            raise failure(f"{sentence} ({error})", url=url) from error
        return answer, unpacked.data, not unpacked.is_whole

    async def _send(
        self,
        url: str,
        headers: _HeaderList,
        deadline: float,
        body: "_BoundedBody",
        *,
        unpacked: str | None = _UNPACKED,
    ) -> CurlResponse:
        remaining = deadline - asyncio.get_running_loop().time()
        if remaining <= 0:
            raise ScrapeTimeout("The time was spent on redirects", url=url)
        if self._requests is None:
            raise RuntimeError("the fetcher is not open")
        return await self._requests.get(
            CurlRequest(
                url=url,
                headers=headers,
                timeout_seconds=remaining,
                write=body.write,
                unpacked=unpacked,
            )
        )

    def _translate(self, error: CurlFailed, url: str, body: "_BoundedBody") -> CinderError:
        code = error.code
        # With this code no tunnel came about, and only then may the proxy's word be the reason.
        if code is CurlECode.COULDNT_CONNECT and (refusal := self._refusal_for(url)):
            return refusal.to_error(url)
        if code is CurlECode.COULDNT_CONNECT and host_and_port(url)[1] == 0:
            # curl does not even ask the proxy for it.
            return EgressBlocked("Port 0 may not be connected to: no service has it", url=url)
        if body.is_full or code is CurlECode.FILESIZE_EXCEEDED:
            limit = self._limits.max_body_bytes
            message = f"{url} is larger than {limit} bytes (setting scrape.max-body-bytes)"
            return ContentTooLarge(message, url=url)
        failure, sentence = error_of_curl_code(code)
        return failure(f"{sentence} ({code.name.lower()})", url=url)

    def _refusal_for(self, url: str) -> ProxyRefusal | None:
        return self._pass.refusal_for(*host_and_port(url)) if self._pass else None


class _BoundedBody:
    """Takes in a body as it arrives, decompressed, up to a limit."""

    def __init__(self, max_bytes: int) -> None:
        self.data = bytearray()
        self.is_full = False
        self._max_bytes = max_bytes

    def write(self, chunk: bytes) -> int:
        if len(self.data) + len(chunk) > self._max_bytes:
            self.is_full = True
            return _STOP_WRITING
        self.data += chunk
        return len(chunk)


def _has_begun(error: CurlFailed, body: _BoundedBody) -> bool:
    """Whether a connection broke that had begun to bring an answer."""
    is_broken = error.code in _BROKEN_OFF and not body.is_full
    return is_broken and bool(body.data) and error.answer.status >= 200


def _ended_after_one_member(error: CurlFailed, body: _BoundedBody) -> bool:
    """Whether curl gave up because bytes follow the gzip member that it unpacked."""
    if error.code is not CurlECode.WRITE_ERROR or body.is_full:
        return False
    return _is_gzip(error.answer)


def _is_gzip(answer: CurlResponse) -> bool:
    encoding = answer.headers.get("content-encoding") or ""
    return encoding.strip().lower() in _GZIP_NAMES


async def _ends_early(answer: CurlResponse, data: bytes) -> bool:
    """Whether the bytes ended before what was packed in them did, which curl does not tell."""
    if not _is_gzip(answer) or answer.packed_bytes == 0 or not answer.packed_end:
        return False
    if len(data) <= _IN_PLACE_BYTES:
        return not is_end_of_member(data, answer.packed_end)
    return not await asyncio.to_thread(is_end_of_member, data, answer.packed_end)


def _conditions(validators: Validators) -> list[tuple[str, str]]:
    headers = {"If-None-Match": validators.etag, "If-Modified-Since": validators.last_modified}
    return [(name, value) for name, value in headers.items() if value and is_sendable(value)]


def _all_values(answer: CurlResponse, name: str) -> list[str]:
    return [value for value in answer.headers.get_list(name) if value]


def _page(
    url: str, final_url: str, answer: CurlResponse, body: bytes, *, is_cut: bool
) -> FetchedPage:
    headers = {name.lower(): value or "" for name, value in answer.headers.items()}
    return FetchedPage(
        url=url,
        final_url=final_url,
        status_code=answer.status,
        headers=headers,
        body=body,
        source=FetchSource.NATIVE,
        strategy=StaticFetcher.name,
        is_cut=is_cut,
    )

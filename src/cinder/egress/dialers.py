"""Dialers: connect to pinned addresses, directly or through an upstream proxy."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import can_ada
import h11
import structlog
from structlog.typing import FilteringBoundLogger

from cinder.egress.base import (
    READ_BYTES,
    Address,
    ByteStream,
    Dialer,
    RefusalCode,
    RequestRefused,
    Target,
)
from cinder.egress.credentials import BasicCredentials
from cinder.egress.relay import HttpStream
from cinder.errors import DnsFailed


class DirectDialer:
    """Connects from this machine."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Connect to the first address that answers.

        Raises:
            RequestRefused: no address answers.
        """
        return await dial_each(
            str(target),
            addresses,
            lambda address: open_stream(address, target.port),
            timeout_seconds=self._timeout_seconds,
        )


async def dial_each(
    peer: str,
    addresses: list[Address],
    connect: Callable[[Address], Awaitable[ByteStream]],
    *,
    timeout_seconds: float,
) -> ByteStream:
    """Return the first connection that succeeds; each attempt gets a share of the time left.

    Raises:
        RequestRefused: no attempt succeeds; the message names `peer`, or is the one of `connect`.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_seconds
    failure = RequestRefused(RefusalCode.CONNECT_FAILED, f"{peer} has no address")
    for tried, address in enumerate(addresses):
        share = (deadline - loop.time()) / (len(addresses) - tried)
        try:
            async with asyncio.timeout(share):
                return await connect(address)
        except RequestRefused as refused:
            failure = refused
        except TimeoutError:
            message = f"{peer} did not accept a connection within {timeout_seconds:g} seconds"
            failure = RequestRefused(RefusalCode.CONNECT_TIMEOUT, message)
        except OSError as exc:
            # The error's own text contains the address.
            reason = os.strerror(exc.errno) if exc.errno else "no connection"
            message = f"Could not connect to {peer}: {reason}"
            failure = RequestRefused(RefusalCode.CONNECT_FAILED, message, reason)
    raise failure


async def open_stream(address: Address, port: int) -> ByteStream:
    """Connect to an address."""
    reader, writer = await asyncio.open_connection(str(address), port, limit=READ_BYTES)
    return ByteStream(reader, writer)


# Only the log has its address: callers need not know the owner's network.
_NAME = "the upstream proxy of browser.proxy-server (CINDER_BROWSER__PROXY_SERVER)"

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """An HTTP proxy that the owner has configured; it may be in the inner network.

    `bypass` names the hosts to reach without it: exact names, or `.example.com` for all
    subdomains of example.com (and not itself).

    Raises:
        ValueError: `server` is not the URL of an HTTP proxy, or the user name cannot be sent.
    """

    server: str
    username: str = ""
    password: str = field(default="", repr=False)
    bypass: tuple[str, ...] = ()
    target: Target = field(init=False)

    def __post_init__(self) -> None:
        # The messages do not quote the text: it may contain a password.
        try:
            parsed = can_ada.parse(self.server)
        except (ValueError, TypeError):  # the parser does not accept lone surrogates
            raise ValueError("browser.proxy-server: write it as http://host:port") from None
        if parsed.protocol != "http:":
            scheme = parsed.protocol.rstrip(":")
            raise ValueError(
                f"browser.proxy-server: only http:// proxies are supported, not {scheme}://"
            )
        if parsed.has_credentials():
            message = "browser.proxy-server: give its user name and password by their own settings"
            raise ValueError(message)
        if parsed.pathname != "/" or parsed.search or parsed.hash:
            raise ValueError("browser.proxy-server: write it as http://host:port, without a path")
        if ":" in self.username:
            raise ValueError("browser.proxy-username: it must not have a colon in it")
        target = Target(parsed.hostname.strip("[]"), int(parsed.port or 80))
        object.__setattr__(self, "target", target)

    @property
    def credentials(self) -> BasicCredentials | None:
        """The credentials for this proxy, if it needs any."""
        return BasicCredentials(self.username, self.password) if self.username else None

    def is_bypassed_for(self, host: str) -> bool:
        """Whether connections to a host leave without this proxy."""
        return any(
            host.endswith(name) if name.startswith(".") else host == name
            for name in map(str.lower, self.bypass)
        )


class _Declined(RequestRefused):
    """The upstream proxy could not connect, most often because of the target."""


class UpstreamDialer:
    """Lets an upstream proxy connect to pinned addresses, so that it never resolves a name."""

    def __init__(
        self,
        upstream: Upstream,
        resolve: Callable[[str], Awaitable[list[Address]]],
        *,
        bypass_dialer: Dialer,
        timeout_seconds: float,
        max_head_bytes: int,
    ) -> None:
        self._upstream = upstream
        self._resolve = resolve
        self._bypass_dialer = bypass_dialer
        self._timeout_seconds = timeout_seconds
        self._max_head_bytes = max_head_bytes

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Let the upstream proxy connect to the first address that answers it.

        Raises:
            RequestRefused: no address answers, or the upstream proxy cannot be used.
        """
        if self._upstream.is_bypassed_for(target.host):
            return await self._bypass_dialer.dial(target, addresses)
        try:
            return await dial_each(
                f"{target} through {_NAME}",
                addresses,
                lambda address: self._connect(Target(str(address), target.port), target),
                timeout_seconds=self._timeout_seconds,
            )
        except RequestRefused as refused:
            log = _log.info if isinstance(refused, _Declined) else _log.warning
            log(
                "the upstream proxy made no connection",
                upstream=str(self._upstream.target),
                host=target.host,
                port=target.port,
                reason=refused.refusal.message,
            )
            raise

    async def _connect(self, pinned: Target, target: Target) -> ByteStream:
        server = self._upstream.target
        try:
            addresses = await self._resolve(server.host)
        except DnsFailed as exc:
            message = f"The host name of {_NAME} could not be resolved"
            raise RequestRefused(RefusalCode.CONNECT_FAILED, message) from exc
        stream = await dial_each(
            _NAME,
            addresses,
            lambda address: open_stream(address, server.port),
            timeout_seconds=self._timeout_seconds,
        )
        http = HttpStream(stream, h11.Connection(h11.CLIENT, self._max_head_bytes))
        authority = str(pinned).encode()
        headers = [(b"Host", authority)]
        if credentials := self._upstream.credentials:
            headers.append((b"Proxy-Authorization", credentials.to_header()))
        try:
            await http.send(h11.Request(method=b"CONNECT", target=authority, headers=headers))
            response = await http.receive()
            if not isinstance(response, h11.Response):
                raise _failure(f"{_NAME} gave no final answer for {target}")
            if response.status_code == 407:
                raise _failure(f"{_NAME} did not accept its credentials")
            if not 200 <= response.status_code < 300:
                message = f"{target} was not connected to by {_NAME}: status {response.status_code}"
                raise _Declined(RefusalCode.CONNECT_FAILED, message)
            stream.unread(http.beyond)
        except h11.RemoteProtocolError as exc:
            stream.abort()
            raise _failure(f"{_NAME} does not answer with HTTP/1.1") from exc
        except BaseException:
            stream.abort()
            raise
        return stream


def _failure(message: str) -> RequestRefused:
    return RequestRefused(RefusalCode.CONNECT_FAILED, message[0].upper() + message[1:])

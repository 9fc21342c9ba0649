"""Dialers: connect to pinned addresses, directly or through an HTTP or SOCKS5 proxy."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, ip_address
from typing import Self
from urllib.parse import unquote

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


class UpstreamDown(RequestRefused):
    """An upstream proxy cannot be used, whatever the target."""


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
        except UpstreamDown:
            raise  # it is so for every address
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
_SETTING = "browser.proxy-server"
_DEFAULT_PORTS = {"http:": 80, "socks5:": 1080}
# Statuses by which a proxy refuses its client rather than the target.
_OWN_STATUSES = (402, 407, 429)

_log: FilteringBoundLogger = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """A proxy that the owner has configured; it may be in the inner network.

    `bypass` names the hosts to reach without it: exact names, or `.example.com` for all
    subdomains of example.com (and not itself).

    Raises:
        ValueError: `server` is not the URL of a proxy, or the user name cannot be sent.
    """

    server: str
    username: str = ""
    password: str = field(default="", repr=False)
    bypass: tuple[str, ...] = ()
    name: str = _NAME
    """What callers may know of it."""
    setting: str = _SETTING
    target: Target = field(init=False)
    is_socks: bool = field(init=False)

    def __post_init__(self) -> None:
        parsed = _parse_server(self.server, self.setting)
        if parsed.has_credentials():
            message = f"{self.setting}: give its user name and password by their own settings"
            raise ValueError(message)
        is_socks = parsed.protocol == "socks5:"
        if ":" in self.username and not is_socks:
            raise ValueError(f"{self.setting}: the user name must not have a colon in it")
        if is_socks and max(len(self.username.encode()), len(self.password.encode())) > 255:
            raise ValueError(f"{self.setting}: SOCKS5 has room for 255 bytes of each credential")
        port = int(parsed.port or _DEFAULT_PORTS[parsed.protocol])
        object.__setattr__(self, "target", Target(parsed.hostname.strip("[]").lower(), port))
        object.__setattr__(self, "is_socks", is_socks)

    @classmethod
    def from_url(cls, url: str, *, name: str, setting: str) -> Self:
        """Read a URL that may have the user name and password in it.

        Raises:
            ValueError: it is not the URL of a proxy.
        """
        parsed = _parse_server(url, setting)
        username, password = unquote(parsed.username), unquote(parsed.password)
        server = f"{parsed.protocol}//{parsed.host}"
        return cls(server=server, username=username, password=password, name=name, setting=setting)

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


def _parse_server(server: str, setting: str) -> can_ada.URL:
    # The messages do not quote the text: it may contain a password.
    form = f"{setting}: write it as http://host:port or socks5://host:port"
    try:
        parsed = can_ada.parse(server)
    except (ValueError, TypeError):  # the parser does not accept lone surrogates
        raise ValueError(form) from None
    if parsed.protocol not in _DEFAULT_PORTS:
        scheme = parsed.protocol.rstrip(":")
        raise ValueError(
            f"{setting}: only http:// and socks5:// proxies are supported, not {scheme}://"
        )
    if not parsed.hostname or parsed.port == "0":
        raise ValueError(form)
    if parsed.pathname not in ("", "/") or parsed.search or parsed.hash:
        raise ValueError(f"{form}, without a path")
    return parsed


class TargetDeclined(RequestRefused):
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
        self.upstream = upstream
        self._resolve = resolve
        self._bypass_dialer = bypass_dialer
        self._timeout_seconds = timeout_seconds
        self._max_head_bytes = max_head_bytes

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Let the upstream proxy connect to the first address that answers it.

        Raises:
            UpstreamDown: the upstream proxy cannot be used.
            RequestRefused: no address answers.
        """
        if self.upstream.is_bypassed_for(target.host):
            return await self._bypass_dialer.dial(target, addresses)
        try:
            # Before the time for the addresses is divided, which may be too short for it.
            opened = [await self._reach()]

            async def connect(address: Address) -> ByteStream:
                stream = opened.pop() if opened else await self._reach()
                await self._ask_for(stream, Target(str(address), target.port), target)
                return stream

            return await dial_each(
                f"{target} through {self.upstream.name}",
                addresses,
                connect,
                timeout_seconds=self._timeout_seconds,
            )
        except RequestRefused as refused:
            log = _log.info if isinstance(refused, TargetDeclined) else _log.warning
            log(
                "the upstream proxy made no connection",
                upstream=str(self.upstream.target),
                host=target.host,
                port=target.port,
                reason=refused.refusal.message,
            )
            raise

    async def check(self) -> None:
        """Return if the proxy accepts a connection and, where it asks first, its credentials.

        Raises:
            UpstreamDown: it does not.
        """
        stream = await self._reach()
        try:
            if self.upstream.is_socks:
                async with asyncio.timeout(self._timeout_seconds):
                    await _greet_socks(stream, self.upstream)
        except UpstreamDown:
            raise
        except (OSError, RequestRefused) as exc:  # a timeout is an OSError
            raise self._down("did not answer as a SOCKS5 proxy does") from exc
        finally:
            stream.abort()

    async def _reach(self) -> ByteStream:
        server = self.upstream.target
        try:
            addresses = await self._resolve(server.host)
        except DnsFailed as exc:
            message = f"The host name of {self.upstream.name} could not be resolved"
            raise UpstreamDown(RefusalCode.CONNECT_FAILED, message) from exc
        try:
            return await dial_each(
                self.upstream.name,
                addresses,
                lambda address: open_stream(address, server.port),
                timeout_seconds=self._timeout_seconds,
            )
        except RequestRefused as exc:
            refusal = exc.refusal
            raise UpstreamDown(refusal.code, refusal.message, refusal.cause) from exc

    async def _ask_for(self, stream: ByteStream, pinned: Target, target: Target) -> None:
        try:
            if self.upstream.is_socks:
                await _greet_socks(stream, self.upstream)
                await _connect_by_socks(stream, self.upstream, pinned, target)
            else:
                await self._connect_by_http(stream, pinned, target)
        except BaseException:
            stream.abort()
            raise

    async def _connect_by_http(self, stream: ByteStream, pinned: Target, target: Target) -> None:
        name = self.upstream.name
        http = HttpStream(stream, h11.Connection(h11.CLIENT, self._max_head_bytes))
        authority = str(pinned).encode()
        headers = [(b"Host", authority)]
        if credentials := self.upstream.credentials:
            headers.append((b"Proxy-Authorization", credentials.to_header()))
        try:
            await http.send(h11.Request(method=b"CONNECT", target=authority, headers=headers))
            response = await http.receive()
        except h11.RemoteProtocolError as exc:
            raise _failure(f"{name} does not answer with HTTP/1.1") from exc
        if not isinstance(response, h11.Response):
            raise _failure(f"{name} gave no final answer for {target}")
        if response.status_code == 407:
            raise self._down("did not accept its credentials")
        if response.status_code in _OWN_STATUSES:
            raise self._down(f"refuses its client: status {response.status_code}")
        if not 200 <= response.status_code < 300:
            message = f"{target} was not connected to by {name}: status {response.status_code}"
            raise TargetDeclined(RefusalCode.CONNECT_FAILED, message)
        stream.unread(http.beyond)

    def _down(self, problem: str) -> UpstreamDown:
        return UpstreamDown(*_refusal(f"{self.upstream.name} {problem}"))


_SOCKS_VERSION = 5
_NO_AUTH, _BY_PASSWORD = 0, 2
_SOCKS_PROBLEMS = {
    1: "general failure",
    2: "not allowed by its rules",
    3: "network unreachable",
    4: "host unreachable",
    5: "connection refused",
    6: "TTL expired",
    8: "address type not supported",
}
# Bytes of the address in a reply, by its type.
_ADDRESS_BYTES = {1: 4, 4: 16}
_NAME_ADDRESS = 3


async def _greet_socks(stream: ByteStream, upstream: Upstream) -> None:
    """Agree on a method of authentication, and authenticate (RFC 1928 and 1929)."""
    credentials = upstream.credentials
    method = _BY_PASSWORD if credentials else _NO_AUTH
    await stream.write(bytes((_SOCKS_VERSION, 1, method)))
    version, chosen = await _read_exactly(stream, 2, upstream)
    if version != _SOCKS_VERSION:
        raise _failure(f"{upstream.name} does not answer with SOCKS5")
    if chosen != method:
        problem = "does not take a password" if credentials else "needs credentials"
        raise UpstreamDown(*_refusal(f"{upstream.name} {problem}"))
    if credentials:
        user, password = credentials.user.encode(), credentials.password.encode()
        await stream.write(bytes((1, len(user))) + user + bytes((len(password),)) + password)
        if (await _read_exactly(stream, 2, upstream))[1] != 0:
            raise UpstreamDown(*_refusal(f"{upstream.name} did not accept its credentials"))


async def _connect_by_socks(
    stream: ByteStream, upstream: Upstream, pinned: Target, target: Target
) -> None:
    address = ip_address(pinned.host)
    kind = 1 if isinstance(address, IPv4Address) else 4
    command = bytes((_SOCKS_VERSION, 1, 0, kind))
    await stream.write(command + address.packed + pinned.port.to_bytes(2, "big"))
    version, reply, _, kind = await _read_exactly(stream, 4, upstream)
    if version != _SOCKS_VERSION:
        raise _failure(f"{upstream.name} does not answer with SOCKS5")
    if reply != 0:
        problem = _SOCKS_PROBLEMS.get(reply, f"reply {reply}")
        message = f"{target} was not connected to by {upstream.name}: {problem}"
        raise TargetDeclined(RefusalCode.CONNECT_FAILED, message)
    length = _ADDRESS_BYTES.get(kind)
    if kind == _NAME_ADDRESS:
        length = (await _read_exactly(stream, 1, upstream))[0]
    if length is None:
        raise _failure(f"{upstream.name} does not answer with SOCKS5")
    await _read_exactly(stream, length + 2, upstream)


async def _read_exactly(stream: ByteStream, count: int, upstream: Upstream) -> bytes:
    data = b""
    while len(data) < count:
        received = await stream.read()
        if not received:
            raise _failure(f"{upstream.name} broke the connection off")
        data += received
    stream.unread(data[count:])
    return data[:count]


def _refusal(message: str) -> tuple[RefusalCode, str]:
    return RefusalCode.CONNECT_FAILED, message[0].upper() + message[1:]


def _failure(message: str) -> RequestRefused:
    return RequestRefused(*_refusal(message))

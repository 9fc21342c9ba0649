"""Pools of upstream proxies: which of them a page leaves through, and which are down."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.egress.base import Address, ByteStream, RefusalCode, RequestRefused, Target
from cinder.egress.dialers import TargetDeclined, Upstream, UpstreamDialer, UpstreamDown
from cinder.errors import CinderError

_log: FilteringBoundLogger = structlog.get_logger()

_MAX_HOSTS = 10_000
# A proxy that gives no answer for one target may be sound: only so many in a row make it down.
_MAX_DOUBTS = 3


class Rotation(StrEnum):
    """When the pages of a pool change their proxy."""

    REQUEST = "request"
    HOST = "host"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """How a pool rotates, and how long a proxy that failed is left out."""

    rotation: Rotation = Rotation.REQUEST
    first_backoff_seconds: float = 1
    max_backoff_seconds: float = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSetup:
    """The proxies of a pool, at least one, and its options."""

    proxies: tuple[Upstream, ...]
    options: PoolOptions
    clock: Callable[[], float] = time.monotonic


@dataclass(eq=False, slots=True)
class PooledProxy:
    """One proxy of a pool, and its health."""

    number: int
    """Its position in the settings, from 1."""
    dialer: UpstreamDialer
    failures: int = 0
    """Failures in a row, each after the back-off of the one before."""
    doubts: int = 0
    """Connections in a row that it neither made nor declined."""
    down_until: float = 0.0


class ProxyPool:
    """A named list of upstream proxies."""

    def __init__(
        self,
        name: str,
        dialers: Sequence[UpstreamDialer],
        options: PoolOptions,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self.rotation = options.rotation
        self._options = options
        self._clock = clock
        self._proxies = [PooledProxy(number, each) for number, each in enumerate(dialers, 1)]
        self._next = 0
        # For hosts that blocked a page: how many proxies of their order to skip.
        self._skipped: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._proxies)

    def choose(self, host: str) -> PooledProxy:
        """Return the proxy for a page of a host, by the rotation, among those that are not down.

        Raises:
            RequestRefused: all of them are down.
        """
        order = self._order(host)
        now = self._clock()
        chosen = next((proxy for proxy in order if proxy.down_until <= now), None)
        if chosen is None:
            wait = min(proxy.down_until for proxy in order) - now
            raise RequestRefused(
                RefusalCode.CONNECT_FAILED,
                f"No proxy of the pool {self.name!r} can be used: all {len(self)} are down, and "
                f"the next is tried in {wait:.1f} s. Try again later, without proxyPool or with "
                f"another one; the owner checks egress.proxy-pools.{self.name} with "
                "`cinder doctor`.",
            )
        if self.rotation is Rotation.REQUEST:
            self._next = chosen.number % len(self)
        return chosen

    def _order(self, host: str) -> list[PooledProxy]:
        if self.rotation is Rotation.REQUEST:
            return self._proxies[self._next :] + self._proxies[: self._next]

        # The same order in all processes, and after a restart.
        def rank(proxy: PooledProxy) -> bytes:
            seed = f"{host} {proxy.number} {proxy.dialer.upstream.target}"
            return blake2b(seed.encode(), digest_size=8).digest()

        ranked = sorted(self._proxies, key=rank)
        skipped = self._skipped.get(host, 0)
        return ranked[skipped:] + ranked[:skipped]

    def rotate(self, host: str, number: int) -> bool:
        """Leave the proxy that a host blocked; return whether its pages now use another one.

        Only pools that rotate on blocked pages do.
        """
        if self.rotation is not Rotation.BLOCKED:
            return False
        order = self._order(host)
        blocked = next(each for each, proxy in enumerate(order) if proxy.number == number)
        now = self._clock()
        usable = [each for each, proxy in enumerate(order) if proxy.down_until <= now]
        # Another page of the host may have rotated meanwhile.
        if usable and usable[0] == blocked:
            self._skipped[host] = (self._skipped.get(host, 0) + blocked + 1) % len(self)
            self._skipped.move_to_end(host)
            if len(self._skipped) > _MAX_HOSTS:
                self._skipped.popitem(last=False)
        return usable != [blocked] and bool(usable)

    def note_success(self, proxy: PooledProxy) -> None:
        """Record that a proxy works."""
        if proxy.failures:
            _log.info("a proxy works again", pool=self.name, upstream=_address(proxy))
        proxy.failures = proxy.doubts = 0

    def note_doubt(self, proxy: PooledProxy, reason: str) -> bool:
        """Record that a proxy gave no answer for a target; return whether it is down now.

        It may be the target's fault.
        """
        proxy.doubts += 1
        if proxy.doubts >= _MAX_DOUBTS:
            self.note_failure(proxy, reason)
        return proxy.down_until > self._clock()

    def note_failure(self, proxy: PooledProxy, reason: str) -> None:
        """Leave a proxy out for a while, twice as long after each failure in a row."""
        now = self._clock()
        if proxy.down_until > now:
            return  # connections that were made at the same time fail together
        options = self._options
        wait = options.first_backoff_seconds * 2.0 ** min(proxy.failures, 30)
        wait = min(wait, options.max_backoff_seconds)
        proxy.failures, proxy.doubts, proxy.down_until = proxy.failures + 1, 0, now + wait
        _log.warning(
            "a proxy is down",
            pool=self.name,
            upstream=_address(proxy),
            backoff_seconds=wait,
            reason=reason,
        )

    async def check(self) -> None:
        """Return if every proxy can be reached.

        Raises:
            CinderError: some cannot; the message has their addresses, and is for the owner.
        """
        problems = []
        for proxy in self._proxies:
            try:
                await proxy.dialer.check()
            except UpstreamDown as down:
                problems.append(f"{_address(proxy)}: {down.refusal.message}")
        if problems:
            raise CinderError(
                f"{len(problems)} of {len(self)} proxies cannot be used: {'; '.join(problems)}"
            )


class PoolExit:
    """The way out of one page: all its connections use one proxy of a pool, while that works."""

    def __init__(self, pool: ProxyPool, host: str) -> None:
        """Choose the proxy for a page of this host.

        Raises:
            RequestRefused: all are down.
        """
        self._pool = pool
        self._host = host
        self.proxy = pool.choose(host)

    async def dial(self, target: Target, addresses: list[Address]) -> ByteStream:
        """Connect through the page's proxy; if it is down, through the next, from now on.

        Raises:
            RequestRefused: no address answers, or no proxy can be used.
        """
        failure: RequestRefused | None = None
        for _ in range(len(self._pool)):
            proxy = self.proxy
            try:
                stream = await proxy.dialer.dial(target, addresses)
            except UpstreamDown as down:
                failure = down
                self._pool.note_failure(proxy, down.refusal.message)
            except TargetDeclined:
                self._pool.note_success(proxy)
                raise
            except RequestRefused as silent:
                failure = silent
                if not self._pool.note_doubt(proxy, silent.refusal.message):
                    raise
            else:
                self._pool.note_success(proxy)
                return stream
            if self.proxy is proxy:  # another connection of the page may have changed it
                self.proxy = self._pool.choose(self._host)
        raise failure or RuntimeError("a pool has at least one proxy")


def _address(proxy: PooledProxy) -> str:
    return str(proxy.dialer.upstream.target)

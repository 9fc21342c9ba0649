"""Load shedding: requests are refused while the event loop lags."""

from collections import Counter
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.api.requests import error_response
from cinder.errors import Overloaded
from cinder.event_loop import LoopMonitor
from cinder.services.rate_limits import rate_limit_key

HEALTH_PATH = "/healthz"

REFUSAL = error_response(
    Overloaded("The server has more requests than it can answer in good time. Try again later."),
    headers={"Connection": "close"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingLimits:
    """When requests are refused."""

    max_lag_seconds: float = 0.01
    """The largest lag of the event loop with four times the spared requests."""
    spared_requests: int = 32
    """So many requests are accepted at any lag: the machine may be busy otherwise."""

    @property
    def max_queue(self) -> float:
        """The largest product of lag and requests in progress."""
        return 4 * self.spared_requests * self.max_lag_seconds


class LoadShedder:
    """Refuses requests while many are in progress and the event loop lags.

    During a lag, requests wait longer than they take to process. A refusal costs a fraction of a
    response, so the loop catches up. Health checks are never refused.
    """

    def __init__(self, limits: SheddingLimits) -> None:
        self.under_way: Counter[str] = Counter()
        """Requests in progress by client address, of IPv6 by network."""
        self.monitor: LoopMonitor | None = None
        """Set when the server starts."""
        self._limits = limits

    def must_refuse(self, path: str, address: str) -> bool:
        """Whether to refuse a request; an address with few requests in progress is spared."""
        key, spared = rate_limit_key(address), self._limits.spared_requests
        total = self.under_way.total()
        return (
            total >= spared
            and self.under_way[key] >= spared // len({*self.under_way, key})
            and self.monitor is not None
            and self.monitor.lag_seconds * total >= self._limits.max_queue
            and path != HEALTH_PATH
        )


class LoadSheddingMiddleware:
    """Counts the requests in progress, and refuses them under load.

    A request counts until its response starts: an open event stream costs little. The HTTP
    protocol refuses most requests before they reach this middleware.
    """

    def __init__(self, app: ASGIApp, *, shedder: LoadShedder) -> None:
        self._app = app
        self._shedder = shedder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        if self._shedder.must_refuse(scope["path"], address):
            await REFUSAL(scope, receive, send)
            return
        key, under_way, is_counted = rate_limit_key(address), self._shedder.under_way, True

        def leave() -> None:
            nonlocal is_counted
            under_way[key] -= is_counted
            is_counted = False
            if not under_way[key]:
                del under_way[key]

        async def sent(message: Message) -> None:
            leave()
            await send(message)

        under_way[key] += 1
        try:
            await self._app(scope, receive, sent)
        finally:
            leave()

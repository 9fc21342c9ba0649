"""Load shedding: requests are refused unread while the server is behind."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from cinder.errors import Overloaded
from cinder.event_loop import LoopMonitor
from cinder.surfaces.answers import error_response

HEALTH_PATH = "/healthz"


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingLimits:
    """When requests are refused."""

    max_lag_seconds: float = 0.05
    """How late the event loop may run what is due."""
    spared_requests: int = 64
    """So many are taken in however late it is: a machine may be busy with other things."""


class LoadShedding:
    """Refuses requests while many are under way and the event loop lags behind.

    A lag tells that requests wait for longer than it takes to answer them. A refusal costs a
    fraction of an answer, so the loop catches up, and health checks are answered all the while.
    """

    def __init__(self, app: ASGIApp, *, limits: SheddingLimits) -> None:
        self._app = app
        self._limits = limits
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http" or scope["path"] == HEALTH_PATH:
            await self._app(scope, receive, send)
            return
        monitor: LoopMonitor | None = getattr(scope["app"].state, "loop_monitor", None)
        is_crowded = self._under_way >= self._limits.spared_requests
        if is_crowded and monitor and monitor.lag_seconds > self._limits.max_lag_seconds:
            await _REFUSAL(scope, receive, send)
            return
        self._under_way += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._under_way -= 1


_REFUSAL = error_response(
    Overloaded("The server has more requests than it can answer in good time. Try again later."),
    headers={"Connection": "close"},
)

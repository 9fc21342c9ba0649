"""Load shedding: requests are refused unread while the server is behind."""

from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.errors import Overloaded
from cinder.event_loop import LoopMonitor
from cinder.surfaces.answers import error_response

HEALTH_PATH = "/healthz"

REFUSAL = error_response(
    Overloaded("The server has more requests than it can answer in good time. Try again later."),
    headers={"Connection": "close"},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SheddingLimits:
    """When requests are refused."""

    max_lag_seconds: float = 0.01
    """How late the event loop may run what is due, with four times the spared requests."""
    spared_requests: int = 32
    """So many are taken in however late it is: a machine may be busy with other things."""

    @property
    def max_queue(self) -> float:
        """The largest product of lag and requests under way: the later, the fewer are taken in."""
        return 4 * self.spared_requests * self.max_lag_seconds


class LoadShedder:
    """Refuses requests while many are under way and the event loop lags behind.

    A lag tells that requests wait for longer than it takes to answer them. A refusal costs a
    fraction of an answer, so the loop catches up, and health checks are answered all the while.
    """

    def __init__(self, limits: SheddingLimits) -> None:
        self.under_way = 0
        self.monitor: LoopMonitor | None = None
        """Set once there is one, as the server starts."""
        self._limits = limits

    def must_refuse(self, path: str) -> bool:
        """Whether a request for a path is one too many."""
        return (
            self.under_way >= self._limits.spared_requests
            and self.monitor is not None
            and self.monitor.lag_seconds * self.under_way >= self._limits.max_queue
            and path != HEALTH_PATH
        )


class LoadShedding:
    """Counts the requests that are under way, and refuses those that are too many.

    A request counts until its answer begins: a stream of events costs little while it is open. The
    server's protocol refuses most of those that are too many before they come here.
    """

    def __init__(self, app: ASGIApp, *, shedder: LoadShedder) -> None:
        self._app = app
        self._shedder = shedder

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if self._shedder.must_refuse(scope["path"]):
            await REFUSAL(scope, receive, send)
            return
        is_counted = True

        def leave() -> None:
            nonlocal is_counted
            self._shedder.under_way -= is_counted
            is_counted = False

        async def sent(message: Message) -> None:
            leave()
            await send(message)

        self._shedder.under_way += 1
        try:
            await self._app(scope, receive, sent)
        finally:
            leave()

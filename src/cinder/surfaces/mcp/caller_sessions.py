"""How many sessions each caller has at /mcp: those of the older protocol revisions, which stay."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cinder.errors import RateLimited
from cinder.surfaces.answers import error_response

_SESSION = "mcp-session-id"
_REVISION = "mcp-protocol-version"
_NOT_FOUND = 404


class CallerSessions:
    """Bounds the sessions of each caller before an endpoint that keeps them.

    Beyond the bound, the session that was idle for the longest ends: its client gets a 404 for its
    next request, by which the protocol has it begin another. A caller all of whose sessions are in
    use, by a request or an open stream, is refused as RATE_LIMITED.
    """

    def __init__(self, endpoint: ASGIApp, most: int) -> None:
        """Take the endpoint, and how many sessions one caller may have."""
        self._endpoint = endpoint
        self._most = most
        # By caller: each session with the requests that use it now, the longest unused first.
        self._sessions: defaultdict[str, OrderedDict[str, int]] = defaultdict(OrderedDict)
        self._opening: defaultdict[str, int] = defaultdict(int)

    async def serve(self, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request of a caller's."""
        headers = Headers(scope=scope)
        revision, session = headers.get(_REVISION), headers.get(_SESSION)
        if revision is not None and revision not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._endpoint(scope, receive, send)
        elif session is None:
            await self._open(caller, scope, receive, send)
        else:
            await self._use(caller, session, scope, receive, send)

    async def _open(self, caller: str, scope: Scope, receive: Receive, send: Send) -> None:
        if not await self._make_room(caller, scope):
            refusal = RateLimited(
                f"{self._most} sessions of yours are in use, as many as one caller may have "
                "(setting server.mcp-max-sessions-per-caller). End one first."
            )
            await error_response(refusal)(scope, receive, send)
            return

        own, opened = self._sessions[caller], ""

        async def noted(message: Message) -> None:
            nonlocal opened
            if message["type"] == "http.response.start" and message["status"] < 400:
                opened = Headers(raw=message["headers"]).get(_SESSION, "")
            if opened and opened not in own:
                own[opened] = 1  # until this request is answered
                self._opening[caller] -= 1
            await send(message)

        self._opening[caller] += 1
        try:
            await self._endpoint(scope, receive, noted)
        finally:
            if opened in own:
                own[opened] -= 1
            elif not opened:
                self._opening[caller] -= 1
            self._tidy(caller)

    async def _use(
        self, caller: str, session: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                is_ended = scope["method"] == "DELETE" and message["status"] < 400
                if is_ended or message["status"] == _NOT_FOUND:
                    self._sessions[caller].pop(session, None)
            await send(message)

        with self._in_use(caller, session):
            await self._endpoint(scope, receive, noted)
        self._tidy(caller)

    @contextmanager
    def _in_use(self, caller: str, session: str) -> Iterator[None]:
        own = self._sessions[caller]
        if session not in own:  # unknown, or another caller's: the endpoint says so
            yield
            return
        own[session] += 1
        try:
            yield
        finally:
            if session in own:
                own[session] -= 1
                own.move_to_end(session)

    async def _make_room(self, caller: str, scope: Scope) -> bool:
        """Return whether a session may be opened; the longest idle one may have to end first."""
        own = self._sessions[caller]
        while len(own) + self._opening[caller] >= self._most:
            idle = next((session for session, uses in own.items() if uses == 0), None)
            if idle is None:
                self._tidy(caller)
                return False
            del own[idle]
            await self._end(idle, scope)
        return True

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session as its client would."""
        host = [(name, value) for name, value in scope["headers"] if name == b"host"]
        headers = [*host, (_SESSION.encode(), session.encode())]
        asked = {**scope, "method": "DELETE", "headers": headers}
        await self._endpoint(asked, _receive_nothing, _send_nowhere)

    def _tidy(self, caller: str) -> None:
        """Forget a caller without sessions."""
        if not self._sessions[caller] and not self._opening[caller]:
            self._sessions.pop(caller, None)
            self._opening.pop(caller, None)


async def _receive_nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _send_nowhere(_message: Message) -> None:
    """Drop an answer that nobody waits for."""

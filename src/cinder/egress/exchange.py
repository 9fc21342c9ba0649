"""Exchanges: one plain request passed on to its origin, and the answer passed back, streaming."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass

import h11

from cinder.egress.http import HttpStream, informational_for_client, response_for_client
from cinder.egress.idle import IdleLimit
from cinder.egress.refusal import RefusalCode, Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request whose head has been read, and the connection to its origin."""

    client: HttpStream
    origin: HttpStream
    idle: IdleLimit
    max_informational: int

    async def run(self, request: h11.Request) -> bool:
        """Pass the request and its answer on; return whether they agreed to switch protocols.

        Raises:
            Refused: the origin did not answer, or not with HTTP.
            OSError: the client is gone.
        """
        try:
            await self.origin.send(request)
        except OSError as exc:
            raise _connection_lost() from exc
        async with _beside(self._pass_body_on()):
            return await self._pass_answer_back()

    async def _pass_body_on(self) -> None:
        try:
            while not isinstance(event := await self.client.receive(), h11.EndOfMessage):
                self.idle.touch()
                await self._offer(event)
            # A bare end: trailers would reach the origin without having been looked at.
            await self._offer(h11.EndOfMessage())
            await self._wait_for_departure()
        except (OSError, h11.RemoteProtocolError):
            self.origin.stream.abort()

    async def _offer(self, event: h11.Event) -> None:
        try:
            await self.origin.send(event)
        except OSError:
            # It may have answered early and closed; its answer tells.
            return

    async def _wait_for_departure(self) -> None:
        """Free the origin as soon as nobody waits for its answer any more."""
        if data := await self.client.stream.read():
            self.client.keep(data)
        else:
            self.origin.stream.abort()

    async def _pass_answer_back(self) -> bool:
        head = await self._first_final_head()
        if isinstance(head, h11.InformationalResponse):
            await self.client.send(informational_for_client(head))
            return True
        await self.client.send(response_for_client(head))
        while not isinstance(event := await self._hear_origin(), h11.EndOfMessage):
            await self.client.send(event)
        # A bare end: some clients take trailers for headers, which were looked at and these not.
        await self.client.send(h11.EndOfMessage())
        return False

    async def _first_final_head(self) -> h11.Response | h11.InformationalResponse:
        for _ in range(self.max_informational + 1):
            event = await self._hear_origin()
            if isinstance(event, h11.Response):
                return _reject_proxy_challenge(event)
            if not isinstance(event, h11.InformationalResponse):
                break
            if event.status_code == 101:
                return event
            await self.client.send(informational_for_client(event))
        raise Refused(RefusalCode.BAD_RESPONSE, "The origin sent interim answers without end")

    async def _hear_origin(self) -> h11.Event:
        try:
            event = await self.origin.receive()
        except OSError as exc:
            raise _connection_lost() from exc
        except h11.RemoteProtocolError as exc:
            raise _bad_response(exc) from exc
        self.idle.touch()
        return event


def _reject_proxy_challenge(response: h11.Response) -> h11.Response:
    # A browser takes it for this proxy's, and forgets the credentials it has for it.
    if response.status_code == 407:
        raise Refused(RefusalCode.BAD_RESPONSE, "The origin asks for a proxy's credentials")
    return response


def _connection_lost() -> Refused:
    return Refused(RefusalCode.CONNECTION_LOST, "The origin broke the connection off")


def _bad_response(exc: h11.RemoteProtocolError) -> Refused:
    if exc.error_status_hint == 431:
        code, message = RefusalCode.RESPONSE_HEAD_TOO_LARGE, "The origin's headers are too large"
    else:
        code, message = RefusalCode.BAD_RESPONSE, "The origin's answer is not complete HTTP/1.1"
    return Refused(code, message)


@asynccontextmanager
async def _beside(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    """Run `work` for as long as the block runs; the block's own error comes out unwrapped."""
    failure: Exception | None = None
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(work)
        try:
            yield
        except (OSError, Refused) as exc:
            failure = exc
        task.cancel()
    if failure:
        raise failure

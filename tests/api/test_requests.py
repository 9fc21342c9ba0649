"""A caller who goes away, over a real connection."""

import asyncio
import json
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.types import Message

from cinder.api.requests import UNWATCHED_SECONDS, CallerDisconnected, cancel_on_disconnect
from cinder.errors import InvalidRequest
from tests.api.running import run_server
from tests.site import Site


async def test_a_caller_who_leaves_frees_the_place_for_another(tmp_path: Path, site: Site) -> None:
    variables = {"CINDER_EGRESS__ALLOW": site.address, "CINDER_SCRAPE__MAX_CONCURRENCY": "1"}
    async with run_server(tmp_path / "data", **variables) as server:
        body = json.dumps({"url": site.url("/silent"), "timeout": 120_000}).encode()
        head = (
            f"POST /api/v2/scrape HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        host, port = server.url.removeprefix("http://").split(":")
        _, leaving = await asyncio.open_connection(host, int(port))
        leaving.write(head.encode() + body)
        await site.asked("/silent")
        leaving.close()
        async with server.client() as client, asyncio.timeout(60):
            answer = await client.post("/v1/scrape", json={"url": site.url("/article")})
        assert answer.json()["title"] == "Ember care"


def a_request(*, leaves: asyncio.Event) -> Request:
    """Return a request whose body was read, of a caller who leaves when the event is set."""

    async def receive() -> Message:
        await leaves.wait()
        return {"type": "http.disconnect"}

    return Request({"type": "http", "headers": []}, receive)


async def test_the_work_of_a_caller_who_has_gone_is_cancelled() -> None:
    leaves, is_cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        leaves.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            is_cancelled.set()
            raise

    with pytest.raises(CallerDisconnected):
        await cancel_on_disconnect(a_request(leaves=leaves), work())
    assert is_cancelled.is_set()
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("seconds", [0, 2 * UNWATCHED_SECONDS])
async def test_work_returns_and_fails_as_it_would_alone(seconds: float) -> None:
    async def succeed() -> str:
        await asyncio.sleep(seconds)
        return "done"

    async def fail() -> str:
        await asyncio.sleep(seconds)
        raise InvalidRequest

    stays = a_request(leaves=asyncio.Event())
    assert await cancel_on_disconnect(stays, succeed()) == "done"
    with pytest.raises(InvalidRequest):
        await cancel_on_disconnect(stays, fail())


async def test_a_server_that_stops_cancels_the_work() -> None:
    has_begun, is_cancelled = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            is_cancelled.set()
            raise

    async with asyncio.TaskGroup() as tasks:
        stays = a_request(leaves=asyncio.Event())
        serving = tasks.create_task(cancel_on_disconnect(stays, work()))
        await has_begun.wait()
        serving.cancel()
    assert serving.cancelled()
    assert is_cancelled.is_set()

"""Bodies of very many values: refused while they arrive, and otherwise parsed off the loop."""

import asyncio
import json
from collections.abc import Iterator

import httpx2
import pytest
from starlette.requests import Request
from starlette.types import Message, Receive

from cinder.config import LimitsSettings
from cinder.errors import ContentTooLarge, InvalidRequest
from cinder.surfaces.answers import read_json
from cinder.surfaces.bounded_body import BodyLimits, BodyRefused, BoundedBody

LIMITS = BodyLimits(max_bytes=10_000, timeout_seconds=60, max_json_values=1_000)


def receiving(pieces: Iterator[bytes]) -> Receive:
    async def receive() -> Message:
        piece = next(pieces, None)
        return {"type": "http.request", "body": piece or b"", "more_body": piece is not None}

    return receive


async def read(pieces: Iterator[bytes]) -> None:
    body = BoundedBody(receiving(pieces), LIMITS)
    while (await body.receive())["more_body"]:
        pass


async def test_a_body_is_refused_as_soon_as_it_has_too_many_values() -> None:
    pieces = iter([b'{"a": [', *[b"[1]," * 10] * 200])
    with pytest.raises(BodyRefused) as refused:
        await read(pieces)
    assert isinstance(refused.value.error, InvalidRequest)
    assert "limits.json-values" in refused.value.error.message
    # Each piece has twenty values.
    assert len([*pieces]) == 200 - 50


async def test_a_body_of_long_strings_has_few_values() -> None:
    await read(iter([b'{"a": "', b",[{" * 2_000, b'"}']))


async def test_a_body_is_refused_as_soon_as_it_is_too_large() -> None:
    with pytest.raises(BodyRefused) as refused:
        await read(iter([b'"' + b"a" * 6_000, b"a" * 6_000]))
    assert isinstance(refused.value.error, ContentTooLarge)


async def test_a_body_in_which_values_cannot_be_counted_is_refused() -> None:
    with pytest.raises(BodyRefused) as refused:
        await read(iter(['{"url": "a.example"}'.encode("utf-16-le")]))
    assert "UTF-8" in refused.value.error.message


@pytest.mark.parametrize("path", ["/api/v2/scrape", "/v1/scrape", "/v1/crawl", "/mcp"])
async def test_every_route_refuses_a_body_of_too_many_values(
    client: httpx2.AsyncClient, path: str
) -> None:
    # No list and no object in it is beyond its own limit.
    many = {f"k{place}": {f"k{key}": [1] for key in range(3_000)} for place in range(60)}
    given = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "url": "a.example", "schema": many}
    headers = {"Accept": "application/json, text/event-stream"}
    answer = await client.post(path, json=given, headers=headers)
    assert answer.status_code == 400
    assert "limits.json-values" in answer.json()["error"]["message"]


async def test_a_long_body_is_parsed_off_the_loop() -> None:
    body = json.dumps({"a": ["ember"] * 9_000}).encode()
    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    request = Request(scope, receiving(iter([body])))
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count_turns())
        assert await read_json(request, LimitsSettings()) == json.loads(body)
        counting.cancel()
    # Without a thread, nothing else would have had a turn.
    assert turns

"""Posting through the egress proxy: the status is what counts, however the answer goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cinder.errors import ConnectionFailed, DnsFailed, EgressBlocked, ScrapeTimeout
from cinder.fetch.posting import Poster
from tests.egress.loopback import (
    Behaviour,
    Origin,
    Reader,
    Writer,
    answer_of,
    answering,
    open_origin,
    open_proxy,
    read_request,
)


@asynccontextmanager
async def open_poster(*allow: str, timeout_seconds: float = 10) -> AsyncIterator[Poster]:
    async with (
        open_proxy(*allow, answers={"private.test": [["10.1.2.3"]]}) as proxy,
        Poster(proxy.proxy, max_concurrency=4, timeout_seconds=timeout_seconds) as poster,
    ):
        yield poster


async def post_to(behaviour: Behaviour) -> tuple[int, Origin]:
    async with open_origin(behaviour) as origin, open_poster(origin.pair) as poster:
        return await poster.post(origin.url, b"the body", {"X-Own": "yes"}), origin


async def test_body_and_headers_arrive_as_they_are() -> None:
    status, origin = await post_to(answering(answer_of(b"thanks", status=b"202 Accepted")))
    (head,) = origin.heads
    assert status == 202
    assert origin.bodies == [b"the body"]
    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert b"\r\nX-Own: yes\r\n" in head
    assert b"proxy-authorization" not in head.lower()


async def test_an_answer_that_is_too_long_counts_by_its_status() -> None:
    status, _ = await post_to(answering(answer_of(b"x" * 10_000_000)))
    assert status == 200


async def test_an_answer_that_breaks_off_counts_by_its_status() -> None:
    broken = answer_of(b"x" * 1000)[:-500]
    status, _ = await post_to(answering(broken))
    assert status == 200


async def test_a_connection_without_an_answer_is_a_failure() -> None:
    async with open_origin(answering(b"")) as origin, open_poster(origin.pair) as poster:
        with pytest.raises(ConnectionFailed):
            await poster.post(origin.url, b"the body", {})


async def test_a_receiver_that_does_not_answer_is_waited_for_so_long_and_no_longer() -> None:
    async def hang(origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        await reader.read()

    async with (
        open_origin(hang) as origin,
        open_poster(origin.pair, timeout_seconds=0.2) as poster,
    ):
        with pytest.raises(ScrapeTimeout):
            await poster.post(origin.url, b"the body", {})


async def test_what_the_policy_refuses_is_not_posted_to() -> None:
    async with open_poster() as poster:
        with pytest.raises(EgressBlocked):
            await poster.post("http://private.test/hook", b"", {})
        with pytest.raises(DnsFailed):
            await poster.post("http://unknown.test/hook", b"", {})


async def test_no_failure_shows_more_of_the_url_than_its_host() -> None:
    async with open_origin(answering(b"")) as origin, open_poster(origin.pair) as poster:
        with pytest.raises(ConnectionFailed) as broken:
            await poster.post(f"{origin.url}hidden?token=hidden", b"", {})
        with pytest.raises(EgressBlocked) as blocked:
            await poster.post("http://private.test/hidden", b"", {})
    assert "hidden" not in f"{broken.value}{blocked.value}"

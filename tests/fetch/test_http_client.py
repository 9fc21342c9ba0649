"""Requests through the egress proxy, and what is returned of incomplete responses."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cinder.errors import ConnectionFailed, DnsFailed, EgressBlocked, ScrapeTimeout
from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.models.http import HttpResponse
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
from tests.site import Canary


@asynccontextmanager
async def open_client(
    *allow: str, timeout_seconds: float = 10, homes: tuple[str, ...] = ()
) -> AsyncIterator[ProxiedClient]:
    options = ClientOptions(
        max_concurrency=4, timeout_seconds=timeout_seconds, max_body_bytes=1000, accepts_packed=True
    )
    async with (
        open_proxy(*allow, answers={"private.test": [["10.1.2.3"]]}) as proxy,
        ProxiedClient(proxy.proxy, options, homes=homes) as client,
    ):
        yield client


async def post_to(behaviour: Behaviour) -> tuple[HttpResponse, Origin]:
    async with open_origin(behaviour) as origin, open_client(origin.pair) as client:
        return await client.post(origin.url, b"the body", {"X-Own": "yes"}), origin


async def get_from(behaviour: Behaviour) -> tuple[HttpResponse, Origin]:
    async with open_origin(behaviour) as origin, open_client(origin.pair) as client:
        return await client.get(origin.url, {"X-Own": "yes"}), origin


async def test_body_and_headers_arrive_as_they_are() -> None:
    answer, origin = await post_to(answering(answer_of(b"thanks", status=b"202 Accepted")))
    (head,) = origin.heads
    assert (answer.status, answer.body, answer.is_cut) == (202, b"thanks", False)
    assert origin.bodies == [b"the body"]
    assert head.startswith(b"POST / HTTP/1.1\r\n")
    assert b"\r\nX-Own: yes\r\n" in head
    assert b"proxy-authorization" not in head.lower()


async def test_an_answer_that_is_too_long_is_cut_and_keeps_its_status() -> None:
    answer, _ = await post_to(answering(answer_of(b"x" * 10_000_000)))
    assert (answer.status, answer.body, answer.is_cut) == (200, b"x" * 1000, True)


async def test_a_body_is_bounded_by_what_it_unpacks_to() -> None:
    packed = gzip.compress(b"x" * 10_000_000)
    answer, origin = await get_from(answering(answer_of(packed, b"Content-Encoding: gzip")))
    assert (answer.body, answer.is_cut) == (b"x" * 1000, True)
    assert b"\r\nAccept-Encoding: gzip, deflate, br\r\n" in origin.heads[0]


async def test_an_answer_that_breaks_off_is_cut_and_keeps_its_status() -> None:
    broken = answer_of(b"x" * 1000)[:-500]
    answer, _ = await post_to(answering(broken))
    assert (answer.status, answer.body, answer.is_cut) == (200, b"x" * 500, True)


async def test_an_answer_has_its_status_headers_and_body() -> None:
    sent = answer_of(b"no", b"Retry-After: 7", status=b"429 Too Many Requests")
    answer, origin = await get_from(answering(sent))
    assert (answer.status, answer.body, answer.headers["retry-after"]) == (429, b"no", "7")
    assert origin.heads[0].startswith(b"GET / HTTP/1.1\r\n")
    assert b"\r\nX-Own: yes\r\n" in origin.heads[0]


async def test_redirects_are_followed_within_the_origin_and_not_without_end() -> None:
    answer, origin = await get_from(
        answering(answer_of(b"", b"Location: /again", status=b"302 Found"))
    )
    assert answer.status == 302
    assert [head.split()[1] for head in origin.heads] == [b"/", b"/again", b"/again", b"/again"]


async def test_a_redirect_that_leads_elsewhere_is_the_answer(canary: Canary) -> None:
    location = f"Location: http://127.0.0.1:{canary.port}/".encode()
    moved = answering(answer_of(b"", location, status=b"301 Moved Permanently"))
    async with open_origin(moved) as origin, open_client("127.0.0.1/32") as client:
        answer = await client.get(origin.url, {})
    assert answer.status == 301
    assert not canary.was_reached()


@pytest.mark.parametrize("location", [b"file:///etc/passwd", b"http://", b""])
async def test_a_redirect_that_leads_nowhere_is_the_answer(location: bytes) -> None:
    sent = answer_of(b"", b"Location: " + location, status=b"302 Found")
    answer, origin = await get_from(answering(sent))
    assert (answer.status, len(origin.heads)) == (302, 1)


async def test_a_home_may_be_private_and_is_open_to_its_client_alone(canary: Canary) -> None:
    async with open_origin(answering(answer_of(b"home"))) as origin:
        async with open_client(homes=(origin.url,)) as client:
            assert (await client.get(origin.url, {})).body == b"home"
            for foreign in (f"http://127.0.0.1:{canary.port}/", "http://private.test/"):
                with pytest.raises(EgressBlocked):
                    await client.get(foreign, {})
        async with open_client() as stranger:
            with pytest.raises(EgressBlocked):
                await stranger.get(origin.url, {})
    assert not canary.was_reached()


async def test_a_connection_without_an_answer_is_a_failure() -> None:
    async with open_origin(answering(b"")) as origin, open_client(origin.pair) as client:
        with pytest.raises(ConnectionFailed):
            await client.post(origin.url, b"the body", {})


async def test_a_receiver_that_does_not_answer_is_waited_for_so_long_and_no_longer() -> None:
    async def hang(origin: Origin, reader: Reader, writer: Writer) -> None:
        await read_request(origin, reader)
        await reader.read()

    async with (
        open_origin(hang) as origin,
        open_client(origin.pair, timeout_seconds=0.2) as client,
    ):
        with pytest.raises(ScrapeTimeout):
            await client.post(origin.url, b"the body", {})


async def test_what_the_policy_refuses_is_not_posted_to() -> None:
    async with open_client() as client:
        with pytest.raises(EgressBlocked):
            await client.post("http://private.test/hook", b"", {})
        with pytest.raises(DnsFailed):
            await client.post("http://unknown.test/hook", b"", {})


async def test_no_failure_shows_anything_of_the_url() -> None:
    async with open_origin(answering(b"")) as origin, open_client(origin.pair) as client:
        with pytest.raises(ConnectionFailed) as broken:
            await client.post(f"{origin.url}hidden?token=hidden", b"", {})
        with pytest.raises(EgressBlocked) as blocked:
            await client.post("http://private.test/hidden", b"", {})
        with pytest.raises(DnsFailed) as unknown:
            await client.post("http://unknown.test/hidden", b"", {})
    async with open_client(origin.pair) as client:
        with pytest.raises(ConnectionFailed) as closed:
            await client.post(f"{origin.url}hidden", b"", {})
    failures = [caught.value for caught in (broken, blocked, unknown, closed)]
    assert [failure.url for failure in failures] == [None] * 4
    for told in ("hidden", "127.0.0.1", str(origin.port), "private.test", "unknown.test"):
        assert told not in " ".join(map(str, failures)), told

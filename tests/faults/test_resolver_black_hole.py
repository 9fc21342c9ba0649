"""A name server that never answers: its names fail in time, and all others go on as before."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from ipaddress import ip_address

import httpx2
import pytest

from cinder.app.composition import open_app
from cinder.config.settings import Settings
from cinder.egress.base import Address
from cinder.egress.resolver import SystemResolver
from cinder.errors import DnsFailed
from cinder.server.asgi import create_app
from tests.api.working import asking
from tests.faults.asking import error_of, scrape, until
from tests.site import Site

_TIMEOUT_SECONDS = 0.5
# For a busy machine: far less than a lookup that hangs, or a request's own time, would take.
_AMPLE_SECONDS = 10
_PER_SITE = 2
_LOOKUPS = 4
_GIVEN_UP = 6


class BlackHole:
    """Looks names up as the system does: under `hole.test` and its like nobody ever answers."""

    def __init__(self) -> None:
        self._is_over = threading.Event()

    def __call__(self, host: str) -> list[Address]:
        if "hole" in host:
            self._is_over.wait()
            raise OSError("nobody answered")
        return [ip_address("127.0.0.1")]

    def end(self) -> None:
        """Have the system give all lookups up."""
        self._is_over.set()


@pytest.fixture
def hole() -> Iterator[BlackHole]:
    opened = BlackHole()
    yield opened
    opened.end()


@pytest.fixture
def resolver(hole: BlackHole) -> SystemResolver:
    return SystemResolver(
        timeout_seconds=_TIMEOUT_SECONDS,
        max_lookups=_LOOKUPS,
        max_per_site=_PER_SITE,
        max_given_up=_GIVEN_UP,
        look_up=hole,
    )


@pytest.fixture
async def client(settings: Settings, resolver: SystemResolver) -> AsyncIterator[httpx2.AsyncClient]:
    api = create_app(settings, open_app(settings, resolver=resolver))
    async with asking(api) as opened:
        yield opened


def count_threads() -> int:
    return sum(thread.name.startswith("cinder-dns") for thread in threading.enumerate())


async def test_requests_fail_in_time_and_others_are_served_meanwhile(
    client: httpx2.AsyncClient, hole: BlackHole, site: Site
) -> None:
    began = time.monotonic()
    async with asyncio.TaskGroup() as requests:
        lost = [
            requests.create_task(scrape(client, f"http://{number}.hole.test/", mode="static"))
            for number in range(20)
        ]
        found = requests.create_task(scrape(client, f"http://site.test:{site.port}/article"))
        assert (await found).status_code == 200
    assert {error_of(each.result()) for each in lost} == {(424, "DNS_ERROR")}
    assert "did not resolve within 0.5 seconds" in lost[0].result().json()["error"]["message"]
    assert time.monotonic() - began < _AMPLE_SECONDS
    assert count_threads() <= _PER_SITE
    hole.end()

    async def has_ended() -> bool:
        return count_threads() == 0

    await until(has_ended)


async def test_a_site_of_many_names_has_few_threads_and_leaves_the_rest_to_others(
    resolver: SystemResolver,
) -> None:
    async with asyncio.TaskGroup() as lookups:
        lost = [lookups.create_task(_fails(resolver, f"{n}.hole.test")) for n in range(50)]
        assert await resolver.resolve("good.test") == [ip_address("127.0.0.1")]
        assert count_threads() <= _PER_SITE
    assert all(each.result() for each in lost)


async def test_threads_that_hang_are_bounded_and_their_places_are_others(
    resolver: SystemResolver, hole: BlackHole
) -> None:
    await _lose_places(resolver, "first")
    assert await resolver.resolve("good.test") == [ip_address("127.0.0.1")]
    for name in ("second", "third"):
        await _lose_places(resolver, name)
    assert count_threads() <= _LOOKUPS + _GIVEN_UP
    hole.end()

    async def resolves() -> bool:
        try:
            return bool(await resolver.resolve("good.test"))
        except DnsFailed:
            return False

    await until(resolves)


async def _lose_places(resolver: SystemResolver, name: str) -> None:
    """Have as many lookups hang as there are places, each of another site."""
    lost = (_fails(resolver, f"www.hole-{name}{number}.test") for number in range(_LOOKUPS))
    assert all(await asyncio.gather(*lost))


async def _fails(resolver: SystemResolver, host: str) -> bool:
    """Whether a lookup fails, and in time."""
    began = time.monotonic()
    with pytest.raises(DnsFailed):
        await resolver.resolve(host)
    return time.monotonic() - began < _AMPLE_SECONDS

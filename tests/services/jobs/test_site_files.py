"""The robots.txt and the sitemaps of sites."""

import asyncio
import gzip
from datetime import timedelta

import pytest

from cinder.crawl.urls import CanonicalUrl, canonicalize_url
from cinder.errors import CinderError, DnsFailed, EgressBlocked
from cinder.services.jobs.site_files import RobotsCache, SitemapReader
from cinder.store.documents import Store
from tests.services.jobs.samples import HOST, TableFetcher
from tests.store.samples import Clock

ROBOTS = f"{HOST}/robots.txt"
RULES = b"User-agent: *\nDisallow: /private\nCrawl-delay: 2"


async def test_many_who_ask_at_once_cost_a_site_one_request(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher({ROBOTS: RULES})
    keeper = RobotsCache(store.ledger, fetcher, clock)

    rules = await asyncio.gather(*(keeper.rules(HOST) for _ in range(20)))

    assert fetcher.asked == {ROBOTS: 1}
    assert all(each is rules[0] for each in rules)
    assert rules[0].judge(f"{HOST}/private/x") == "disallowed by robots.txt"
    assert rules[0].judge(f"{HOST}/public") is None
    assert rules[0].crawl_delay_seconds == 2


async def test_what_one_process_asked_another_knows(store: Store, clock: Clock) -> None:
    await RobotsCache(store.ledger, TableFetcher({ROBOTS: RULES}), clock).rules(HOST)
    unused = TableFetcher({})
    rules = await RobotsCache(store.ledger, unused, clock).rules(HOST)

    assert not unused.asked
    assert rules.judge(f"{HOST}/private/x") is not None


async def test_rules_are_asked_for_again_after_a_day(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher({ROBOTS: RULES})
    keeper = RobotsCache(store.ledger, fetcher, clock)
    await keeper.rules(HOST)
    fetcher.table[ROBOTS] = b""
    clock.move_on(timedelta(hours=23))
    assert (await keeper.rules(HOST)).judge(f"{HOST}/private") is not None
    clock.move_on(timedelta(hours=1))

    assert (await keeper.rules(HOST)).judge(f"{HOST}/private") is None
    assert fetcher.asked == {ROBOTS: 2}


async def test_a_site_without_rules_allows_all(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher({ROBOTS: 403})
    keeper = RobotsCache(store.ledger, fetcher, clock)

    for _ in range(2):
        rules = await keeper.rules(HOST)
        assert (rules.must_wait, rules.judge(f"{HOST}/x")) == (False, None)
    assert fetcher.asked == {ROBOTS: 1}


async def test_a_site_that_cannot_say_is_waited_for_and_asked_again(
    store: Store, clock: Clock
) -> None:
    fetcher = TableFetcher({ROBOTS: 503})
    keeper = RobotsCache(store.ledger, fetcher, clock)
    assert (await keeper.rules(HOST)).must_wait
    fetcher.table[ROBOTS] = None
    assert (await keeper.rules(HOST)).must_wait
    assert (await store.ledger.find_host(HOST)).robots_failures == 2
    fetcher.table[ROBOTS] = RULES

    assert not (await keeper.rules(HOST)).must_wait
    assert (await store.ledger.find_host(HOST)).robots_failures == 0


@pytest.mark.parametrize("kind", [EgressBlocked, DnsFailed])
async def test_a_host_that_cannot_be_reached_at_all_is_not_waited_for(
    store: Store, clock: Clock, kind: type[CinderError]
) -> None:
    fetcher = TableFetcher({ROBOTS: kind("It cannot be reached", url=ROBOTS)})
    keeper = RobotsCache(store.ledger, fetcher, clock)
    with pytest.raises(kind):
        await keeper.rules(HOST)


async def test_a_robots_txt_that_leads_where_unused_may_go_is_waited_for(
    store: Store, clock: Clock
) -> None:
    elsewhere = EgressBlocked("It is not public", url="http://127.0.0.1:1/robots.txt")
    keeper = RobotsCache(store.ledger, TableFetcher({ROBOTS: elsewhere}), clock)
    assert (await keeper.rules(HOST)).must_wait


def start() -> CanonicalUrl:
    address = canonicalize_url(f"{HOST}/docs/")
    assert address is not None
    return address


def naming(root: str, *urls: str) -> bytes:
    places = "".join(f"<x><loc>{url}</loc></x>" for url in urls)
    return f"<{root}>{places}</{root}>".encode()


async def read(store: Store, clock: Clock, fetcher: TableFetcher) -> list[str]:
    reader = SitemapReader(RobotsCache(store.ledger, fetcher, clock), fetcher)
    return await reader.read(start())


async def test_the_sitemap_in_the_usual_place_is_read(store: Store, clock: Clock) -> None:
    pages = naming("urlset", f"{HOST}/a", f"{HOST}/b", f"{HOST}/a")
    fetcher = TableFetcher({f"{HOST}/sitemap.xml": pages})

    assert await read(store, clock, fetcher) == [f"{HOST}/a", f"{HOST}/b"]


async def test_those_that_robots_txt_names_are_read_instead_packed_and_in_lists(
    store: Store, clock: Clock
) -> None:
    fetcher = TableFetcher(
        {
            f"{HOST}/robots.txt": f"Sitemap: {HOST}/index.xml".encode(),
            f"{HOST}/index.xml": naming(
                "sitemapindex", f"{HOST}/1.xml.gz", f"{HOST}/missing.xml", f"{HOST}/index.xml"
            ),
            f"{HOST}/1.xml.gz": gzip.compress(naming("urlset", f"{HOST}/packed")),
        }
    )

    assert await read(store, clock, fetcher) == [f"{HOST}/packed"]
    assert f"{HOST}/sitemap.xml" not in fetcher.asked
    assert max(fetcher.asked.values()) == 1


async def test_lists_without_end_are_left_after_fifty_sitemaps(store: Store, clock: Clock) -> None:
    table: dict[str, bytes | int | None] = {
        f"{HOST}/{n}.xml": naming("sitemapindex", *(f"{HOST}/{n + m}.xml" for m in range(1, 4)))
        for n in range(200)
    }
    fetcher = TableFetcher({**table, f"{HOST}/robots.txt": f"Sitemap: {HOST}/0.xml".encode()})

    assert await read(store, clock, fetcher) == []
    assert fetcher.asked.total() == 1 + 50


async def test_no_more_pages_are_taken_than_a_sitemap_may_have(store: Store, clock: Clock) -> None:
    fetcher = TableFetcher(
        {
            f"{HOST}/sitemap.xml": naming("sitemapindex", f"{HOST}/1.xml", f"{HOST}/2.xml"),
            f"{HOST}/1.xml": naming("urlset", *(f"{HOST}/a{n}" for n in range(40_000))),
            f"{HOST}/2.xml": naming("urlset", *(f"{HOST}/b{n}" for n in range(40_000))),
        }
    )

    assert len(await read(store, clock, fetcher)) == 50_000


async def test_nothing_is_asked_of_a_site_that_cannot_say_what_robots_may_do(
    store: Store, clock: Clock
) -> None:
    fetcher = TableFetcher({f"{HOST}/robots.txt": 500})

    assert await read(store, clock, fetcher) == []
    assert fetcher.asked == {f"{HOST}/robots.txt": 1}


async def test_a_sitemap_that_cannot_be_had_names_nothing(store: Store, clock: Clock) -> None:
    assert await read(store, clock, TableFetcher({f"{HOST}/sitemap.xml": None})) == []

"""The pages that a site's sitemaps name."""

import gzip

from cinder.crawl.addresses import Address, read_address
from cinder.services.jobs.robots import RobotsKeeper
from cinder.services.jobs.seeds import SitemapReader
from cinder.store import Store
from tests.services.jobs.samples import HOST, TableFetcher
from tests.store.samples import Clock


def start() -> Address:
    address = read_address(f"{HOST}/docs/")
    assert address is not None
    return address


def naming(root: str, *urls: str) -> bytes:
    places = "".join(f"<x><loc>{url}</loc></x>" for url in urls)
    return f"<{root}>{places}</{root}>".encode()


async def read(store: Store, clock: Clock, fetcher: TableFetcher) -> list[str]:
    reader = SitemapReader(RobotsKeeper(store.ledger, fetcher, clock), fetcher)
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

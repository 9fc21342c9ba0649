from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from cinder.app.search import read_feed_items
from cinder.models.search import SearchHit
from cinder.search.opensearch import OpenSearchProvider, choose_url
from cinder.xml_tree import parse_xml
from tests.search.opening import asking, failure_of, open_client
from tests.search_servers import NOW, OpenSearchServer, Reply, serving, some_pages
from tests.search_servers.opensearch import ATOM, JSON, RSS

BASE = "https://a.example/opensearch.xml"


@asynccontextmanager
async def open_engine(
    *media_types: str,
) -> AsyncIterator[tuple[OpenSearchProvider, OpenSearchServer]]:
    server = OpenSearchServer(some_pages(25), *media_types)
    async with serving(server), open_client(server) as client:
        yield OpenSearchProvider("wiki", client, server.description_url, read_feed_items), server


@pytest.mark.parametrize("media_type", [RSS, ATOM, JSON])
async def test_results_come_from_any_feed(media_type: str) -> None:
    async with open_engine(media_type) as (wiki, server):
        hits = await wiki.search(asking("embers"))
    assert (len(hits), wiki.name) == (20, "wiki")
    assert hits[1] == SearchHit(
        url="https://embers.example/embers/1",
        title="All about embers, part 1",
        summary="What to know of embers & <ash>: number 1.",
        published_at=NOW - timedelta(days=1),
    )
    description, search = server.asked
    assert description.path == "/opensearch.xml"
    assert search.headers["accept"] == media_type
    assert search.parameters == {"q": "embers", "start": "1", "n": "20", "lang": "*"}


async def test_pages_follow_one_another_by_one_description() -> None:
    async with open_engine(RSS) as (wiki, server):
        pages = [await wiki.search(asking("embers", page=page, count=10)) for page in range(4)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({hit.url for page in pages for hit in page}) == 25
    assert [asked.path for asked in server.asked].count("/opensearch.xml") == 1


async def test_a_description_that_cannot_be_read_says_what_to_check() -> None:
    setting = "search.endpoints.wiki.description-url"
    async with open_engine() as (wiki, server):
        for reply in [
            Reply(b"<p>not XML", "text/html"),
            Reply(b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "text/xml"),
            Reply(b"", status=404),
        ]:
            server.fail_with(reply)
            assert setting in (await failure_of(wiki)).message
        assert len(await wiki.search(asking("embers"))) == 20


async def test_answers_that_are_no_feeds_say_what_to_set() -> None:
    async with open_engine(JSON) as (wiki, server):
        await wiki.search(asking("embers"))
        for reply in [Reply(b'{"results": []}'), Reply(b"<rss><channel>", RSS), Reply(b"", RSS)]:
            server.fail_with(reply)
            assert "search.endpoints.wiki.url" in (await failure_of(wiki)).message


async def test_an_engine_without_feeds_is_told() -> None:
    async with open_engine("text/html") as (wiki, _):
        assert "answers with RSS" in (await failure_of(wiki)).message


def urls(*elements: str) -> str:
    return f"<OpenSearchDescription>{''.join(elements)}</OpenSearchDescription>"


def url_element(kind: str, template: str, **more: str) -> str:
    rest = "".join(f' {name}="{value}"' for name, value in more.items())
    return f'<Url type="{kind}" template="{template}"{rest}/>'


def chosen(*elements: str) -> tuple[str, str] | None:
    found = choose_url(parse_xml(urls(*elements)), BASE)
    return None if found is None else (found.media_type, found.fill(asking("a b", page=1, count=5)))


Q = "https://a.example/?q={searchTerms}"


def test_the_feed_that_says_most_is_chosen() -> None:
    elements = [url_element(kind, Q) for kind in (JSON, RSS, f"{ATOM}; charset=utf-8", "text/html")]
    assert chosen(*elements) == (ATOM, "https://a.example/?q=a%20b")


@pytest.mark.parametrize(
    "element",
    [
        url_element("application/x-suggestions+json", Q),
        url_element(RSS, Q, rel="suggestions"),
        url_element(RSS, Q, method="post"),
        url_element(RSS, "https://a.example/?q={searchTerms}&amp;box={geo:box}"),
        url_element(RSS, "https://{searchTerms}.example/"),
        url_element(RSS, "ftp://a.example/{searchTerms}"),
        url_element(RSS, "https://a.example/"),
        "<Url/>",
    ],
)
def test_urls_that_give_no_results_are_passed_over(element: str) -> None:
    assert chosen(element) is None
    assert chosen(element, url_element(JSON, Q)) == (JSON, "https://a.example/?q=a%20b")


@pytest.mark.parametrize(
    ("template", "more", "url"),
    [
        ("/find/{searchTerms}?p={startPage}", {}, "https://a.example/find/a%20b?p=2"),
        (
            "/?q={searchTerms}&amp;p={startPage?}",
            {"pageOffset": "0"},
            "https://a.example/?q=a%20b&p=1",
        ),
        (
            "/?q={searchTerms}&amp;i={startIndex}",
            {"indexOffset": "0"},
            "https://a.example/?q=a%20b&i=5",
        ),
        (
            "/?q={searchTerms}&amp;b={geo:box?}&amp;e={inputEncoding}",
            {},
            "https://a.example/?q=a%20b&b=&e=UTF-8",
        ),
        ("/?q={searchTerms}", {"rel": "self results"}, "https://a.example/?q=a%20b"),
    ],
)
def test_templates_are_filled(template: str, more: dict[str, str], url: str) -> None:
    assert chosen(url_element(RSS, template, **more)) == (RSS, url)


def titles(body: str) -> Iterator[str]:
    return (item.title for item in read_feed_items(body.encode(), "text/xml"))


def test_markup_that_a_title_speaks_of_stays() -> None:
    rss = "<rss><channel><item><title>List&amp;lt;String&amp;gt;</title></item></channel></rss>"
    assert list(titles(rss)) == ["List&lt;String&gt;"]

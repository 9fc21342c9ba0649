"""POST /v1/map: its answer, streamed where it is long, and what it refuses."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.server.asgi import create_app
from tests.api.working import TOKEN, asking
from tests.mapped_site import MappedSite, serve_mapped_site

PAGES = [f"/page-{number}" for number in range(2_500)]


@pytest.fixture
def mapped() -> Iterator[MappedSite]:
    with serve_mapped_site() as running:
        running.put({"/": "<title>Café</title><main><h1>Café</h1><a href='/menu'>Menu</a></main>"})
        running.put_sitemaps(PAGES, 1_000)
        yield running


@pytest.fixture
async def client(tmp_path: Path, mapped: MappedSite) -> AsyncIterator[httpx2.AsyncClient]:
    settings = read_settings(
        data_dir=tmp_path,
        server={"api_token": TOKEN},
        egress={"allow": [mapped.address]},
        scrape={"retry_wait_seconds": 0.01},
    )
    async with asking(create_app(settings, open_app(settings))) as opened:
        yield opened


async def test_a_short_map_has_titles_sources_and_dates(
    client: httpx2.AsyncClient, mapped: MappedSite
) -> None:
    response = await client.post("/v1/map", json={"url": mapped.url("/"), "limit": 3})
    assert response.status_code == 200
    assert response.json() == {
        "url": mapped.url("/"),
        "urls": [
            {"url": mapped.url("/"), "title": "Café", "source": "page"},
            {"url": mapped.url("/menu"), "title": "Menu", "source": "page"},
            {"url": mapped.url("/page-0"), "source": "sitemap", "lastModified": "2026-01-01"},
        ],
        "hasMore": True,
        "nextOffset": 3,
    }


async def test_a_long_map_is_streamed_whole(client: httpx2.AsyncClient, mapped: MappedSite) -> None:
    mapped.put({"/sitemap-2000.xml.gz": 404})
    response = await client.post("/v1/map", json={"url": mapped.url("/")})
    assert "content-length" not in response.headers
    answer = response.json()
    found = [each["url"].removeprefix(mapped.base) for each in answer["urls"]]
    assert found == ["/", "/menu", *PAGES[:2_000]]
    assert answer["hasMore"] is False
    assert "sitemap-2000.xml.gz (HTTP 404)" in answer["warnings"][0]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"limit": 100_001}, "limit"),
        ({"scope": "galaxy"}, "scope"),
        ({"sitemap": "maybe"}, "sitemap"),
        ({"search": ""}, "search"),
        ({"depth": 2}, "depth"),
    ],
)
async def test_what_is_wrong_is_named(
    client: httpx2.AsyncClient, body: dict[str, object], field: str
) -> None:
    response = await client.post("/v1/map", json={"url": "https://a.test/", **body})
    assert response.status_code == 400
    problems = response.json()["error"]["validationErrors"]
    assert [problem["field"] for problem in problems] == [field]


async def test_an_address_that_egress_refuses_is_refused(client: httpx2.AsyncClient) -> None:
    response = await client.post("/v1/map", json={"url": "http://127.0.0.1:1/"})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "EGRESS_BLOCKED")

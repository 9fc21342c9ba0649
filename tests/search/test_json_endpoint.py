from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import pytest

from cinder.models.search import SearchHit
from cinder.search.json_endpoint import JsonEndpoint, JsonEndpointProvider, JsonMapping
from tests.search.opening import asking, failure_of, open_client
from tests.search_servers import NOW, JsonServer, Reply, serving, some_pages
from tests.search_servers.json_engine import TOKEN

PARAMETERS = "?words={query}&from={offset}&size={count}"
MAPPING = JsonMapping(
    results="data.hits",
    url="link.href",
    title="name",
    summary="excerpt",
    date="changed",
    are_html=True,
)
ENDPOINT = JsonEndpoint(url="", headers={"X-Token": TOKEN}, mapping=MAPPING, max_count=10)


@asynccontextmanager
async def open_endpoint(
    endpoint: JsonEndpoint = ENDPOINT, parameters: str = PARAMETERS
) -> AsyncIterator[tuple[JsonEndpointProvider, JsonServer]]:
    async with serving(JsonServer(some_pages(15))) as server, open_client(server) as client:
        described = replace(endpoint, url=f"{server.url}/find{parameters}")
        yield JsonEndpointProvider("inner", client, described), server


async def test_results_are_found_where_the_mapping_says() -> None:
    async with open_endpoint() as (inner, _):
        hits = await inner.search(asking("embers"))
    assert inner.name == "inner"
    assert hits[1] == SearchHit(
        url="https://embers.example/embers/1",
        title="All about embers, part 1",
        summary="What to know of embers & <ash>: number 1.",
        published_at=NOW - timedelta(days=1),
    )


async def test_pages_follow_one_another_and_end() -> None:
    async with open_endpoint() as (inner, server):
        pages = [await inner.search(asking("embers", page=page)) for page in range(3)]
    assert [len(page) for page in pages] == [10, 5, 0]
    assert [asked.parameters["from"] for asked in server.asked] == ["0", "10", "20"]


@pytest.mark.parametrize("first_page", [0, 1])
async def test_pages_are_counted_from_the_first_one_on(first_page: int) -> None:
    endpoint = replace(ENDPOINT, first_page=first_page)
    async with open_endpoint(endpoint, "?words={query}&page={page}") as (inner, server):
        await inner.search(asking("embers", page=2))
    assert server.asked[0].parameters == {"words": "embers", "page": str(first_page + 2)}


async def test_without_a_place_for_pages_there_is_one_alone() -> None:
    async with open_endpoint(parameters="?words={query}") as (inner, server):
        assert len(await inner.search(asking("embers"))) == 10
        assert await inner.search(asking("embers", page=1)) == ()
    assert len(server.asked) == 1


async def test_a_mapping_that_does_not_fit_says_what_to_set() -> None:
    for mapping, setting in [
        (replace(MAPPING, results="results"), "search.endpoints.inner.results"),
        (replace(MAPPING, url="url"), "search.endpoints.inner.url-field"),
    ]:
        async with open_endpoint(replace(ENDPOINT, mapping=mapping)) as (inner, _):
            assert setting in (await failure_of(inner)).message


async def test_addresses_are_made_of_parts_where_results_have_only_those() -> None:
    mapping = JsonMapping(results="", url="key", result_url="https://wiki.example/page/{url}?v=1")
    async with open_endpoint(replace(ENDPOINT, mapping=mapping)) as (inner, server):
        server.fail_with(Reply(b'[{"key": "A/B?c"}, {"key": ".."}, {"key": "Talk:D"}, {}]'))
        hits = await inner.search(asking("embers"))
    assert [hit.url for hit in hits] == [
        "https://wiki.example/page/A%2FB%3Fc?v=1",
        "https://wiki.example/page/Talk%3AD?v=1",
    ]


async def test_headers_stand_in_for_the_usual_ones() -> None:
    headers = {"accept": "text/json", "X-Token": TOKEN}
    async with open_endpoint(replace(ENDPOINT, headers=headers)) as (inner, server):
        await inner.search(asking("embers"))
    assert server.asked[0].headers["accept"] == "text/json"
    assert server.asked[0].headers["user-agent"].startswith("cinder/")


async def test_refusals_are_told() -> None:
    async with open_endpoint(replace(ENDPOINT, headers={})) as (inner, server):
        refused = await failure_of(inner)
        server.fail_with(Reply(b"", status=429, headers={"Retry-After": "5"}))
        limited = await failure_of(inner)
    assert refused.message == (
        "The search endpoint 'inner' answered 401: it refuses the request; check "
        "search.endpoints.inner"
    )
    assert limited.retry_after_seconds == 5


async def test_a_query_of_dots_does_not_climb_the_path() -> None:
    async with open_endpoint(parameters="/{query}/all") as (inner, server):
        failed = await failure_of(inner, asking(".."))
        server.fail_with(Reply(b'{"data": {"hits": []}}'))
        await inner.search(asking("../secrets?x#y"))
    assert "another path" in failed.message
    assert [asked.target for asked in server.asked] == ["/find/..%2Fsecrets%3Fx%23y/all"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://a.example/", "{query}"),
        ("https://a.example/?q={query}&key={key}", "{key}"),
        ("https://{query}.example/", "without"),
        ("https://a.example:{count}/?q={query}", "without"),
        ("{query}", "without"),
        ("a.example/?q={query}", "without"),
        ("https://a.example/#{query}", "{query}"),
        ("ftp://a.example/{query}", "http"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"search\.endpoints\.inner\.url: ") as refused:
        JsonEndpointProvider("inner", None, replace(ENDPOINT, url=url))  # type: ignore[arg-type]  # it is never asked
    assert words in str(refused.value)


@pytest.mark.parametrize("headers", [{"X Y": "1"}, {"X": "a\r\nY: b"}, {"Host": "b.example"}])
def test_headers_that_cannot_be_sent_are_refused(headers: dict[str, str]) -> None:
    endpoint = replace(ENDPOINT, url="https://a.example/?q={query}", headers=headers)
    with pytest.raises(ValueError, match=r"search\.endpoints\.inner\.headers"):
        JsonEndpointProvider("inner", None, endpoint)  # type: ignore[arg-type]  # it is never asked

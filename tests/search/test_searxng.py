from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from structlog.testing import capture_logs

from cinder.models.search import SearchFilters, SearchHit
from cinder.search.searxng import SearxngProvider
from tests.search.opening import asking, failure_of, open_client
from tests.search_servers import NOW, Reply, SearxngServer, serving, some_pages
from tests.search_servers.searxng import LIMITED


@asynccontextmanager
async def open_searxng(
    server: SearxngServer | None = None, *, path: str = "", timeout_seconds: float = 10
) -> AsyncIterator[tuple[SearxngProvider, SearxngServer]]:
    async with (
        serving(server or SearxngServer(some_pages(25))) as running,
        open_client(running, timeout_seconds=timeout_seconds) as client,
    ):
        yield SearxngProvider(client, running.url + path), running


async def test_results_come_with_title_passage_date_and_score() -> None:
    async with open_searxng() as (searxng, server):
        hits = await searxng.search(asking("embers"))
    assert len(hits) == 10
    assert hits[1] == SearchHit(
        url="https://embers.example/embers/1",
        title="All about embers, part 1",
        summary="What to know of embers & <ash>: number 1.",
        published_at=NOW - timedelta(days=1),
        score=0.5,
    )
    assert server.asked[0].headers["accept"] == "application/json"
    assert server.asked[0].headers["user-agent"].startswith("cinder/")


async def test_pages_follow_one_another_and_end() -> None:
    async with open_searxng() as (searxng, _):
        pages = [await searxng.search(asking("embers", page=page)) for page in range(4)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({hit.url for page in pages for hit in page}) == 25


async def test_filters_are_passed_on_as_hints() -> None:
    filters = SearchFilters(
        include_domains=("a.example", "b.example"),
        exclude_domains=("c.example", "not a domain"),
        required_text=("number 1", 'a "quoted" one'),
        max_age_days=3,
    )
    async with open_searxng() as (searxng, server):
        await searxng.search(asking("embers", filters=filters))
    assert server.asked[0].parameters == {
        "q": 'embers (site:a.example OR site:b.example) -site:c.example "number 1"',
        "format": "json",
        "pageno": "1",
        "time_range": "week",
    }


@pytest.mark.parametrize("days", [None, 400])
async def test_an_age_beyond_a_year_is_no_hint(days: float | None) -> None:
    async with open_searxng() as (searxng, server):
        await searxng.search(asking("embers", filters=SearchFilters(max_age_days=days)))
    assert "time_range" not in server.asked[0].parameters


async def test_an_instance_may_stand_below_a_path() -> None:
    async with open_searxng(path="/searx/") as (searxng, server):
        failed = await failure_of(searxng)
    assert server.asked[0].path == "/searx/search"
    assert "CINDER_SEARCH__SEARXNG_URL" in failed.message


async def test_an_instance_without_json_says_how_to_switch_it_on() -> None:
    server = SearxngServer(some_pages(1), formats=("html",))
    async with open_searxng(server) as (searxng, _):
        refused = await failure_of(searxng)
        server.fail_with(Reply(b"<!doctype html><title>embers</title>", "text/html"))
        shown = await failure_of(searxng)
    assert refused.message == (
        "SearXNG answered 403: its JSON format is off; add `json` to "
        "`search.formats` in its settings.yml and restart it"
    )
    assert "`search.formats`" in shown.message


async def test_a_limiter_that_turns_cinder_away_is_told() -> None:
    async with open_searxng() as (searxng, server):
        server.fail_with(LIMITED, Reply(b"", "text/plain", 429, {"Retry-After": "30"}))
        without, with_wait = await failure_of(searxng), await failure_of(searxng)
    assert "limiter.toml" in without.message
    assert (without.retry_after_seconds, with_wait.retry_after_seconds) == (None, 30)
    assert with_wait.message.endswith("It may be asked again in 30 seconds")


async def test_nothing_found_by_engines_that_are_silent_is_a_failure() -> None:
    async with open_searxng() as (searxng, server):
        server.silent_engines = [["google", "Suspended: CAPTCHA"], ["bing", "timeout"]]
        some = await searxng.search(asking("embers"))
        failed = await failure_of(searxng, asking("unheard"))
        server.silent_engines = []
        nothing = await searxng.search(asking("unheard"))
    assert (len(some), nothing) == (10, ())
    assert "google (Suspended: CAPTCHA), bing (timeout)" in failed.message


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"{"),
        Reply(b"[" * 100_000),
        Reply(b"[]"),
        Reply(b'{"results": {}}'),
        Reply(b"", status=500),
        Reply(b" " * 300_000),
        Reply(b"", status=301, headers={"Location": "https://elsewhere.example/"}),
    ],
)
async def test_what_cannot_be_understood_is_a_failure(reply: Reply) -> None:
    async with open_searxng() as (searxng, server):
        server.fail_with(reply)
        failed = await failure_of(searxng)
    assert failed.message.startswith("SearXNG ")
    assert server.address not in failed.message


async def test_the_place_of_a_redirect_stands_in_the_log_without_our_parameters() -> None:
    moved = Reply(b"", status=301, headers={"Location": "https://b.example/search?key=hidden"})
    async with open_searxng() as (searxng, server):
        server.fail_with(moved)
        with capture_logs() as log:
            failed = await failure_of(searxng)
    assert "it redirects elsewhere; if that is its address" in failed.message
    assert "b.example" not in failed.message
    assert "https://b.example/search" in [line.get("place") for line in log]
    assert server.url in [line.get("address") for line in log]
    assert "hidden" not in f"{failed.message}{log}"


async def test_results_that_are_none_are_left_out() -> None:
    body = b"""{"results": [null, 7, [], {"url": ""}, {"url": "javascript:alert(1)"},
        {"url": "https://a.example/", "title": "\\ud800 A\\u0000", "content": {"a": 1},
         "publishedDate": "yesterday", "score": 1e400},
        {"url": "https://a.example/", "title": "again"}, {"url": "https://b.example/#x"}]}"""
    async with open_searxng() as (searxng, server):
        server.fail_with(Reply(body))
        hits = await searxng.search(asking("embers"))
    assert [(hit.url, hit.title) for hit in hits] == [
        ("https://a.example/", "? A"),
        ("https://b.example/#x", "https://b.example/#x"),
    ]
    assert (hits[0].summary, hits[0].published_at, hits[0].score) == ("", None, None)


async def test_an_instance_that_does_not_answer_in_time_is_given_up() -> None:
    async with open_searxng(timeout_seconds=0.2) as (searxng, server):
        server.stall()
        failed = await failure_of(searxng)
    assert "did not answer in time" in failed.message
    assert "Check that it runs" in failed.message


async def test_an_instance_that_does_not_run_is_told() -> None:
    async with serving(SearxngServer(some_pages(1))) as server:
        gone = server.url
    async with open_client(server) as client:
        failed = await failure_of(SearxngProvider(client, gone))
    assert "Connection refused" in failed.message


@pytest.mark.parametrize("url", ["", "ftp://a.example", "https://a.example/?q=1"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        SearxngProvider(None, url)  # type: ignore[arg-type]  # it is never asked


async def test_a_query_that_is_too_long_is_not_sent() -> None:
    async with open_searxng() as (searxng, server):
        failed = await failure_of(searxng, asking("long " * 1000))
    assert "shorten it" in failed.message
    assert server.asked == []

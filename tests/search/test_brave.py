from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from cinder.models.search import SearchFilters, SearchHit
from cinder.search.brave import BraveProvider
from tests.search.opening import asking, failure_of, open_client
from tests.search_servers import NOW, BraveServer, Reply, serving, some_pages
from tests.search_servers.brave import QUOTA_LIMITED, RATE_LIMITED, error_reply

KEY = "a-key-of-the-tests"


@asynccontextmanager
async def open_brave(
    *, key: str = KEY, pages: int = 50, timeout_seconds: float = 10
) -> AsyncIterator[tuple[BraveProvider, BraveServer]]:
    async with (
        serving(BraveServer(some_pages(pages), KEY)) as server,
        open_client(server, timeout_seconds=timeout_seconds) as client,
    ):
        yield BraveProvider(client, key, server.api_url), server


async def test_results_come_with_title_passage_and_date() -> None:
    async with open_brave() as (brave, server):
        hits = await brave.search(asking("embers"))
    assert len(hits) == 20
    assert hits[1] == SearchHit(
        url="https://embers.example/embers/1",
        title="All about embers, part 1",
        summary="What to know of embers & <ash>: number 1.",
        published_at=NOW - timedelta(days=1),
    )
    assert server.asked[0].headers["x-subscription-token"] == KEY
    assert server.asked[0].parameters == {
        "q": "embers",
        "count": "20",
        "offset": "0",
        "result_filter": "web",
        "text_decorations": "false",
    }


async def test_pages_follow_one_another_and_end() -> None:
    async with open_brave() as (brave, server):
        pages = [await brave.search(asking("embers", page=page)) for page in range(4)]
        beyond = await brave.search(asking("embers", page=10))
    assert [len(page) for page in pages] == [20, 20, 10, 0]
    assert len({hit.url for page in pages for hit in page}) == 50
    assert (beyond, len(server.asked)) == ((), 4)


async def test_no_more_is_asked_for_than_it_gives() -> None:
    async with open_brave() as (brave, server):
        await brave.search(asking("embers", count=100))
        await brave.search(asking("embers", count=5, page=1))
    assert [asked.parameters["count"] for asked in server.asked] == ["20", "5"]


@pytest.mark.parametrize(
    ("days", "freshness"), [(0.5, "pd"), (7, "pw"), (8, "pm"), (365, "py"), (366, None)]
)
async def test_the_age_is_passed_on_as_a_period(days: float, freshness: str | None) -> None:
    filters = SearchFilters(max_age_days=days, include_domains=("embers.example",))
    async with open_brave() as (brave, server):
        await brave.search(asking("embers", filters=filters))
    assert server.asked[0].parameters.get("freshness") == freshness
    assert server.asked[0].parameters["q"] == "embers site:embers.example"


async def test_hints_that_make_a_query_too_long_are_left_out() -> None:
    filters = SearchFilters(
        required_text=("all of these are words",), exclude_domains=("x.example",)
    )
    text = " ".join(f"w{number}" for number in range(49))
    async with open_brave() as (brave, server):
        await brave.search(asking(text, filters=filters))
        too_many_words = await failure_of(brave, asking(f"{text} two more"))
        too_many_chars = await failure_of(brave, asking("x" * 401))
    assert server.asked[0].parameters["q"] == f"{text} -site:x.example"
    assert "50 words" in too_many_words.message
    assert "400 characters" in too_many_chars.message
    assert len(server.asked) == 1


async def test_a_key_that_it_does_not_know_is_told() -> None:
    async with open_brave(key="wrong") as (brave, _):
        failed = await failure_of(brave)
    assert failed.message == (
        "Brave Search answered 422: it does not know the key; check search.brave-api-key "
        "(CINDER_SEARCH__BRAVE_API_KEY)"
    )


async def test_limits_say_when_to_ask_again() -> None:
    async with open_brave() as (brave, server):
        server.fail_with(RATE_LIMITED, QUOTA_LIMITED, Reply(b"slow down", "text/plain", 429))
        rate, quota, bare = [await failure_of(brave) for _ in range(3)]
    assert [rate.retry_after_seconds, quota.retry_after_seconds] == [1, 86400]
    assert "a second" in rate.message
    assert "this month are used up" in quota.message
    assert "asked too often" in bare.message


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (error_reply(404, "SUBSCRIPTION_NOT_FOUND", "No subscription found."), "subscription"),
        (error_reply(403, "OTHER", "Go away"), "CINDER_SEARCH__BRAVE_API_KEY"),
        (error_reply(422, "VALIDATION", "Unable to validate"), "Unable to validate"),
        (Reply(b"<html>", "text/html", 502), "troubles of its own"),
        (Reply(b'{"error": 7}', status=500), "troubles of its own"),
        (Reply(b"<html>", "text/html"), "text/html instead of JSON"),
    ],
)
async def test_errors_are_told(reply: Reply, words: str) -> None:
    async with open_brave() as (brave, server):
        server.fail_with(reply)
        failed = await failure_of(brave)
    assert words in failed.message
    assert KEY not in failed.message


async def test_finding_nothing_is_no_failure() -> None:
    async with open_brave() as (brave, _):
        assert await brave.search(asking("unheard")) == ()


async def test_an_api_that_does_not_answer_in_time_is_given_up() -> None:
    async with open_brave(timeout_seconds=0.2) as (brave, server):
        server.stall()
        failed = await failure_of(brave)
    assert "did not answer in time" in failed.message


@pytest.mark.parametrize("key", ["", " ", "two\nlines", "ké"])
def test_a_key_that_cannot_be_sent_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"search\.brave-api-key"):
        BraveProvider(None, key)  # type: ignore[arg-type]  # it is never asked

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cinder.models.search import SearchFilters, SearchHit
from cinder.search.duckduckgo import DuckDuckGoProvider, PageKind, read_page
from cinder.search.provider_throttle import ProviderThrottle
from tests.search.opening import asking, failure_of, open_client
from tests.search_servers import DuckDuckGoServer, Reply, serving, some_pages
from tests.search_servers.duckduckgo import CHALLENGE

HTML = "text/html"


@asynccontextmanager
async def open_duckduckgo(
    *, delay_seconds: float = 0, max_wait_seconds: float = 10
) -> AsyncIterator[tuple[DuckDuckGoProvider, DuckDuckGoServer]]:
    throttle = ProviderThrottle(
        delay_seconds=delay_seconds, rest_seconds=600, max_wait_seconds=max_wait_seconds
    )
    async with (
        serving(DuckDuckGoServer(some_pages(25))) as server,
        open_client(server) as client,
    ):
        yield DuckDuckGoProvider(client, throttle, server.html_url), server


async def test_results_come_unwrapped_and_without_ads() -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        hits = await duckduckgo.search(asking("embers"))
    assert len(hits) == 10
    assert hits[1] == SearchHit(
        url="https://embers.example/embers/1",
        title="All about embers, part 1",
        summary="… What to know of embers & <ash>: number 1.",
    )
    (asked,) = server.asked
    assert (asked.method, asked.parameters) == ("POST", {"q": "embers", "b": "", "kl": "wt-wt"})
    assert asked.headers["referer"] == f"{server.url}/"


async def test_pages_are_come_to_by_the_form_of_the_page_before() -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        pages = [await duckduckgo.search(asking("embers", page=page)) for page in range(4)]
    assert [len(page) for page in pages] == [10, 10, 5, 0]
    assert len({hit.url for page in pages for hit in page}) == 25
    assert [asked.parameters.get("s") for asked in server.asked] == [None, "10", "20"]


async def test_a_later_page_is_come_to_by_way_of_those_before_it() -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        (*_, last) = await duckduckgo.search(asking("embers", page=2))
        beyond = await duckduckgo.search(asking("embers", page=9))
        too_far = await duckduckgo.search(asking("embers", page=10))
    assert last.url == "https://embers.example/embers/24"
    assert (beyond, too_far, len(server.asked)) == ((), (), 3)


async def test_the_pages_of_a_period_are_its_own() -> None:
    month = SearchFilters(max_age_days=12)
    async with open_duckduckgo() as (duckduckgo, server):
        await duckduckgo.search(asking("embers"))
        await duckduckgo.search(asking("embers", page=1, filters=month))
    assert [asked.parameters.get("df") for asked in server.asked] == [None, "m", "m"]


async def test_after_a_challenge_it_is_left_alone() -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        server.fail_with(CHALLENGE)
        blocked = await failure_of(duckduckgo)
        left_alone = await failure_of(duckduckgo)
    assert blocked.retry_after_seconds == 600
    assert "takes cinder for a machine" in blocked.message
    assert "CINDER_SEARCH__PROVIDERS" in blocked.message
    assert left_alone.retry_after_seconds == pytest.approx(600, abs=60)
    assert "is left alone" in left_alone.message
    assert len(server.asked) == 1


async def test_who_would_wait_too_long_for_a_turn_is_told() -> None:
    async with open_duckduckgo(delay_seconds=60, max_wait_seconds=0) as (duckduckgo, server):
        await duckduckgo.search(asking("embers"))
        failed = await failure_of(duckduckgo)
    assert "wait for their turn" in failed.message
    assert failed.retry_after_seconds == pytest.approx(60, abs=30)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "seconds"),
    [
        (Reply(CHALLENGE.body, HTML), 600),
        (Reply(b"", HTML, 429), 600),
        (Reply(b"", HTML, 403), 600),
        (Reply(b"<p>all is new here</p>", HTML), None),
        (Reply(b"", HTML, 500), None),
    ],
)
async def test_what_is_no_page_of_results_is_a_failure(reply: Reply, seconds: float | None) -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        server.fail_with(reply)
        assert (await failure_of(duckduckgo)).retry_after_seconds == seconds


async def test_finding_nothing_is_no_failure() -> None:
    async with open_duckduckgo() as (duckduckgo, _):
        assert await duckduckgo.search(asking("unheard")) == ()


async def test_marks_that_lead_to_other_sites_are_taken_out() -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        await duckduckgo.search(asking("!g \\embers  wow! a!b"))
        nothing = await failure_of(duckduckgo, asking("!! \\"))
        server.fail_with(Reply(b"", HTML, 303, {"Location": "https://elsewhere.example/"}))
        elsewhere = await failure_of(duckduckgo)
    assert server.asked[0].parameters["q"] == "g embers  wow a!b"
    assert "nothing is left" in nothing.message
    assert "another site" in elsewhere.message


async def test_a_query_that_is_too_long_is_not_sent() -> None:
    async with open_duckduckgo() as (duckduckgo, server):
        assert "499 characters" in (await failure_of(duckduckgo, asking("x" * 500))).message
    assert server.asked == []


def page_with(href: str) -> bytes:
    link = f'<a class="result__a" href="{href}">T</a>'
    return f'<div id="links"><div class="result web-result">{link}</div></div>'.encode()


@pytest.mark.parametrize(
    ("href", "url"),
    [
        (
            "//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.example%2F%3Fq%3D1%262&amp;rut=1",
            "https://a.example/?q=1&2",
        ),
        ("/l/?kh=-1&amp;uddg=https%3A%2F%2Fa.example%2F", "https://a.example/"),
        ("https://a.example/l/?uddg=x", "https://a.example/l/?uddg=x"),
        ("https://notduckduckgo.com/y.js", "https://notduckduckgo.com/y.js"),
        ("https://duckduckgo.com/y.js?ad_domain=a.example", None),
        ("https://html.duckduckgo.com/y.js?u3=https://a.example", None),
        ("//duckduckgo.com/l/?rut=1", None),
        ("https://[", None),
        ("", None),
    ],
)
def test_links_are_unwrapped_and_those_of_ads_left_out(href: str, url: str | None) -> None:
    assert [item.url for item in read_page(page_with(href)).items] == ([url] if url else [])


def test_only_the_fields_of_the_next_page_are_taken_from_its_form() -> None:
    long = "x" * 501
    read = read_page(
        f"""<div id="links"></div><form action="https://evil.example"><input name="q" value="other">
        <input name="vqd" value="4-1"><input name="s" value="10"><input name="evil" value="1">
        <input name="v" value="{long}"></form>""".encode()
    )
    assert read.next_fields == (("vqd", "4-1"), ("s", "10"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'<form id="challenge-form">', PageKind.CHALLENGE),
        (b'<div id="links"><div class="anomaly-modal__title">', PageKind.CHALLENGE),
        (b'<div class="no-results">', PageKind.RESULTS),
        (b"", PageKind.UNKNOWN),
        (b"<div>" * 20_000, PageKind.UNKNOWN),
    ],
)
def test_what_was_answered_is_told_apart(body: bytes, kind: PageKind) -> None:
    assert read_page(body).kind is kind

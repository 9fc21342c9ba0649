"""Requests that come again: answered from memory as they would be without it, to the byte."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from cinder.api.arguments import read_body
from cinder.api.schemas.scrape import ScrapeArguments
from cinder.api.v2.routes import PageResponses, PreparedResponse
from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.errors import Forbidden
from cinder.models.caller import CallerPolicy, TokenScope
from cinder.server.asgi import create_app
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.api.documents import a_page
from tests.api.test_callers import make_token, sending
from tests.api.working import asking
from tests.resolver import TableResolver
from tests.site import Site
from tests.store.samples import Clock

# Any: whatever JSON a request may carry.
SHAPES: list[dict[str, Any]] = [
    {},
    {"formats": ["markdown"]},
    {"formats": ["markdown", "links", "images"], "maxChars": 300},
    {"formats": ["html", "rawHtml"]},
    {"formats": ["markdown", "summary"]},
    {"formats": ["branding"]},
    {"formats": ["markdown"], "section": "oak", "maxChars": 200, "startIndex": 10},
    {"formats": ["markdown"], "query": "how long does oak dry"},
    {"formats": ["markdown"], "startIndex": 100_000},
    {"cleanScrape": False},
    {"resultHandling": "saveOnly"},
    {"resultHandling": "returnOnly"},
    {"extract": "the author and the date"},
    {"includeTags": ["main"], "onlyMainContent": False},
]


@asynccontextmanager
async def serving(
    settings: Settings, resolver: TableResolver, clock: Clock, *, memory_bytes: int
) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve with so much memory for what comes again; yield a client with the token."""
    server = settings.server.model_copy(update={"answer_memory_bytes": memory_bytes})
    store = settings.store.model_copy(update={"memory_bytes": memory_bytes})
    chosen = settings.model_copy(update={"server": server, "store": store})
    async with asking(create_app(chosen, open_app(chosen, resolver=resolver, clock=clock))) as one:
        yield one


@pytest.fixture
def clock() -> Clock:
    standing = Clock()
    standing.now = datetime.now(UTC)
    return standing


@pytest.fixture
async def servers(
    settings: Settings, resolver: TableResolver, clock: Clock
) -> AsyncIterator[tuple[httpx2.AsyncClient, httpx2.AsyncClient]]:
    """A server that remembers, and one that does not, with one database."""
    async with AsyncExitStack() as stack:
        remembering, plain = [
            await stack.enter_async_context(
                serving(settings, resolver, clock, memory_bytes=memory_bytes)
            )
            for memory_bytes in (2**25, 0)
        ]
        yield remembering, plain


async def post(client: httpx2.AsyncClient, body: dict[str, Any]) -> bytes:
    response = await client.post("/api/v2/scrape", json=body)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert int(response.headers["content-length"]) == len(response.content)
    return response.content


async def test_a_repeated_answer_is_the_plain_one_to_the_byte(
    servers: tuple[httpx2.AsyncClient, httpx2.AsyncClient], site: Site, clock: Clock
) -> None:
    remembering, plain = servers
    pages = [
        site.url("/guide"),
        site.url("/article#part"),
        site.url("/tricky"),
        site.url("/document?name=leaflet.pdf"),
    ]
    for body in ({"url": page} | shape for page in pages for shape in SHAPES):
        if "section" in body and "/guide" not in body["url"]:
            continue
        is_file = "/document" in body["url"]
        if is_file and ("query" in body or body.get("extract")):
            continue
        await post(plain, body | {"resultHandling": "saveAndReturn"})
        for age in (0, 17, 86_400_000 - 17):
            clock.move_on(timedelta(milliseconds=age))
            expected = await post(plain, body)
            assert json.loads(expected)["data"]["cached"], body
            for _ in range(3):
                assert await post(remembering, body) == expected, body
        clock.move_on(timedelta(days=-1))


async def test_what_another_server_saves_is_answered_at_once(
    servers: tuple[httpx2.AsyncClient, httpx2.AsyncClient], site: Site, clock: Clock
) -> None:
    remembering, other = servers
    body = {"url": site.url("/diary?days=first,changed"), "formats": ["markdown"]}
    for _ in range(3):
        assert b"Birch burns faster" not in await post(remembering, body)
    # The clock stands still: the new version differs from the old one in nothing but its text.
    await post(other, body | {"forceRescrape": True})
    for _ in range(3):
        answer = await post(remembering, body)
        assert b"Birch burns faster" in answer
        assert json.loads(answer)["data"]["cached"]
    clock.move_on(timedelta(days=3))
    assert not json.loads(await post(remembering, body))["data"]["cached"]


async def test_what_another_server_confirms_is_as_young_as_that(
    servers: tuple[httpx2.AsyncClient, httpx2.AsyncClient], site: Site, clock: Clock
) -> None:
    remembering, other = servers
    body = {"url": site.url("/etag"), "formats": ["markdown"]}
    for _ in range(3):
        await post(remembering, body)
    clock.move_on(timedelta(hours=1))
    await post(other, body | {"maxAge": 1})
    clock.move_on(timedelta(seconds=1))
    data = json.loads(await post(remembering, body))["data"]
    assert (data["cached"], data["cacheAge"]) == (True, 1_000)


async def test_each_request_is_checked_though_its_answer_is_kept(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    body = {"url": site.url("/article"), "formats": ["markdown"]}
    api = create_app(settings, open_app(settings, resolver=resolver))
    async with asking(api) as owner:
        for _ in range(3):
            assert (await owner.post("/api/v2/scrape", json=body)).status_code == 200
        elsewhere = CallerPolicy(domains=("elsewhere.example",))
        bounded = await make_token(api, "bounded", policy=elsewhere)
        reader = await make_token(api, "reader", TokenScope.READ)
        ordinary = await make_token(api, "ordinary")
        for secret, status in ((bounded, 403), (reader, 403), (ordinary, 200), ("wrong", 401)):
            async with sending(api, secret) as client:
                for _ in range(3):
                    answer = await client.post("/api/v2/scrape", json=body)
                    assert answer.status_code == status, answer.text
        await api.state.callers.revoke("ordinary")
        async with sending(api, ordinary) as client:
            assert (await client.post("/api/v2/scrape", json=body)).status_code == 401


async def test_headers_of_a_repeated_request_are_still_read(
    client: httpx2.AsyncClient, site: Site
) -> None:
    body = json.dumps({"url": site.url("/article"), "formats": ["markdown"]})
    sent = {"content-type": "application/json"}
    for _ in range(3):
        answer = await client.post("/api/v2/scrape", content=body, headers=sent)
        assert answer.status_code == 200
    for wrong in ({"content-type": "text/plain"}, sent | {"idempotency-key": "k" * 300}):
        answer = await client.post("/api/v2/scrape", content=body, headers=wrong)
        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"


async def test_a_request_is_kept_for_its_caller_and_without_secrets(app: App, site: Site) -> None:
    pages = PageResponses(app)
    page = {"url": site.url("/article")}
    for extra, is_kept in (
        ({}, True),
        ({"headers": {"Accept-Language": "de"}}, False),
        ({"url": "https://a.example/?api_key=abcdef123456"}, False),
        ({"profile": "master"}, False),
        ({"actions": [{"type": "wait", "milliseconds": 1}]}, False),
        ({"extract": "x" * 5_000}, False),
    ):
        body = json.dumps(page | extra).encode()
        read = pages.read(read_body(ScrapeArguments, json.loads(body)), "one", body)
        assert (pages.recall("one", body) is read) == is_kept, extra
        assert pages.recall("two", body) is None


async def test_a_policy_that_forbids_the_page_forbids_its_kept_answer(app: App, site: Site) -> None:
    """The same caller may be allowed less from one request to the next."""
    pages = PageResponses(app)
    made = await app.callers.create("one", [TokenScope.SCRAPE])
    body = json.dumps({"url": site.url("/article")}).encode()
    page = pages.read(read_body(ScrapeArguments, json.loads(body)), made.token.id, body)
    for _ in range(3):
        await pages.answer(page, body)
    await app.callers.revoke("one")
    with pytest.raises(Forbidden):
        await pages.answer(page, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
MEMBERS = st.dictionaries(
    st.text(max_size=9).filter(lambda name: name != "cacheAge"), JSON, min_size=1, max_size=4
)


@given(MEMBERS, MEMBERS, st.integers(0, 2**40), st.sampled_from(['"cacheAge":1}', "}}", "{"]))
def test_an_answer_in_two_pieces_is_the_whole_one(
    before: dict[str, Any], after: dict[str, Any], age: int, odd: str
) -> None:
    head = before | {"odd": [odd, {"cacheAge": 2, odd: odd}]}
    tail = {name: value for name, value in after.items() if name not in head} | {"verdict": "ok"}
    outcome = ScrapeOutcome(document=a_page(), cached=True)
    prepared = PreparedResponse.of(outcome, {**head, "cacheAge": 0, **tail})
    whole = {"success": True, "command": "start", "data": {**head, "cacheAge": age, **tail}}
    assert prepared.at_age(age) == to_json(whole)


def test_an_answer_is_of_its_own_content_alone() -> None:
    document = a_page()
    outcome = ScrapeOutcome(document=document, cached=True)
    prepared = PreparedResponse.of(outcome, {"url": "x", "cacheAge": 0, "verdict": "ok"})
    assert prepared.is_of(replace(outcome, age_ms=5))
    equal = replace(document, content=replace(document.content))
    later = replace(document, scraped_at=document.scraped_at + timedelta(milliseconds=1))
    for other in (equal, later):
        assert not prepared.is_of(replace(outcome, document=other))
    assert not prepared.is_of(replace(outcome, cached=False))

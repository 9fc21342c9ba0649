"""Crawls and batches over /v1."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cinder.config.settings import Settings
from tests.api.running import run_server
from tests.api.working import DEADLINE_SECONDS, Answer, is_over, serve_jobs, until
from tests.crawled_site.running import serve_crawled_site
from tests.resolver import TableResolver
from tests.site import Site

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def get(client: httpx2.AsyncClient, path: str, **query: Any) -> Answer:
    response = await client.get(path, params=query)
    assert response.status_code == 200, response.text
    answer: Answer = response.json()
    return answer


async def start(client: httpx2.AsyncClient, **body: Any) -> Answer:
    response = await client.post("/v1/crawl", json=body)
    assert response.status_code == 200, response.text
    answer: Answer = response.json()
    return answer


async def finish(client: httpx2.AsyncClient, **body: Any) -> Answer:
    """Run a crawl to its end; return its status."""
    crawl_id = (await start(client, **body))["crawlId"]
    return await until(partial(get, client, f"/v1/crawl/{crawl_id}"), is_over)


async def test_a_start_without_a_scheme_is_crawled_over_http_where_https_is_refused(
    working: httpx2.AsyncClient, site: Site
) -> None:
    started = await start(working, url=f"{site.address}/article", maxDepth=1)
    assert started["url"] == site.url("/article")
    assert "http:// is used" in started["warning"]
    path = f"/v1/crawl/{started['crawlId']}"
    crawl = await until(partial(get, working, path), is_over)
    assert [page["url"] for page in crawl["pages"]] == [site.url("/article")]
    assert "warning" not in crawl


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {"headers": {"Authorization": "Bearer secret"}}),
        ("?token=c2VjcmV0LXNlY3JldA", {}),
    ],
)
async def test_a_crawl_sends_no_credentials_unencrypted_unless_http_was_written(
    working: httpx2.AsyncClient, site: Site, query: str, options: Answer
) -> None:
    body = {"url": f"{site.address}/article{query}", "maxDepth": 1, "scrapeOptions": options}
    started = await start(working, **body)
    assert started["url"] == f"https://{site.address}/article{query}"
    assert "warning" not in started
    # It would end only when robots.txt has been tried for long, so it is cancelled.
    await working.delete(f"/v1/crawl/{started['crawlId']}")
    assert site.hits("/article") == 0
    written = body | {"url": site.url(f"/article{query}")}
    assert (await finish(working, **written))["status"] == "completed"


def error_of(response: httpx2.Response) -> tuple[int, str]:
    answer = response.json()
    assert set(answer) == {"error"}
    return response.status_code, answer["error"]["code"]


def read_events(text: str) -> list[tuple[str, Answer]]:
    """Return the events of a stream, each with its name."""
    found = []
    for block in text.strip().split("\n\n"):
        if block.startswith(":"):
            continue
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        found.append((fields["event"], json.loads(fields["data"])))
    return found


async def test_a_start_says_what_was_started(client: httpx2.AsyncClient, site: Site) -> None:
    crawl = await start(client, url=site.url("/shelf?books=3"))
    assert re.fullmatch(r"crawl-[0-9a-f]{24}", crawl.pop("crawlId"))
    assert TIMESTAMP.fullmatch(crawl.pop("createdAt"))
    assert TIMESTAMP.fullmatch(crawl.pop("expiresAt"))
    assert crawl == {
        "url": site.url("/shelf?books=3"),
        "status": "queued",
        "pagesFound": 1,
        "pagesCrawled": 0,
    }


async def test_the_status_has_the_pages_of_a_crawl(working: httpx2.AsyncClient, site: Site) -> None:
    crawl = await finish(working, url=site.url("/shelf?books=3"))
    assert (crawl["status"], crawl["progress"]) == ("completed", 100)
    assert (crawl["pagesFound"], crawl["pagesCrawled"], crawl["errorCount"]) == (6, 4, 2)
    assert TIMESTAMP.fullmatch(crawl["completedAt"])
    assert (crawl["hasMore"], "nextOffset" in crawl, "error" in crawl) == (False, False, False)
    pages = {page["url"]: page for page in crawl["pages"]}
    books = [site.url(f"/book?n={n}") for n in range(3)]
    assert sorted(pages) == sorted([site.url("/shelf?books=3"), *books])
    book = pages[books[0]]
    assert (book["title"], book["statusCode"], book["verdict"]) == ("Book 0", 200, "ok")
    assert book["contentLength"] > 1_000
    assert set(book["savedUris"]) == {"cleaned", "raw"}


async def test_the_status_says_what_ended_a_crawl_and_what_was_left_out(
    working: httpx2.AsyncClient, site: Site
) -> None:
    shelf = site.url("/shelf?books=4")
    ways = [{"maxDepth": 1}, {"maxPages": 2, "maxDepth": 3}, {"maxDepth": 9}]
    crawls = [await finish(working, url=shelf, sitemap="skip", **way) for way in ways]

    assert [crawl["endedBy"] for crawl in crawls] == ["maxDepth", "maxPages", "allPages"]
    deep, many, every = (crawl["leftOut"] for crawl in crawls)
    # Four books, one that is forbidden and one that is lost.
    assert (deep, every) == ({"maxDepth": 6}, {})
    assert set(many) == {"maxPages"}
    counts = (await get(working, f"/v1/crawl/{crawls[1]['crawlId']}/ledger"))["counts"]
    assert many["maxPages"] == counts["left out"] > 0
    listed = (await get(working, "/v1/crawls"))["crawls"]
    assert [crawl["endedBy"] for crawl in listed] == ["allPages", "maxPages", "maxDepth"]


async def test_the_status_of_a_batch_says_what_ended_it(
    working: httpx2.AsyncClient, site: Site
) -> None:
    done = await working.post("/api/v2/scrape", json={"urls": [site.url("/article")]})
    stopped = await working.post("/api/v2/scrape", json={"urls": [site.url("/silent")]})
    await working.delete(f"/v1/batch/{stopped.json()['data']['jobId']}")
    ends = []
    for answer in (done, stopped):
        path = f"/v1/batch/{answer.json()['data']['jobId']}"
        status = await until(partial(get, working, path), is_over)
        body = {"command": "status", "jobId": status["jobId"]}
        same = (await working.post("/api/v2/scrape", json=body)).json()["data"]
        assert (same["endedBy"], same["leftOut"]) == (status["endedBy"], status["leftOut"])
        ends.append((status["endedBy"], status["leftOut"]))

    assert ends == [("allPages", {}), ("cancelled", {"cancelled": 1})]


async def test_pages_come_in_parts_and_with_content_on_request(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl = await finish(working, url=site.url("/shelf?books=4"))
    read = partial(get, working, f"/v1/crawl/{crawl['crawlId']}", limit=2)
    first = await read()
    second = await read(offset=first["nextOffset"], includeContent="true")
    third = await read(offset=second["nextOffset"])
    assert [len(part["pages"]) for part in (first, second, third)] == [2, 2, 1]
    assert (
        first["pages"] + [*map(without_content, second["pages"])] + third["pages"]
        == (crawl["pages"])
    )
    assert all("word" in page["content"] for page in second["pages"])


def without_content(page: Answer) -> Answer:
    return {name: value for name, value in page.items() if name != "content"}


async def test_the_arguments_decide_how_far_a_crawl_goes(
    working: httpx2.AsyncClient, site: Site
) -> None:
    shelf = site.url("/shelf?books=4")
    alone = await finish(working, url=shelf, maxDepth=1)
    assert [page["url"] for page in alone["pages"]] == [shelf]
    chosen = await finish(
        working, url=shelf, includePatterns=[r"/book\?"], excludePatterns=["n=[12]$"]
    )
    wanted = [shelf, site.url("/book?n=0"), site.url("/book?n=3")]
    assert sorted(page["url"] for page in chosen["pages"]) == sorted(wanted)
    few = await finish(working, url=shelf, maxPages=2, sitemap="skip")
    assert len(few["pages"]) == 2


async def test_errors_and_the_ledger_tell_the_rest(working: httpx2.AsyncClient, site: Site) -> None:
    crawl_id = (await finish(working, url=site.url("/shelf?books=2")))["crawlId"]
    told = await get(working, f"/v1/crawl/{crawl_id}/errors")
    assert (told["total"], told["message"]) == (2, "Found 2 errors in crawl")
    assert {error["url"]: error["error"] for error in told["errors"]} == {
        site.url("/forbidden"): "Robots.txt disallowed",
        site.url("/lost"): "404 Not Found",
    }
    ledger = await get(working, f"/v1/crawl/{crawl_id}/ledger")
    assert ledger["counts"] == {
        "queued": 0,
        "leased": 0,
        "fetched": 3,
        "failed": 1,
        "disallowed by robots": 1,
    }
    assert len(ledger["urls"]) == 5
    closed = await get(working, f"/v1/crawl/{crawl_id}/ledger", fate="disallowed by robots")
    (row,) = closed["urls"]
    assert (row["url"], row["depth"], row["state"]) == (site.url("/forbidden"), 2, "done")
    assert row["reason"]


async def test_a_crawl_of_nothing_has_failed_and_says_why(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl = await finish(working, url=site.url("/status?code=404"))
    assert (crawl["status"], crawl["pages"]) == ("failed", [])
    assert "404 Not Found" in crawl["error"]


async def test_a_crawl_can_be_cancelled(working: httpx2.AsyncClient, site: Site) -> None:
    crawl_id = (await start(working, url=site.url("/silent")))["crawlId"]
    await site.asked("/silent")
    response = await working.delete(f"/v1/crawl/{crawl_id}")
    cancelled = {"crawlId": crawl_id, "status": "cancelled", "message": "Crawl cancelled"}
    assert (response.status_code, response.json()) == (200, cancelled)
    site.release()
    assert (await get(working, f"/v1/crawl/{crawl_id}"))["status"] == "cancelled"


async def test_jobs_are_listed_newest_first_each_among_its_kind(
    client: httpx2.AsyncClient, site: Site
) -> None:
    crawls = [await start(client, url=site.url(f"/shelf?books={n}")) for n in range(3)]
    urls = [site.url("/article")]
    batch = (await client.post("/api/v2/scrape", json={"urls": urls})).json()["data"]
    listed = (await get(client, "/v1/crawls"))["crawls"]
    assert {crawl["crawlId"] for crawl in listed} == {crawl["crawlId"] for crawl in crawls}
    assert [crawl["createdAt"] for crawl in listed] == sorted(
        (crawl["createdAt"] for crawl in crawls), reverse=True
    )
    assert (listed[0]["status"], listed[0]["pagesCrawled"]) == ("queued", 0)
    assert len((await get(client, "/v1/crawls", limit=2))["crawls"]) == 2
    (shown,) = (await get(client, "/v1/batches"))["batches"]
    assert (shown["jobId"], shown["status"], shown["total"]) == (batch["jobId"], "scraping", 1)


async def test_a_batch_is_watched_read_and_stopped_here_too(
    working: httpx2.AsyncClient, site: Site
) -> None:
    body = {"urls": [site.url("/article"), site.url("/lost")]}
    job_id = (await working.post("/api/v2/scrape", json=body)).json()["data"]["jobId"]
    status = await until(partial(get, working, f"/v1/batch/{job_id}"), is_over)
    assert (status["total"], status["completed"], status["creditsUsed"]) == (2, 2, 1)
    errors = await get(working, f"/v1/batch/{job_id}/errors")
    assert [error["error"] for error in errors["errors"]] == ["404 Not Found"]
    ledger = await get(working, f"/v1/batch/{job_id}/ledger", fate="fetched")
    assert [row["url"] for row in ledger["urls"]] == [site.url("/article")]
    events = read_events((await working.get(f"/v1/batch/{job_id}/events")).text)
    assert [(name, data["message"]) for name, data in events] == [("status", status["message"])]
    response = await working.delete(f"/v1/batch/{job_id}")
    assert response.json()["status"] == "completed"


PLACES = ["", "/errors", "/ledger", "/events"]


@pytest.mark.parametrize("place", PLACES)
async def test_what_is_no_crawl_is_not_found(client: httpx2.AsyncClient, place: str) -> None:
    crawl_id = (await start(client, url="https://a.example/"))["crawlId"]
    response = await client.get(f"/v1/crawl/crawl-0{place}")
    assert error_of(response) == (404, "CRAWL_NOT_FOUND")
    response = await client.get(f"/v1/batch/{crawl_id}{place}")
    assert error_of(response) == (404, "BATCH_NOT_FOUND")
    assert error_of(await client.delete("/v1/crawl/crawl-0")) == (404, "CRAWL_NOT_FOUND")


@pytest.mark.parametrize("place", PLACES)
async def test_a_crawl_expires(settings: Settings, resolver: TableResolver, place: str) -> None:
    async with serve_jobs(settings, resolver, works=False, retention_hours=1e-9) as client:
        crawl_id = (await start(client, url="https://a.example/"))["crawlId"]
        response = await client.get(f"/v1/crawl/{crawl_id}{place}")
        listed = await get(client, "/v1/crawls")
    assert error_of(response) == (410, "CRAWL_EXPIRED")
    assert listed == {"crawls": []}


async def test_a_key_starts_one_crawl_once(client: httpx2.AsyncClient, site: Site) -> None:
    first = await start(client, url=site.url("/article"), idempotencyKey="once")
    headers = {"Idempotency-Key": "once"}
    again = await client.post("/v1/crawl", json={"url": site.url("/article")}, headers=headers)
    assert again.json() == first
    assert len((await get(client, "/v1/crawls"))["crawls"]) == 1


async def test_more_crawls_than_are_taken_on_are_refused_with_a_time_to_come_back(
    settings: Settings, resolver: TableResolver
) -> None:
    async with serve_jobs(settings, resolver, works=False, max_open=1) as client:
        await start(client, url="https://a.example/")
        response = await client.post("/v1/crawl", json={"url": "https://b.example/"})
    assert error_of(response) == (503, "OVERLOADED")
    assert int(response.headers["retry-after"]) > 0


async def test_everything_that_is_wrong_is_named_at_once(
    settings: Settings, resolver: TableResolver
) -> None:
    body = {
        "url": "ftp://a.example",
        "maxDepth": 0,
        "maxPages": 11,
        "includePatterns": ["/fine/", "(open"],
        "excludePatterns": [""],
        "scope": "world",
        "delay": -1,
        "webhooks": "x",
    }
    async with serve_jobs(settings, resolver, works=False, max_pages=10) as client:
        response = await client.post("/v1/crawl", json=body)
    assert error_of(response) == (400, "VALIDATION_ERROR")
    fields = {problem["field"] for problem in response.json()["error"]["validationErrors"]}
    expected = {*body, "includePatterns[1]", "excludePatterns[0]"}
    assert fields == expected - {"includePatterns", "excludePatterns"}


@pytest.mark.parametrize(
    ("place", "query", "field"),
    [
        ("", {"limit": 0}, "limit"),
        ("", {"limit": 101}, "limit"),
        ("", {"offset": "x"}, "offset"),
        ("", {"includeContents": "true"}, "includeContents"),
        ("/ledger", {"fate": "eaten"}, "fate"),
        ("/errors", {"fate": "failed"}, "fate"),
    ],
)
async def test_a_wrong_query_is_named(
    client: httpx2.AsyncClient, place: str, query: dict[str, Any], field: str
) -> None:
    crawl_id = (await start(client, url="https://a.example/"))["crawlId"]
    response = await client.get(f"/v1/crawl/{crawl_id}{place}", params=query)
    assert error_of(response) == (400, "VALIDATION_ERROR")
    problems = response.json()["error"]["validationErrors"]
    assert [problem["field"] for problem in problems] == [field]


async def test_a_crawl_keeps_its_own_distance_between_requests_to_a_host(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl_id = (await start(working, url=site.url("/shelf?books=3"), delay=600_000))["crawlId"]
    read = partial(get, working, f"/v1/crawl/{crawl_id}")
    crawl = await until(read, lambda answer: answer["pagesCrawled"] == 1)
    # What others ask of another host is done meanwhile.
    other = f"http://site.test:{site.port}"
    await finish(working, url=f"{other}/shelf?books=1", excludePatterns=["/lost"])
    assert (site.hits("/book"), site.hits("/lost")) == (1, 0)
    assert (crawl["status"], crawl["queued"]) == ("running", 5)


async def test_events_tell_of_a_crawl_until_it_is_over(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl_id = (await start(working, url=site.url("/shelf?books=3")))["crawlId"]
    response = await working.get(f"/v1/crawl/{crawl_id}/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    head = await working.head(f"/v1/crawl/{crawl_id}/events")
    assert (head.status_code, head.content) == (200, b"")
    events = read_events(response.text)
    name, last = events[-1]
    assert (name, last["status"], last["pagesCrawled"], last["progress"]) == (
        *("status", "completed"),
        *(4, 100),
    )
    statuses = [data["status"] for name, data in events if name == "status"]
    assert statuses == sorted(set(statuses), key=["queued", "running", "completed"].index)
    assert "id: over\n" in response.text
    again = await working.get(f"/v1/crawl/{crawl_id}/events", headers={"Last-Event-ID": "over"})
    assert (again.status_code, again.content) == (204, b"")


async def test_whoever_watches_may_leave_while_the_job_goes_on(tmp_path: Path, site: Site) -> None:
    allow = {"CINDER_EGRESS__ALLOW": site.address}
    async with run_server(tmp_path / "data", **allow) as server, server.client() as client:
        crawl_id = (await start(client, url=site.url("/silent")))["crawlId"]
        async with client.stream("GET", f"/v1/crawl/{crawl_id}/events") as response:
            first = await anext(lines_of(response))
        assert first == "event: status"
        site.release()
        crawl = await until(partial(get, client, f"/v1/crawl/{crawl_id}"), is_over)
    assert crawl["status"] == "completed"


async def test_a_caller_has_so_many_streams_open_and_another_when_one_is_closed(
    tmp_path: Path, site: Site
) -> None:
    variables = {
        "CINDER_EGRESS__ALLOW": site.address,
        "CINDER_SERVER__MAX_STREAMS_PER_CALLER": "2",
    }
    async with run_server(tmp_path / "data", **variables) as server, server.client() as client:
        crawl_id = (await start(client, url=site.url("/silent")))["crawlId"]
        events = f"/v1/crawl/{crawl_id}/events"
        async with client.stream("GET", events) as first:
            lines = lines_of(first)  # kept: a stream closes with those who read it
            assert await anext(lines) == "event: status"
            async with client.stream("GET", events) as second:
                more_lines = lines_of(second)
                assert await anext(more_lines) == "event: status"
                refused = await client.get(events)
                assert error_of(refused) == (429, "RATE_LIMITED")
                assert "server.max-streams-per-caller" in refused.text
            async with asyncio.timeout(DEADLINE_SECONDS):
                while not await can_be_watched(client, events):  # noqa: ASYNC110 - it is the server's
                    await asyncio.sleep(0.02)
        site.release()


async def can_be_watched(client: httpx2.AsyncClient, events: str) -> bool:
    async with client.stream("GET", events) as response:
        return response.status_code == 200


async def test_a_server_that_stops_does_not_wait_for_those_who_watch(
    tmp_path: Path, site: Site
) -> None:
    variables = {"CINDER_EGRESS__ALLOW": site.address, "CINDER_SERVER__SHUTDOWN_SECONDS": "3600"}
    async with run_server(tmp_path / "data", **variables) as server, server.client() as client:
        crawl_id = (await start(client, url=site.url("/silent")))["crawlId"]
        async with client.stream("GET", f"/v1/crawl/{crawl_id}/events") as response:
            lines = lines_of(response)
            assert await anext(lines) == "event: status"
            server.process.terminate()
            rest = [line async for line in lines]
            async with asyncio.timeout(DEADLINE_SECONDS):
                await server.process.wait()
    assert "id: over" not in rest


async def lines_of(response: httpx2.Response) -> AsyncIterator[str]:
    async with asyncio.timeout(DEADLINE_SECONDS):
        async for line in response.aiter_lines():
            yield line


async def test_the_ledger_of_a_site_with_traps_explains_every_url(
    settings: Settings, resolver: TableResolver
) -> None:
    with serve_crawled_site() as crawled:
        egress = settings.egress.model_copy(update={"allow": (crawled.address,)})
        chosen = settings.model_copy(update={"egress": egress})
        async with serve_jobs(chosen, resolver) as client:
            crawl = await finish(client, url=crawled.url("/"), maxPages=20, maxDepth=3)
            rows = await read_all(client, f"/v1/crawl/{crawl['crawlId']}/ledger", "urls")
            counts = (await get(client, f"/v1/crawl/{crawl['crawlId']}/ledger"))["counts"]
    assert (crawl["status"], crawl["pagesCrawled"]) == ("completed", 20)
    assert len({row["url"] for row in rows}) == len(rows) == sum(counts.values())
    assert all(row["reason"] for row in rows if row["fate"] != "fetched")


async def read_all(client: httpx2.AsyncClient, path: str, name: str) -> list[Answer]:
    """Return every entry of a list, part by part."""
    found: list[Answer] = []
    while True:
        part = await get(client, path, offset=len(found), limit=100)
        found += part[name]
        if not part["hasMore"]:
            return found


async def test_the_documentation_has_every_route_of_jobs(client: httpx2.AsyncClient) -> None:
    paths = (await get(client, "/openapi.json"))["paths"]
    for kind in ("crawl", "batch"):
        assert set(paths[f"/v1/{kind}/{{id}}"]) == {"get", "delete"}
        assert "get" in paths[f"/v1/{kind}/{{id}}/events"]
    names = [p["name"] for p in paths["/v1/crawl/{id}/ledger"]["get"]["parameters"]]
    assert sorted(names) == ["fate", "id", "limit", "offset"]
    assert "post" in paths["/v1/crawl"]

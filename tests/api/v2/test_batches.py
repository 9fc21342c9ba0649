"""Batches over POST /api/v2/scrape, in the shapes of its specification."""

import re
from typing import Any

import httpx2
import pytest

from cinder.config.settings import Settings
from tests.api.working import Answer, is_over, serve_jobs, until
from tests.resolver import TableResolver
from tests.site import Site

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
JOB_ID = re.compile(r"batch-[0-9a-f]{24}")


async def post(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.post("/api/v2/scrape", json=body)


async def send(client: httpx2.AsyncClient, command: str, **body: Any) -> Answer:
    response = await post(client, command=command, **body)
    assert response.status_code == 200, response.text
    answer: Answer = response.json()
    assert (answer["success"], answer["command"]) == (True, command)
    data: Answer = answer["data"]
    return data


async def refuse(client: httpx2.AsyncClient, **body: Any) -> tuple[int, Answer]:
    response = await post(client, **body)
    answer = response.json()
    assert answer["success"] is False
    error: Answer = answer["error"]
    return response.status_code, error


async def finish(client: httpx2.AsyncClient, **body: Any) -> str:
    """Run a batch to its end; return its id."""
    started = await send(client, "start", **body)
    job_id: str = started["jobId"]
    await until(lambda: send(client, "status", jobId=job_id), is_over)
    return job_id


def general(value: Any) -> Any:
    """Return JSON with what no two runs share replaced, so that the rest can be compared whole."""
    if isinstance(value, dict):
        return {key: general(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [general(inner) for inner in value]
    if not isinstance(value, str):
        return value
    return JOB_ID.sub("ID", TIMESTAMP.sub("NOW", value))


async def test_a_start_says_what_was_started(client: httpx2.AsyncClient, site: Site) -> None:
    urls = [site.url(f"/numbered?n={n}") for n in range(3)]
    data = await send(client, "start", urls=urls, timeout=60_000, formats=["markdown", "html"])
    assert general(data) == {
        "jobId": "ID",
        "urls": 3,
        "status": "scraping",
        "expiresAt": "NOW",
        "duplicates": 0,
        "invalidUrls": [],
        "message": "Batch scrape started for 3 URLs. Use jobId 'ID' to check status.",
    }


async def test_duplicates_and_what_is_no_url_are_told_and_not_fatal(
    working: httpx2.AsyncClient, site: Site
) -> None:
    page = site.url("/article")
    urls = [page, f"{page}#part", "ftp://a.example/", page, "http://\0/"]
    data = await send(working, "start", urls=urls)
    assert (data["urls"], data["duplicates"]) == (3, 2)
    invalid, odd = data["invalidUrls"]
    assert odd["url"] == "http://\0/"
    assert invalid["url"] == "ftp://a.example/"
    job_id = data["jobId"]
    status = await until(lambda: send(working, "status", jobId=job_id), is_over)
    assert (status["total"], status["completed"], status["creditsUsed"]) == (3, 3, 1)
    errors = (await send(working, "errors", jobId=job_id))["errors"]
    (error,) = (error for error in errors if error["url"] == "ftp://a.example/")
    assert invalid["error"] in error["error"]
    assert len(errors) == 2
    assert site.hits("/article") == 1


async def test_a_list_without_any_url_is_a_wrong_field(client: httpx2.AsyncClient) -> None:
    status, error = await refuse(client, urls=["ftp://a.example", "http://"])
    assert (status, error["code"]) == (400, "VALIDATION_ERROR")
    assert [p["field"] for p in error["validationErrors"]] == ["urls[0]", "urls[1]"]


async def test_the_status_tells_how_far_a_batch_is(working: httpx2.AsyncClient, site: Site) -> None:
    urls = [site.url(path) for path in ("/article", "/status?code=404", "/silent", "/guide")]
    job_id = (await send(working, "start", urls=urls))["jobId"]
    await site.asked("/silent")
    data = await until(
        lambda: send(working, "status", jobId=job_id),
        lambda answer: answer["completed"] == 3 and len(answer["pages"]) == 2,
    )
    pages = data.pop("pages")
    assert general(data) == {
        "jobId": "ID",
        "status": "scraping",
        "total": 4,
        "completed": 3,
        "creditsUsed": 2,
        "createdAt": "NOW",
        "expiresAt": "NOW",
        "progress": 75.0,
        "queued": 1,
        "errorCount": 1,
        "leftOut": {},
        "hasMore": False,
        "nextOffset": 2,
        "message": "Batch scrape progress: 3/4 URLs completed (75%)",
    }
    assert {page["url"] for page in pages} == {site.url("/article"), site.url("/guide")}
    site.release()
    over = await until(lambda: send(working, "status", jobId=job_id), is_over)
    assert (over["status"], over["completed"], over["creditsUsed"]) == ("completed", 4, 3)
    assert over["message"] == "Batch scrape completed: 4/4 URLs completed (100%)"
    assert TIMESTAMP.fullmatch(over["completedAt"])
    assert "nextOffset" not in over


async def test_the_pages_of_a_batch_are_saved_like_any_other(
    working: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await finish(working, urls=[site.url("/article")], formats=["markdown"])
    data = await send(working, "status", jobId=job_id)
    (page,) = data["pages"]
    place = f"scrape://127.0.0.1:{site.port}/article"
    assert page["contentLength"] > 100
    del page["contentLength"]
    assert general(page) == {
        "url": site.url("/article"),
        "title": "Ember care",
        "statusCode": 200,
        "verdict": "ok",
        "timestamp": "NOW",
        "savedUris": {"cleaned": f"{place}/cleaned_NOW", "raw": f"{place}/raw_NOW"},
    }
    kept = await send(
        working, "start", url=page["url"], formats=["markdown"], parsers=[{"type": "pdf"}]
    )
    assert (kept["cached"], kept["savedUris"]) == (True, page["savedUris"])


async def test_content_comes_on_request(working: httpx2.AsyncClient, site: Site) -> None:
    urls = [site.url("/article"), site.url("/image")]
    job_id = await finish(working, urls=urls)
    data = await send(working, "status", jobId=job_id, includeContent=True)
    pages = {page["url"]: page for page in data["pages"]}
    assert pages[urls[0]]["content"].startswith("# Ember care")
    assert "content" not in pages[urls[1]]
    assert "image/png" in pages[urls[1]]["warning"]


async def test_content_that_does_not_fit_is_left_for_the_next_part(
    working: httpx2.AsyncClient, site: Site
) -> None:
    urls = [site.url(f"/book?n={n}") for n in range(4)]
    job_id = await finish(working, urls=urls)
    offset, parts = 0, []
    while True:
        data = await send(
            working, "status", jobId=job_id, includeContent=True, offset=offset, maxChars=4_500
        )
        parts.append([page["url"] for page in data["pages"]])
        assert all(page["content"].startswith("# Book") for page in data["pages"])
        assert data["hasMore"] is ("nextOffset" in data)
        if not data["hasMore"]:
            break
        offset = data["nextOffset"]
    assert len(parts) > 1
    assert sorted(url for part in parts for url in part) == urls


async def test_a_page_longer_than_an_answer_is_cut_and_says_so(
    working: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await finish(working, urls=[site.url("/long")])
    data = await send(working, "status", jobId=job_id, includeContent=True, maxChars=1_000)
    (page,) = data["pages"]
    assert (len(page["content"]), page["wasTruncated"]) == (1_000, True)
    assert "startIndex" in page["warning"]


async def test_errors_say_what_was_wrong_with_each_url(
    working: httpx2.AsyncClient, site: Site
) -> None:
    urls = [site.url(path) for path in ("/forbidden", "/status?code=404", "/article")]
    job_id = await finish(working, urls=urls)
    data = await send(working, "errors", jobId=job_id)
    errors = {error["url"]: error for error in data.pop("errors")}
    assert general(data) == {
        "jobId": "ID",
        "hasMore": False,
        "total": 2,
        "message": "Found 2 errors in batch scrape",
    }
    assert general(errors[urls[1]]) == {
        "url": urls[1],
        "error": "404 Not Found",
        "statusCode": 404,
        "verdict": "http_error",
        "timestamp": "NOW",
    }
    assert errors[urls[0]]["error"] == "Robots.txt disallowed"
    assert set(errors) == set(urls[:2])
    assert site.hits("/forbidden") == 0


async def test_urls_without_a_scheme_are_fetched_over_http_where_https_is_refused(
    working: httpx2.AsyncClient, site: Site
) -> None:
    started = await send(working, "start", urls=[f"{site.address}/article", site.url("/guide")])
    assert started["warning"] == (
        f"https://{site.address} makes no secure connection: http:// is used."
    )
    status = await until(lambda: send(working, "status", jobId=started["jobId"]), is_over)
    assert {page["url"] for page in status["pages"]} == {site.url("/article"), site.url("/guide")}


async def test_errors_come_in_parts(working: httpx2.AsyncClient, site: Site) -> None:
    urls = [site.url(f"/status?code={code}") for code in (404, 410, 451)]
    job_id = await finish(working, urls=urls)
    first = await send(working, "errors", jobId=job_id, limit=2)
    assert (len(first["errors"]), first["hasMore"], first["nextOffset"]) == (2, True, 2)
    rest = await send(working, "errors", jobId=job_id, limit=2, offset=2)
    assert (len(rest["errors"]), rest["hasMore"], "nextOffset" in rest) == (1, False, False)
    assert sorted(e["url"] for e in first["errors"] + rest["errors"]) == urls


async def test_a_cancelled_batch_stops_and_stays_cancelled(
    working: httpx2.AsyncClient, site: Site
) -> None:
    urls = [site.url(f"/silent?n={n}") for n in range(30)]
    job_id = (await send(working, "start", urls=urls))["jobId"]
    await site.asked("/silent")
    cancelled = {"jobId": job_id, "status": "cancelled", "message": "Batch scrape cancelled"}
    assert await send(working, "cancel", jobId=job_id) == cancelled
    assert await send(working, "cancel", jobId=job_id) == cancelled
    site.release()
    status = await send(working, "status", jobId=job_id)
    assert (status["status"], status["completed"], status["pages"]) == ("cancelled", 0, [])
    assert status["message"] == "Batch scrape cancelled: 0/30 URLs completed (0%)"
    assert site.hits("/silent") < 30


async def test_a_batch_that_is_over_cannot_be_cancelled(
    working: httpx2.AsyncClient, site: Site
) -> None:
    job_id = await finish(working, urls=[site.url("/article")])
    assert await send(working, "cancel", jobId=job_id) == {
        "jobId": job_id,
        "status": "completed",
        "message": "Batch scrape was over before: completed",
    }


async def test_whoever_reads_on_while_it_runs_misses_nothing_and_reads_nothing_twice(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    urls = [site.url(f"/numbered?n={n}") for n in range(40)]
    async with serve_jobs(settings, resolver, host_delay_ms=50) as client:
        job_id = (await send(client, "start", urls=urls))["jobId"]
        read: list[str] = []
        parts = 0

        async def read_on() -> Answer:
            nonlocal parts
            data = await send(client, "status", jobId=job_id, offset=len(read), limit=7)
            read.extend(page["url"] for page in data["pages"])
            parts += bool(data["pages"])
            if "nextOffset" in data:
                assert data["nextOffset"] == len(read)
            return data

        await until(read_on, lambda data: "nextOffset" not in data)
        whole = await send(client, "status", jobId=job_id, limit=100)
    assert read == [page["url"] for page in whole["pages"]]
    assert sorted(read) == sorted(urls)
    assert parts > 6


@pytest.mark.parametrize("way", ["body", "header"])
async def test_a_key_starts_one_batch_once(
    client: httpx2.AsyncClient, site: Site, way: str
) -> None:
    body: Answer = {"urls": [site.url("/article")]}
    headers = {"Idempotency-Key": "once"} if way == "header" else {}
    if way == "body":
        body["idempotencyKey"] = "once"
    answers = [
        (await client.post("/api/v2/scrape", json=body, headers=headers)).json() for _ in range(2)
    ]
    assert answers[0] == answers[1]
    other = await send(client, "start", urls=body["urls"], idempotencyKey="twice")
    assert other["jobId"] != answers[0]["data"]["jobId"]


async def test_the_key_of_a_batch_that_has_expired_starts_none(
    settings: Settings, resolver: TableResolver
) -> None:
    body = {"urls": ["https://a.example/"], "idempotencyKey": "once"}
    async with serve_jobs(settings, resolver, works=False, retention_hours=1e-9) as client:
        await send(client, "start", **body)
        status, error = await refuse(client, **body)
    assert (status, error["code"]) == (410, "BATCH_EXPIRED")


async def test_two_keys_that_differ_are_a_wrong_field(client: httpx2.AsyncClient) -> None:
    response = await client.post(
        "/api/v2/scrape",
        json={"urls": ["a.example"], "idempotencyKey": "one"},
        headers={"Idempotency-Key": "other"},
    )
    assert response.status_code == 400
    assert response.json()["error"]["validationErrors"][0]["field"] == "idempotencyKey"


@pytest.mark.parametrize("command", ["status", "cancel", "errors"])
async def test_what_is_no_batch_is_not_found(client: httpx2.AsyncClient, command: str) -> None:
    crawl = (await client.post("/v1/crawl", json={"url": "https://a.example/"})).json()
    for job_id in ("batch-0", "batch-\0", "", crawl["crawlId"]):
        status, error = await refuse(client, command=command, jobId=job_id)
        assert (status, error["code"]) == (404, "BATCH_NOT_FOUND")


@pytest.mark.parametrize("command", ["status", "cancel", "errors"])
async def test_a_batch_expires(
    settings: Settings, resolver: TableResolver, site: Site, command: str
) -> None:
    async with serve_jobs(settings, resolver, works=False, retention_hours=1e-9) as client:
        job_id = (await send(client, "start", urls=[site.url("/article")]))["jobId"]
        status, error = await refuse(client, command=command, jobId=job_id)
    assert (status, error["code"]) == (410, "BATCH_EXPIRED")


async def test_more_batches_than_are_taken_on_are_refused_with_a_time_to_come_back(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with serve_jobs(settings, resolver, works=False, max_open=1) as client:
        await send(client, "start", urls=[site.url("/article")])
        response = await post(client, urls=[site.url("/guide")])
    assert (response.status_code, response.json()["error"]["code"]) == (503, "OVERLOADED")
    assert int(response.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": "a.example", "urls": ["b.example"]}, "urls"),
        ({"urls": ["a.example"], "resultHandling": "returnOnly"}, "resultHandling"),
        ({"urls": ["a.example"], "section": "Fire"}, "section"),
        ({"urls": ["a.example"], "maxChars": 10}, "maxChars"),
        ({"urls": ["a.example"], "limit": 10}, "limit"),
        ({"urls": ["a.example"], "idempotencyKey": ""}, "idempotencyKey"),
        ({"urls": ["a.example"], "idempotencyKey": "a\0"}, "idempotencyKey"),
        ({"url": "a.example", "idempotencyKey": "once"}, "idempotencyKey"),
        ({"url": "a.example", "includeContent": True}, "includeContent"),
        ({"command": "status", "jobId": "x", "formats": ["links"]}, "formats"),
        ({"command": "status", "jobId": "x", "limit": 101}, "limit"),
        ({"command": "errors", "jobId": "x", "offset": -1}, "offset"),
        ({"command": "errors", "jobId": "x", "includeContent": True}, "includeContent"),
        ({"command": "cancel", "jobId": "x", "offset": 1}, "offset"),
    ],
)
async def test_what_a_command_has_no_use_for_is_a_wrong_field(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    status, error = await refuse(client, **body)
    assert (status, error["code"]) == (400, "VALIDATION_ERROR")
    assert [problem["field"] for problem in error["validationErrors"]] == [field]


async def test_too_many_urls_are_a_wrong_field(settings: Settings, resolver: TableResolver) -> None:
    async with serve_jobs(settings, resolver, works=False, max_batch_urls=2) as client:
        status, error = await refuse(client, urls=["a.example", "b.example", "c.example"])
    assert (status, error["validationErrors"][0]["field"]) == (400, "urls")


async def test_the_options_of_a_scrape_apply_to_every_page(
    working: httpx2.AsyncClient, site: Site
) -> None:
    urls = [site.url("/echo?n=1"), site.url("/article")]
    job_id = await finish(working, urls=urls, headers={"X-Ember": "glows"}, includeTags=["h2"])
    assert site.pages.headers["/echo"]["x-ember"] == "glows"
    data = await send(working, "status", jobId=job_id, includeContent=True)
    pages = {page["url"]: page for page in data["pages"]}
    assert pages[urls[1]]["content"].strip() == "## In the morning"

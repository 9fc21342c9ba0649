"""Webhooks and exports of crawls and batches, from the request to the receiver and the file."""

import asyncio
import gzip
import hashlib
import hmac
import io
import json
import zipfile
from functools import partial

import httpx2

from cinder.config.settings import Settings
from tests.api.v1.test_jobs import error_of, finish, get, start
from tests.api.working import DEADLINE_SECONDS, is_over, serve_jobs, until
from tests.resolver import TableResolver
from tests.services.receiver import SECRET, Receiver, receiving
from tests.site import Site
from tests.site.pages import PNG


def allowing(settings: Settings, address: str) -> Settings:
    allow = (*settings.egress.allow, address)
    egress = settings.egress.model_copy(update={"allow": allow})
    return settings.model_copy(update={"egress": egress})


async def test_a_crawl_tells_its_webhook_how_it_goes(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with (
        receiving(Receiver()) as receiver,
        serve_jobs(allowing(settings, receiver.address), resolver) as client,
        asyncio.timeout(DEADLINE_SECONDS),
    ):
        webhook = {"url": receiver.url, "secret": SECRET}
        started = await start(client, url=site.url("/shelf?books=1"), webhook=webhook)
        assert "webhookSecret" not in started
        await receiver.received(3)
        await until(partial(get, client, f"/v1/crawl/{started['crawlId']}"), is_over)
        while "crawl.completed" not in {message.event["type"] for message in receiver.messages}:
            await receiver.received(len(receiver.messages) + 1)
    assert all(message.is_genuine for message in receiver.messages)
    types = [message.event["type"] for message in receiver.messages]
    assert {"crawl.started", "crawl.page", "crawl.completed"} <= set(types)
    pages = [m.event["data"] for m in receiver.messages if m.event["type"] == "crawl.page"]
    assert site.url("/book?n=0") in {page["url"] for page in pages}


async def test_a_secret_that_was_made_is_shown_once(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with (
        receiving(Receiver()) as receiver,
        serve_jobs(allowing(settings, receiver.address), resolver) as client,
        asyncio.timeout(DEADLINE_SECONDS),
    ):
        body = {"url": site.url("/shelf?books=1"), "idempotencyKey": "once", "maxDepth": 1}
        webhook = {"url": receiver.url, "events": ["completed"]}
        first = await start(client, **body, webhook=webhook)
        second = await start(client, **body, webhook=webhook)
        await receiver.received(1)
        status = await get(client, f"/v1/crawl/{first['crawlId']}")
    (message,) = receiver.messages
    made = hmac.new(first["webhookSecret"].encode(), message.body, hashlib.sha256).hexdigest()
    assert message.headers["x-cinder-signature"] == f"sha256={made}"
    assert "webhookSecret" not in second
    assert first["webhookSecret"] not in json.dumps(status)


async def test_events_that_were_given_up_are_listed_and_tried_anew(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    async with (
        receiving(Receiver(statuses=[410, 200])) as receiver,
        serve_jobs(allowing(settings, receiver.address), resolver) as client,
        asyncio.timeout(DEADLINE_SECONDS),
    ):
        webhook = {"url": receiver.url, "events": ["completed"]}
        crawl = await finish(client, url=site.url("/book?n=1"), maxDepth=1, webhook=webhook)
        path = f"/v1/crawl/{crawl['crawlId']}/webhooks"
        dead = await until(partial(get, client, path), lambda answer: bool(answer["events"]))
        (event,) = dead["events"]
        assert (event["type"], event["state"], event["tries"]) == ("crawl.completed", "dead", 1)
        assert (await client.post(f"{path}/retry")).json() == {"retried": 1}
        await receiver.received(2)
    assert len(set(receiver.ids)) == 1


async def test_what_is_wrong_with_a_webhook_is_named(client: httpx2.AsyncClient) -> None:
    webhook = {"url": "ftp://example.com/", "events": ["pages"], "secrets": "x"}
    response = await client.post(
        "/v1/crawl", json={"url": "https://example.com/", "webhook": webhook}
    )
    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert "webhook.secrets" in response.text


async def test_a_single_scrape_has_no_webhook(client: httpx2.AsyncClient) -> None:
    body = {"url": "https://example.com/", "webhook": {"url": "https://example.com/hook"}}
    response = await client.post("/api/v2/scrape", json=body)
    assert response.status_code == 400
    assert "Only a batch" in response.text


async def test_a_crawl_is_exported_in_each_format(working: httpx2.AsyncClient, site: Site) -> None:
    crawl = await finish(working, url=site.url("/shelf?books=2"))
    path = f"/v1/crawl/{crawl['crawlId']}/export"
    lines = (await working.get(path)).text.splitlines()
    assert sorted(json.loads(line)["url"] for line in lines) == sorted(
        page["url"] for page in crawl["pages"]
    )
    assert all("Book" in json.loads(line)["markdown"] for line in lines)
    warc = await working.get(path, params={"format": "warc"})
    assert warc.headers["content-disposition"].endswith('.warc.gz"')
    assert gzip.decompress(warc.content).startswith(b"WARC/1.1")
    parquet = await working.get(path, params={"format": "parquet"})
    assert parquet.content[:4] == parquet.content[-4:] == b"PAR1"
    text = await working.get(path, params={"format": "llms-full"})
    assert text.headers["content-type"] == "text/markdown; charset=utf-8"
    assert text.headers["content-disposition"].endswith('-llms-full.txt"')
    assert all(f"Source: {page['url']}\n" in text.text for page in crawl["pages"])
    archive = await working.get(path, params={"format": "zip"})
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        names = {name.partition("/")[2] for name in files.namelist()}
    assert names == {"shelf@books=2.md", "book@n=0.md", "book@n=1.md"}


async def test_the_images_of_pages_are_exported_on_request(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl = await finish(working, url=site.url(f"/framed?other={site.url('')}"), maxDepth=1)
    path = f"/v1/crawl/{crawl['crawlId']}/export"
    archive = await working.get(path, params={"format": "zip", "images": "true"})
    with zipfile.ZipFile(io.BytesIO(archive.content)) as files:
        [image] = [name for name in files.namelist() if name.endswith(".png")]
        [page] = [name for name in files.namelist() if name.endswith(".md")]
        assert files.read(image) == PNG
        assert f"({image.rpartition('/')[2]})" in files.read(page).decode()
    refused = await working.get(path, params={"format": "warc", "images": "true"})
    assert error_of(refused) == (400, "VALIDATION_ERROR")


async def test_errors_and_raw_pages_are_exported_on_request(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl = await finish(working, url=site.url("/shelf?books=1"))
    path = f"/v1/crawl/{crawl['crawlId']}/export"
    answer = await working.get(path, params={"include": "raw", "includeErrors": "true"})
    pages = [json.loads(line) for line in answer.text.splitlines()]
    assert {page["fate"] for page in pages} > {"fetched"}
    assert any("<title>" in (page["raw"] or "") for page in pages)


async def test_an_export_of_no_known_format_or_job_is_refused(
    working: httpx2.AsyncClient, site: Site
) -> None:
    crawl = await finish(working, url=site.url("/book?n=1"), maxDepth=1)
    response = await working.get(f"/v1/crawl/{crawl['crawlId']}/export", params={"format": "csv"})
    assert error_of(response) == (400, "VALIDATION_ERROR")
    assert error_of(await working.get("/v1/crawl/none/export")) == (404, "CRAWL_NOT_FOUND")
    assert error_of(await working.get(f"/v1/batch/{crawl['crawlId']}/export")) == (
        404,
        "BATCH_NOT_FOUND",
    )

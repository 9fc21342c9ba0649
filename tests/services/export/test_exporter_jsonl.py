"""JSONL: what a line says of a page."""

import base64
import json
from typing import Any

from cinder.services.export import ExportExtra, ExportFormat, ExportRequest
from cinder.store import Store
from tests.services.export.samples import add_job_with, export, page_at, some_documents
from tests.store.ledger.samples import HOST
from tests.store.samples import a_document

PLAIN = ExportRequest(format=ExportFormat.JSONL)
WITH_BODIES = ExportRequest(format=ExportFormat.JSONL, include=frozenset(ExportExtra))


def lines_of(exported: bytes) -> list[dict[str, Any]]:  # Any: whatever JSON holds
    assert exported.endswith(b"\n")
    return [json.loads(line) for line in exported.decode().split("\n")[:-1]]


async def test_a_line_tells_all_of_a_page(store: Store) -> None:
    job = await add_job_with(store, [page_at("/plain", a_document("<p>Grüße</p>\u2028"))])
    assert lines_of(await export(store, job, PLAIN)) == [
        {
            "url": f"{HOST}/plain",
            "finalUrl": f"{HOST}/plain?landed",
            "title": "Hello",
            "statusCode": 200,
            "verdict": "ok",
            "depth": 1,
            "fetchedAt": "2025-11-15T18:30:00.123Z",
            "contentType": "text/html",
            "fate": "fetched",
            "reason": None,
            "metadata": {
                "source": "native",
                "strategy": "static",
            },
            "savedUris": {
                kind: f"scrape://site.test/plain/{kind}_2025-11-15T18:30:00.123Z"
                for kind in ("raw", "cleaned")
            },
            "markdown": "# <p>Grüße</p>\u2028",
        }
    ]


async def test_metadata_has_what_the_page_says_and_how_it_was_got(store: Store) -> None:
    job = await add_job_with(store, some_documents()[1:2])
    [line] = lines_of(await export(store, job, WITH_BODIES))
    assert line["metadata"] == {
        "description": "A page",
        "language": "de",
        "author": "Someone",
        "publishDate": "2025-01-01",
        "modifiedDate": "2025-01-02",
        "canonical": "https://example.com/article",
        "siteName": "Example",
        "keywords": ["one", "two"],
        "images": ["https://example.com/i.png"],
        "openGraph": {"og:title": "Grüße", "og:type": "article"},
        "jsonLd": [{"@type": "Article", "parts": [1, 2.5, None, True, {"deep": []}]}, "text"],
        "pageCount": 3,
        "wordCount": 3,
        "tokenCount": 5,
        "source": "browser",
        "strategy": "static",
        "rawIs": "the page as a browser had it after its scripts had run, as UTF-8",
        "verdictEvidence": "a “subscribe” box",
        "isCut": True,
        "etag": 'W/"abc"',
        "lastModified": "Sat, 15 Nov 2025 18:30:00 GMT",
        "warnings": ["cleaning failed"],
    }


async def test_html_and_raw_come_where_they_are_asked_for(store: Store) -> None:
    job = await add_job_with(store, some_documents()[:4])
    without = lines_of(await export(store, job, PLAIN))
    lines = lines_of(await export(store, job, WITH_BODIES))
    assert all({"html", "raw", "rawEncoding"}.isdisjoint(line) for line in without)
    assert [line["html"] for line in lines] == [None, "<h1>Grüße</h1>", None, None]
    assert [(line["raw"], line["rawEncoding"]) for line in lines] == [
        ("<p>Grüße &amp; 你好</p>", "text"),
        ("<h1>Grüße 🎉</h1>", "text"),
        (base64.b64encode(b"%PDF-1.7\r\n\r\n\x00\xff").decode(), "base64"),
        (base64.b64encode(b"\x89PNG\r\n\x1a\n\x00").decode(), "base64"),
    ]


async def test_errors_come_where_they_are_asked_for(store: Store) -> None:
    job = await add_job_with(store, some_documents()[:1], failing=["/broken"])
    request = ExportRequest(format=ExportFormat.JSONL, include_errors=True)
    without = lines_of(await export(store, job, PLAIN))
    lines = lines_of(await export(store, job, request))
    assert [line["fate"] for line in without] == ["fetched"]
    told = {line["url"]: (line["fate"], line["reason"], line["markdown"]) for line in lines[:3]}
    assert told[f"{HOST}/broken"] == ("failed", "DNS_ERROR: no such host", None)
    assert told[f"{HOST}/private"] == (
        "disallowed by robots",
        "robots.txt: Disallow: /private",
        None,
    )
    assert len(lines) == 3

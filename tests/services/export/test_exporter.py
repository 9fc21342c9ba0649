"""Exports to files, and the lines of JSONL."""

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from cinder.errors import CacheFailed
from cinder.models.job import PageStatus
from cinder.services.export.base import LISTED_AT_ONCE, ExportExtra, ExportFormat, ExportRequest
from cinder.services.export.exporter import BATCH_PAGES, Exporter, write_file, write_folder
from cinder.services.export.page_files import ExportedFile, ZipWriter
from cinder.store.documents import Store
from tests.services.export.samples import (
    NothingToScrape,
    add_job_with,
    claim_all,
    export,
    page_at,
    save_page,
    some_documents,
)
from tests.store.ledger.samples import HOST, a_page
from tests.store.samples import NOW, Clock, a_document, a_key


@pytest.mark.parametrize("format_", ExportFormat)
async def test_exporting_twice_gives_the_same_bytes(store: Store, format_: ExportFormat) -> None:
    job = await add_job_with(store, some_documents(), failing=["/broken"])
    request = ExportRequest(format=format_, include_errors=True)
    assert await export(store, job, request) == await export(store, job, request)


@pytest.mark.parametrize("format_", ExportFormat)
async def test_a_later_scrape_of_its_pages_changes_nothing(
    store: Store, format_: ExportFormat
) -> None:
    job = await add_job_with(store, some_documents())
    request = ExportRequest(format=format_)
    before = await export(store, job, request)
    for document in some_documents():
        await store.save(page_at("/other", a_document("later")), a_key(document.url))
    assert await export(store, job, request) == before


async def test_many_pages_come_in_order_in_several_pieces(store: Store) -> None:
    count = LISTED_AT_ONCE + BATCH_PAGES + 1
    job = await add_job_with(store, [page_at(f"/{n}", a_document()) for n in range(count)])
    told: list[tuple[int, int]] = []
    chunks = [
        chunk
        async for chunk in Exporter(store, NothingToScrape()).export(
            job, PLAIN, lambda done, total: told.append((done, total))
        )
    ]
    urls = [line["url"] for line in lines_of(b"".join(chunks))]
    assert urls == [f"{HOST}/{n}" for n in range(count)]
    assert len(chunks) == len(told) == count // BATCH_PAGES + 1
    assert told[0] == (BATCH_PAGES, count)
    assert told[-1] == (count, count)


@pytest.mark.parametrize("format_", ExportFormat)
async def test_a_job_without_pages_gives_an_export_without_pages(
    store: Store, format_: ExportFormat
) -> None:
    job = await add_job_with(store, [])
    exported = await export(store, job, ExportRequest(format=format_))
    texts = (ExportFormat.JSONL, ExportFormat.LLMS_FULL)
    assert bool(exported) is (format_ not in texts)


async def test_what_a_running_job_fetches_meanwhile_is_left_out(store: Store) -> None:
    documents = [page_at(f"/{n}", a_document()) for n in range(BATCH_PAGES + 1)]
    job = await add_job_with(store, documents)
    await store.ledger.add_pages(job.id, [a_page("/late")])
    claims = await claim_all(store)
    exported = b""
    async for chunk in Exporter(store, NothingToScrape()).export(job, PLAIN):
        if not exported:
            late = page_at("/late", a_document())
            await save_page(store, claims[late.url], late, number=0)
        exported += chunk
    assert [line["url"] for line in lines_of(exported)] == [d.url for d in documents]
    assert len(lines_of(await export(store, job, PLAIN))) == len(documents) + 1


async def test_a_page_that_appears_among_those_listed_repeats_none(
    store: Store, clock: Clock
) -> None:
    documents = [page_at(f"/{n}", a_document()) for n in range(LISTED_AT_ONCE + 1)]
    job = await add_job_with(store, documents)
    await store.ledger.add_pages(job.id, [a_page("/late")])
    claims = await claim_all(store)
    exported = b""
    async for chunk in Exporter(store, NothingToScrape()).export(job, PLAIN):
        if not exported:
            clock.now = NOW - timedelta(seconds=1)
            late = page_at("/late", a_document())
            await save_page(store, claims[late.url], late, number=0)
        exported += chunk
    urls = [line["url"] for line in lines_of(exported)]
    assert urls == [document.url for document in documents]


async def test_a_page_that_was_deleted_is_told_as_gone(store: Store) -> None:
    kept, deleted = some_documents()[:2]
    job = await add_job_with(store, [kept, deleted])
    await store.invalidate_url(deleted.url)
    lines = lines_of(await export(store, job, PLAIN))
    assert [line["markdown"] is None for line in lines] == [False, True]
    assert lines[1]["url"] == deleted.url
    assert lines[1]["reason"] == "The saved page is gone: it has expired or was deleted"


async def test_pages_of_other_owners_are_not_read(store: Store) -> None:
    job = await add_job_with(store, [])
    await store.ledger.add_pages(job.id, [a_page("/mine"), a_page("/theirs")])
    claims = await claim_all(store)
    for owner, path in (("owner", "/mine"), ("somebody else", "/theirs")):
        await save_page(store, claims[HOST + path], page_at(path, a_document()), 0, owner=owner)
    lines = lines_of(await export(store, job, PLAIN))
    assert {line["url"]: line["markdown"] is None for line in lines} == {
        f"{HOST}/mine": False,
        f"{HOST}/theirs": True,
    }


async def test_a_job_that_expires_meanwhile_ends_the_export_with_an_error(store: Store) -> None:
    count = LISTED_AT_ONCE + 1
    job = await add_job_with(store, [page_at(f"/{n}", a_document()) for n in range(count)])
    chunks = Exporter(store, NothingToScrape()).export(job, PLAIN)
    await anext(chunks)
    await store.ledger.drop_expired(job.expires_at)
    with pytest.raises(CacheFailed, match="expired"):
        async for _ in chunks:
            pass


async def test_the_formats_libraries_are_not_imported_before_they_are_used() -> None:
    script = (
        "import sys, cinder.services.export; "
        "sys.exit(any(name in sys.modules for name in ('pyarrow', 'warcio')))"
    )
    run = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", script], check=False)
    assert run.returncode == 0


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def files_in(directory: Path) -> list[Path]:
    return list(directory.iterdir())


async def breaking_chunks() -> AsyncIterator[bytes]:
    yield b"half"
    raise ConnectionResetError


async def test_chunks_become_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    assert await write_file(path, chunks(b"one\n", b"two\n")) == 8
    assert path.read_bytes() == b"one\ntwo\n"
    assert files_in(tmp_path) == [path]


async def test_what_breaks_off_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b"before")
    with pytest.raises(ConnectionResetError):
        await write_file(path, breaking_chunks())
    assert path.read_bytes() == b"before"
    assert files_in(tmp_path) == [path]


async def test_a_writer_that_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        yield b"half"
        begun.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(write_file(tmp_path / "out", endless()))
        await begun.wait()
        task.cancel()
    assert files_in(tmp_path) == []


async def test_a_link_leads_to_the_file_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    await write_file(tmp_path / "link", chunks(b"text"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"text"


async def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    async with asyncio.TaskGroup() as tasks:
        read = tasks.create_task(asyncio.to_thread(pipe.read_bytes))
        await write_file(pipe, chunks(b"one", b"two"))
    assert read.result() == b"onetwo"
    assert pipe.is_fifo()


async def test_a_place_that_cannot_be_written_is_told_before_anything_is_read(
    tmp_path: Path,
) -> None:
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        await write_file(tmp_path, breaking_chunks())
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        await write_file(tmp_path / "no" / "out", breaking_chunks())


async def batches(*files: ExportedFile) -> AsyncIterator[list[ExportedFile]]:
    for file in files:
        yield [file]


async def breaking_batches() -> AsyncIterator[list[ExportedFile]]:
    yield [ExportedFile("a/b.md", b"half", NOW)]
    raise ConnectionResetError


async def test_files_become_a_folder(tmp_path: Path) -> None:
    files = (ExportedFile("a/b.md", b"one", NOW), ExportedFile("a/c/d.md", b"four", NOW))
    (tmp_path / "empty").mkdir()
    for name in ("new", "empty"):
        assert await write_folder(tmp_path / name, batches(*files)) == 7
        assert (tmp_path / name / "a" / "c" / "d.md").read_bytes() == b"four"
    assert {path.name for path in files_in(tmp_path)} == {"new", "empty"}


async def test_a_file_out_of_the_folder_is_not_written(tmp_path: Path) -> None:
    for path in ("../out.md", str(tmp_path / "out.md"), "a/../../out.md"):
        with pytest.raises(OSError, match="no path within"):
            await write_folder(tmp_path / "new", batches(ExportedFile(path, b"text", NOW)))
        with pytest.raises(OSError, match="no path within"):
            ZipWriter().add([ExportedFile(path, b"text", NOW)])
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("format_", ExportFormat)
async def test_texts_that_are_no_urls_are_exported_as_errors(
    store: Store, tmp_path: Path, format_: ExportFormat
) -> None:
    texts = ["not a url", "http://../../etc/x", "../../etc/x", "two\r\nlines", "C:\\x", "/etc/x"]
    job = await add_job_with(store, some_documents()[:1])
    failed = [
        a_page(text, host="", fate=PageStatus.FAILED, reason="It is no URL") for text in texts
    ]
    await store.ledger.add_pages(job.id, failed)
    request = ExportRequest(format=format_, include_errors=True)
    assert await export(store, job, request)
    if format_ is ExportFormat.ZIP:
        files = Exporter(store, NothingToScrape()).export_files(job, request)
        (tmp_path / "around").mkdir()
        await write_folder(tmp_path / "around" / "new", files)
        assert files_in(tmp_path / "around") == [tmp_path / "around" / "new"]
        assert len(files_in(tmp_path / "around" / "new" / "_invalid")) == len(texts)


async def test_a_folder_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ConnectionResetError):
        await write_folder(tmp_path / "new", breaking_batches())
    assert files_in(tmp_path) == []


async def test_a_folder_with_content_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    with pytest.raises(FileExistsError, match="not empty"):
        await write_folder(tmp_path / "full", breaking_batches())
    with pytest.raises(NotADirectoryError, match="is a file"):
        await write_folder(tmp_path / "full" / "mine", breaking_batches())
    with pytest.raises(FileNotFoundError, match="There is no directory"):
        await write_folder(tmp_path / "no" / "out", breaking_batches())


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
        "keptShare": 0.25,
        "wordCount": 3,
        "tokenCount": 5,
        "source": "browser",
        "strategy": "static",
        "proxyPool": "eu",
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

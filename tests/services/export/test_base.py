"""Export requests."""

import pytest

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.job import PageResult, PageStatus
from cinder.services.export.base import (
    ExportedPage,
    ExportExtra,
    ExportFormat,
    ExportRequest,
    count_pages,
    list_duplicates,
    read_pages,
    read_request,
)
from cinder.store.documents import Store
from tests.services.export.samples import add_job_with, claim_all, some_documents
from tests.store.ledger.samples import HOST, a_page


async def read_all(store: Store, *fates: PageStatus, with_raw: bool = True) -> list[ExportedPage]:
    job = await add_job_with(store, some_documents(), failing=["/broken"])
    total = await count_pages(store, job, fates)
    return [page async for page in read_pages(store, job, fates, total, with_raw=with_raw)]


async def test_pages_are_read_in_the_order_in_which_they_were_committed(store: Store) -> None:
    pages = await read_all(store, PageStatus.FETCHED, PageStatus.FAILED)
    assert [page.entry.url.rpartition("/")[2] for page in pages] == [
        *("plain", "full", "paper.pdf", "picture.png", "cut"),
        "broken",
    ]
    assert [page.saved is None for page in pages] == [False] * 5 + [True]


async def test_pictures_of_pages_take_no_memory(store: Store) -> None:
    pages = await read_all(store, PageStatus.FETCHED)
    documents = [page.document for page in pages if page.document is not None]
    assert len(documents) == 5
    assert [d for d in documents if d.screenshot or d.actions] == []
    assert "screenshot" in pages[1].entry.uris[-1]


async def test_the_raw_body_of_a_pdf_is_the_file_and_not_its_text(store: Store) -> None:
    pages = await read_all(store, PageStatus.FETCHED)
    raw = pages[2].raw
    assert isinstance(raw, bytes)
    assert raw.startswith(b"%PDF")
    assert pages[2].size > len(raw)


async def test_what_the_server_sent_is_read_only_where_it_is_wanted(store: Store) -> None:
    pages = await read_all(store, PageStatus.FETCHED, with_raw=False)
    assert [page.raw for page in pages] == [None] * 5
    assert [page.markdown for page in pages] == [page.content.markdown for page in some_documents()]


def test_words_become_a_request() -> None:
    assert read_request("warc", ["html", "raw", "raw"], include_errors=True) == ExportRequest(
        format=ExportFormat.WARC,
        include=frozenset({ExportExtra.HTML, ExportExtra.RAW}),
        include_errors=True,
    )


def test_unknown_words_are_all_told_with_those_that_are_known() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_request("csv", ["raw", "pictures"])
    assert caught.value.problems == (
        FieldProblem(
            "format", "unknown value 'csv': use jsonl or warc or parquet or zip or llms-full"
        ),
        FieldProblem(
            "include",
            "unknown value 'pictures': use html or raw or links or linksDetail or summary "
            "or extracted or screenshot",
        ),
    )


def test_each_format_names_its_type_and_its_files() -> None:
    assert [(f.media_type, f.suffix) for f in ExportFormat] == [
        ("application/x-ndjson", ".jsonl"),
        ("application/gzip", ".warc.gz"),
        ("application/vnd.apache.parquet", ".parquet"),
        ("application/zip", ".zip"),
        ("text/markdown", "-llms-full.txt"),
    ]


def test_what_a_format_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_request("jsonl", images=True)
    assert caught.value.problems == (FieldProblem("images", "jsonl has no image files: use zip"),)
    with pytest.raises(InvalidRequest) as caught:
        read_request("llms-full", ["html"])
    assert [problem.field for problem in caught.value.problems] == ["include"]


async def test_duplicates_are_listed_with_the_page_that_they_repeat(store: Store) -> None:
    job = await add_job_with(store, some_documents())
    await store.ledger.add_pages(job.id, [a_page("/index.html")])
    (lease,) = (await claim_all(store)).values()
    reason = f"{HOST}/plain (same content)"
    result = PageResult(fate=PageStatus.DUPLICATE, reason=reason)
    await store.ledger.commit(store.ledger.page_commit(lease, lambda _: result))

    found = [pair async for pair in list_duplicates(store, job)]
    assert found == [(f"{HOST}/index.html", f"{HOST}/plain")]

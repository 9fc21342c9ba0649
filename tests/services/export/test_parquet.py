"""Parquet: typed columns, in row groups of bounded size."""

import json
from datetime import UTC, datetime
from io import BytesIO

import pyarrow as pa
from pyarrow import parquet

from cinder.services.export.base import ExportExtra, ExportFormat, ExportRequest
from cinder.services.export.parquet import ROW_GROUP_BYTES
from cinder.store.documents import Store
from tests.services.export.samples import add_job_with, export, page_at, some_documents
from tests.store.ledger.samples import HOST
from tests.store.samples import a_document

PARQUET = ExportRequest(format=ExportFormat.PARQUET)


async def test_a_row_tells_all_of_a_page(store: Store) -> None:
    job = await add_job_with(store, some_documents()[:1])
    table = parquet.read_table(BytesIO(await export(store, job, PARQUET)))
    [row] = table.to_pylist()
    assert json.loads(row.pop("metadata"))["source"] == "native"
    assert row == {
        "url": f"{HOST}/plain",
        "final_url": f"{HOST}/plain?landed",
        "title": "Hello",
        "status_code": 200,
        "verdict": "ok",
        "depth": 1,
        "fetched_at": datetime(2025, 11, 15, 18, 30, 0, 123000, tzinfo=UTC),
        "content_type": "text/html",
        "fate": "fetched",
        "reason": None,
        "markdown": "# <p>Grüße &amp; 你好</p>",
        "saved_uris": [
            f"scrape://site.test/plain/{kind}_2025-11-15T18:30:00.123Z"
            for kind in ("raw", "cleaned")
        ],
    }


async def test_columns_have_types_and_the_file_names_its_job(store: Store) -> None:
    job = await add_job_with(store, [])
    request = ExportRequest(
        format=ExportFormat.PARQUET, include=frozenset((ExportExtra.HTML, ExportExtra.RAW))
    )
    schema = parquet.read_schema(BytesIO(await export(store, job, request)))
    assert {name: schema.field(name).type for name in schema.names} == {
        "url": pa.string(),
        "final_url": pa.string(),
        "title": pa.string(),
        "status_code": pa.int32(),
        "verdict": pa.string(),
        "depth": pa.int32(),
        "fetched_at": pa.timestamp("ms", tz="UTC"),
        "content_type": pa.string(),
        "fate": pa.string(),
        "reason": pa.string(),
        "markdown": pa.large_string(),
        "metadata": pa.large_string(),
        "saved_uris": pa.list_(pa.string()),
        "html": pa.large_string(),
        "raw": pa.large_binary(),
    }
    assert schema.metadata[b"cinder.job"] == b"job"


async def test_html_and_raw_come_where_they_are_asked_for(store: Store) -> None:
    job = await add_job_with(store, some_documents()[:4])
    request = ExportRequest(
        format=ExportFormat.PARQUET, include=frozenset((ExportExtra.HTML, ExportExtra.RAW))
    )
    rows = parquet.read_table(BytesIO(await export(store, job, request))).to_pylist()
    assert [(row["html"], row["raw"]) for row in rows] == [
        (None, "<p>Grüße &amp; 你好</p>".encode()),
        ("<h1>Grüße</h1>", "<h1>Grüße 🎉</h1>".encode()),
        (None, b"%PDF-1.7\r\n\r\n\x00\xff"),
        (None, b"\x89PNG\r\n\x1a\n\x00"),
    ]


async def test_errors_are_rows_without_a_page(store: Store) -> None:
    job = await add_job_with(store, [], failing=["/broken"])
    request = ExportRequest(format=ExportFormat.PARQUET, include_errors=True)
    rows = parquet.read_table(BytesIO(await export(store, job, request))).to_pylist()
    assert {(row["fate"], row["reason"], row["markdown"], row["metadata"]) for row in rows} == {
        ("failed", "DNS_ERROR: no such host", None, None),
        ("disallowed by robots", "robots.txt: Disallow: /private", None, None),
    }


async def test_a_row_group_ends_when_it_is_full(store: Store) -> None:
    third = "x" * (ROW_GROUP_BYTES // 3)
    documents = [page_at(f"/{n}", a_document(third)) for n in range(7)]
    job = await add_job_with(store, documents)
    file = parquet.ParquetFile(BytesIO(await export(store, job, PARQUET)))
    groups = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
    assert groups == [3, 3, 1]
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"

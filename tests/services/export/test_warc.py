"""WARC: records that other tools read, with digests that hold."""

import json
from dataclasses import dataclass, replace
from io import BytesIO

from warcio.archiveiterator import ArchiveIterator

from cinder import __version__
from cinder.models.document import Validators
from cinder.services.export.base import ExportExtra, ExportFormat, ExportRequest
from cinder.store.documents import Store
from tests.services.export.samples import add_job_with, export, page_at, some_documents
from tests.store.ledger.samples import HOST
from tests.store.samples import a_document

WARC = ExportRequest(format=ExportFormat.WARC)


@dataclass(frozen=True)
class Record:
    kind: str
    headers: dict[str, str]
    http: tuple[str, dict[str, str]] | None
    content: bytes


def records_of(exported: bytes) -> list[Record]:
    """Read an archive as warcio does, which raises where a digest does not hold."""
    archive = ArchiveIterator(BytesIO(exported), check_digests="raise")
    return [
        Record(
            record.rec_type,
            dict(record.rec_headers.headers),
            record.http_headers
            and (record.http_headers.statusline, dict(record.http_headers.headers)),
            record.content_stream().read(),
        )
        for record in archive
    ]


async def test_the_first_record_tells_what_the_others_are(store: Store) -> None:
    job = await add_job_with(store, some_documents()[:1])
    info, *others = records_of(await export(store, job, WARC))
    assert (info.kind, info.headers["Content-Type"]) == ("warcinfo", "application/warc-fields")
    assert f"software: cinder/{__version__}\r\n".encode() in info.content
    assert b"format: WARC File Format 1.1\r\n" in info.content
    assert b"isPartOf: job\r\n" in info.content
    assert {record.headers["WARC-Warcinfo-ID"] for record in others} == {
        info.headers["WARC-Record-ID"]
    }


async def test_a_page_is_a_response_its_markdown_and_its_metadata(store: Store) -> None:
    job = await add_job_with(store, some_documents()[:1])
    exported = await export(store, job, WARC)
    _, response, markdown, metadata = records_of(exported)
    body = "<p>Grüße &amp; 你好</p>".encode()
    assert response.kind == "response"
    assert response.headers["WARC-Target-URI"] == f"{HOST}/plain?landed"
    assert response.headers["WARC-Date"] == "2025-11-15T18:30:00.123Z"
    assert response.headers["WARC-Payload-Digest"].startswith("sha1:")
    assert response.http == (
        "200 OK",
        {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))},
    )
    assert response.content == body
    assert (markdown.kind, markdown.content) == ("conversion", b"# " + body)
    assert markdown.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert metadata.kind == "metadata"
    assert json.loads(metadata.content)["title"] == "Hello"
    for record in (markdown, metadata):
        assert record.headers["WARC-Refers-To"] == response.headers["WARC-Record-ID"]


async def test_files_are_kept_byte_for_byte(store: Store) -> None:
    job = await add_job_with(store, some_documents()[2:4])
    records = records_of(await export(store, job, WARC))
    responses = [record for record in records if record.kind == "response"]
    assert [(r.http and r.http[1]["Content-Type"], r.content) for r in responses] == [
        ("application/pdf", b"%PDF-1.7\r\n\r\n\x00\xff"),
        ("image/png", b"\x89PNG\r\n\x1a\n\x00"),
    ]


async def test_only_a_page_that_broke_off_is_called_truncated(store: Store) -> None:
    whole, _, _, _, cut = some_documents()
    job = await add_job_with(store, [whole, cut])
    records = records_of(await export(store, job, WARC))
    assert [r.headers.get("WARC-Truncated") for r in records if r.kind == "response"] == [
        None,
        "disconnect",
    ]


async def test_headers_that_are_known_are_there_and_unprintable_ones_are_not(
    store: Store,
) -> None:
    full = some_documents()[1]
    odd = replace(page_at("/odd", a_document()), validators=Validators(etag='"ü"\r\nX: y'))
    job = await add_job_with(store, [full, odd])
    records = records_of(await export(store, job, WARC))
    answers = [r.http for r in records if r.kind == "response"]
    text = "text/html; charset=utf-8"
    assert answers == [
        (
            "203 Non-Authoritative Information",
            {
                "Content-Type": text,
                "Content-Length": "21",
                "ETag": 'W/"abc"',
                "Last-Modified": "Sat, 15 Nov 2025 18:30:00 GMT",
            },
        ),
        ("200 OK", {"Content-Type": text, "Content-Length": "14"}),
    ]


async def test_a_url_cannot_write_headers(store: Store) -> None:
    document = page_at("/odd", a_document())
    document = page_at("/odd?\r\nWARC-Type: ü", document)
    job = await add_job_with(store, [document])
    response = records_of(await export(store, job, WARC))[1]
    assert response.kind == "response"
    assert response.headers["WARC-Target-URI"] == (f"{HOST}/odd?%0D%0AWARC-Type:%20%C3%BC?landed")


async def test_html_is_a_second_conversion_where_it_is_asked_for(store: Store) -> None:
    job = await add_job_with(store, some_documents()[1:2])
    request = ExportRequest(format=ExportFormat.WARC, include=frozenset({ExportExtra.HTML}))
    records = records_of(await export(store, job, request))
    assert [
        (r.headers["Content-Type"], r.content.decode()) for r in records if r.kind == "conversion"
    ] == [
        ("text/markdown; charset=utf-8", "# Grüße 🎉\n"),
        ("text/html; charset=utf-8", "<h1>Grüße</h1>"),
    ]


async def test_an_error_is_metadata_alone(store: Store) -> None:
    job = await add_job_with(store, [], failing=["/broken"])
    request = ExportRequest(format=ExportFormat.WARC, include_errors=True)
    records = records_of(await export(store, job, request))[1:]
    assert {(r.kind, r.headers["WARC-Target-URI"]) for r in records} == {
        ("metadata", f"{HOST}/broken"),
        ("metadata", f"{HOST}/private"),
    }
    reasons = {json.loads(record.content)["reason"] for record in records}
    assert reasons == {"DNS_ERROR: no such host", "robots.txt: Disallow: /private"}


async def test_every_record_has_an_id_and_a_gzip_member_of_its_own(store: Store) -> None:
    job = await add_job_with(store, some_documents())
    exported = await export(store, job, WARC)
    records = records_of(exported)
    assert len({record.headers["WARC-Record-ID"] for record in records}) == len(records)
    archive = ArchiveIterator(BytesIO(exported))
    offsets = [archive.get_record_offset() for _ in archive]
    assert all(exported[offset : offset + 2] == b"\x1f\x8b" for offset in offsets)
    assert len(set(offsets)) == len(records)

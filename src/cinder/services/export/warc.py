"""WARC 1.1: each page as a response, its markdown as a conversion, the rest as metadata.

Every record is a gzip member of its own, so that tools can seek to it. The same pages give the same
bytes at any time.
"""

import json
import re
import zlib
from collections.abc import Sequence
from http import HTTPStatus
from io import BytesIO
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from cinder import __version__
from cinder.models.document import Document
from cinder.models.job import Job
from cinder.models.saved import format_timestamp
from cinder.services.export.base import (
    Encoder,
    ExportedPage,
    ExportExtra,
    ExportRequest,
    describe_page,
)

WARC_VERSION = "1.1"
# Level 9 takes 50 % longer, for files that are less than 1 % smaller.
COMPRESSION_LEVEL = 6

_SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_GZIP_WINDOW = zlib.MAX_WBITS + 16
_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_UNSAFE_IN_HEADER = re.compile(r"[^\x21-\x7e]")
_PRINTABLE = re.compile(r"[\x20-\x7e]+")


class WarcEncoder(Encoder):
    """Writes pages as WARC records."""

    def __init__(self, job: Job, request: ExportRequest) -> None:
        self._job = job
        self._has_html = ExportExtra.HTML in request.include
        self._info_id = _record_id(job.id, "warcinfo")

    def begin(self) -> bytes:
        """Return the warcinfo record, which describes the others."""
        fields = {
            "software": f"cinder/{__version__}",
            "format": f"WARC File Format {WARC_VERSION}",
            "conformsTo": _SPECIFICATION,
            "isPartOf": self._job.id,
            "description": f"the pages of a {self._job.kind}",
        }
        block = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        headers = {
            "WARC-Record-ID": self._info_id,
            "WARC-Date": format_timestamp(self._job.created_at),
        }
        return _write("warcinfo", block.encode(), headers, "application/warc-fields")

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return the records of some pages."""
        return b"".join(record for page in pages for record in self._records(page))

    def _records(self, page: ExportedPage) -> list[bytes]:
        document, raw = page.document, page.raw
        url = page.final_url or page.entry.url
        common = {
            "WARC-Target-URI": _UNSAFE_IN_HEADER.sub(lambda found: quote(found[0]), url),
            "WARC-Date": format_timestamp(page.fetched_at or self._job.created_at),
            "WARC-Warcinfo-ID": self._info_id,
        }
        records: list[bytes] = []
        if document is not None and raw is not None:
            response_id = self._id(page, "response")
            records.append(_write_response(document, raw, common | _named(response_id)))
            common["WARC-Refers-To"] = response_id
        html = page.html if self._has_html else None
        for media_type, text in {"text/markdown": page.markdown, "text/html": html}.items():
            if text is not None:
                kind = f"{media_type}; charset=utf-8"
                headers = common | _named(self._id(page, kind))
                records.append(_write("conversion", text.encode(), headers, kind))
        known = json.dumps(describe_page(page), ensure_ascii=False).encode()
        headers = common | _named(self._id(page, "metadata"))
        return [*records, _write("metadata", known, headers, "application/json")]

    def _id(self, page: ExportedPage, role: str) -> str:
        """Return the id of one of a page's records, which differs between versions of the page."""
        version = page.entry.uris[0] if page.entry.uris else page.entry.url
        return _record_id(self._job.id, str(page.entry.id), version, role)


def _write_response(document: Document, raw: str | bytes, headers: dict[str, str]) -> bytes:
    payload = raw.encode() if isinstance(raw, str) else raw
    if document.is_cut:
        headers["WARC-Truncated"] = "disconnect"
    # The known headers, without Content-Encoding: the payload is decoded.
    charset = "; charset=utf-8" if isinstance(raw, str) else ""
    known = {
        "Content-Type": f"{document.content_type}{charset}",
        "Content-Length": str(len(payload)),
        "ETag": document.validators.etag,
        "Last-Modified": document.validators.last_modified,
    }
    http = StatusAndHeaders(
        f"{document.status_code} {_PHRASES.get(document.status_code, 'Unknown')}",
        [(name, text) for name, text in known.items() if text and _PRINTABLE.fullmatch(text)],
        protocol="HTTP/1.1",
    )
    return _write("response", payload, headers, "application/http; msgtype=response", http)


def _write(
    kind: str,
    block: bytes,
    headers: dict[str, str],
    content_type: str,
    http: StatusAndHeaders | None = None,
) -> bytes:
    out = BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version=WARC_VERSION)
    record = writer.create_warc_record(
        headers.get("WARC-Target-URI", ""),
        kind,
        payload=BytesIO(block),
        length=len(block),
        warc_content_type=content_type,
        warc_headers_dict=headers,
        http_headers=http,
    )
    writer.write_record(record)
    compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, _GZIP_WINDOW)
    return compressor.compress(out.getbuffer()) + compressor.flush()


def _record_id(*parts: str) -> str:
    return f"<{uuid5(NAMESPACE_URL, ' '.join(('cinder', *parts))).urn}>"


def _named(record_id: str) -> dict[str, str]:
    return {"WARC-Record-ID": record_id}

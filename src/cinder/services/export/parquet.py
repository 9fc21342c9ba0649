"""Parquet: a table with one row for each page, in row groups of bounded size."""

import io
import json
from collections.abc import Sequence
from typing import TypeAlias

import pyarrow as pa
from pyarrow import parquet

from cinder import __version__
from cinder.models.job import Job
from cinder.services.export.base import ExportedPage, ExportExtra, ExportRequest, describe_document

# Writing a group needs about eight times as much memory.
ROW_GROUP_BYTES = 4 * 1024 * 1024
ROW_GROUP_ROWS = 5_000
COMPRESSION_LEVEL = 3

_COLUMNS = {
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
}
_EXTRAS = {ExportExtra.HTML: pa.large_string(), ExportExtra.RAW: pa.large_binary()}
# Columns with few distinct values, which are worth a dictionary.
_REPEATED = ["verdict", "content_type", "fate"]
_MEASURED = ["url", "status_code", "verdict", "depth", "fetched_at", "content_type", "fate"]

Row: TypeAlias = dict[str, object]


class ParquetEncoder:
    """Writes pages as rows of a table. See `cinder.services.export.base.Encoder`."""

    def __init__(self, job: Job, request: ExportRequest) -> None:
        self._extras = sorted(request.include)
        columns = _COLUMNS | {extra.value: _EXTRAS[extra] for extra in self._extras}
        about = {"cinder.job": job.id, "cinder.version": __version__}
        self._schema = pa.schema(list(columns.items()), metadata=about)
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"),
            self._schema,
            compression="zstd",
            compression_level=COMPRESSION_LEVEL,
            use_dictionary=_REPEATED,
            write_statistics=_MEASURED,
        )
        self._rows: list[Row] = []
        self._bytes = 0

    def begin(self) -> bytes:
        """Return the format's magic bytes."""
        return self._sink.take()

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return the row groups that these pages complete."""
        for page in pages:
            row = self._row(page)
            self._rows.append(row)
            self._bytes += sum(len(v) for v in row.values() if isinstance(v, str | bytes))
            if self._bytes >= ROW_GROUP_BYTES or len(self._rows) >= ROW_GROUP_ROWS:
                self._write_group()
        return self._sink.take()

    def end(self) -> bytes:
        """Return the last row group, and the index of all."""
        if self._rows:
            self._write_group()
        self._writer.close()
        return self._sink.take()

    def _write_group(self) -> None:
        batch = pa.RecordBatch.from_pylist(self._rows, schema=self._schema)
        self._rows, self._bytes = [], 0
        self._writer.write_batch(batch, row_group_size=len(batch))

    def _row(self, page: ExportedPage) -> Row:
        document, entry = page.document, page.entry
        row: Row = {
            "url": entry.url,
            "final_url": page.final_url,
            "title": page.title,
            "status_code": page.status_code,
            "verdict": page.verdict,
            "depth": entry.depth,
            "fetched_at": page.fetched_at,
            "fate": entry.fate and entry.fate.value,
            "reason": page.reason,
            "markdown": page.markdown,
            "saved_uris": list(entry.uris),
        }
        if document is not None:
            row["content_type"] = document.content_type
            row["metadata"] = json.dumps(describe_document(document), ensure_ascii=False)
        if ExportExtra.HTML in self._extras:
            row["html"] = page.html
        if ExportExtra.RAW in self._extras:
            raw = page.raw
            row["raw"] = raw.encode() if isinstance(raw, str) else raw
        return row


class _Sink(io.RawIOBase):
    """Buffers the writer's output until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: "bytes | memoryview") -> int:  # type: ignore[override] # pyarrow's types
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return the bytes that were written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)

"""Exports the pages of a crawl or batch as JSONL, WARC or Parquet, as a stream."""

from cinder.services.export.base import ExportExtra, ExportFormat, ExportRequest, read_request
from cinder.services.export.exporter import Exporter, Progress, write_file

__all__ = [
    "ExportExtra",
    "ExportFormat",
    "ExportRequest",
    "Exporter",
    "Progress",
    "read_request",
    "write_file",
]

"""Export: the pages of a crawl or batch as JSONL, WARC or Parquet, in a stream."""

from cinder.services.export.exporter import Exporter, Progress
from cinder.services.export.files import write_file
from cinder.services.export.request import ExportFormat, ExportRequest, Extra, read_request

__all__ = [
    "ExportFormat",
    "ExportRequest",
    "Exporter",
    "Extra",
    "Progress",
    "read_request",
    "write_file",
]

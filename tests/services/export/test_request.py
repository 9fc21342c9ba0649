"""What an export may be asked for."""

import pytest

from cinder.errors import FieldProblem, InvalidRequest
from cinder.services.export import ExportFormat, ExportRequest, Extra, read_request


def test_words_become_a_request() -> None:
    assert read_request("warc", ["html", "raw", "raw"], include_errors=True) == ExportRequest(
        format=ExportFormat.WARC,
        include=frozenset({Extra.HTML, Extra.RAW}),
        include_errors=True,
    )


def test_unknown_words_are_all_told_with_those_that_are_known() -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_request("csv", ["raw", "pictures"])
    assert caught.value.problems == (
        FieldProblem("format", "unknown value 'csv': use jsonl or warc or parquet"),
        FieldProblem("include", "unknown value 'pictures': use html or raw"),
    )


def test_each_format_names_its_type_and_its_files() -> None:
    assert [(f.media_type, f.suffix) for f in ExportFormat] == [
        ("application/x-ndjson", ".jsonl"),
        ("application/gzip", ".warc.gz"),
        ("application/vnd.apache.parquet", ".parquet"),
    ]

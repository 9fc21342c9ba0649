"""What kind of text a page is."""

import pytest

from cinder.extract.content_kind import (
    BINARY,
    HTML,
    JSON,
    PROSE,
    XML,
    ContentKind,
    Shape,
    content_kind,
)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/html; charset=utf-8", HTML),
        ("Application/XHTML+XML", HTML),
        ("text/plain", PROSE),
        ("text/markdown", PROSE),
        ("application/ld+json", JSON),
        ("text/csv; header=present", ContentKind(Shape.TABLE, "csv")),
        ("text/tab-separated-values", ContentKind(Shape.TABLE, "tsv")),
        ("application/rss+xml", XML),
        ("image/svg+xml", XML),
        ("image/png", BINARY),
        ("application/pdf", BINARY),
    ],
)
def test_a_type_that_says_something_is_believed(content_type: str, kind: ContentKind) -> None:
    assert content_kind(content_type, "<html>") == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" <!DOCTYPE html><p>", HTML),
        ("<h1>x", HTML),
        ('<?xml version="1.0"?><html xmlns="x">', HTML),
        ('<?xml version="1.0"?><rss>', XML),
        ("<rss version='2.0'>", XML),
        ('\ufeff{"a": 1}', JSON),
        ("Hello < world", PROSE),
        ("", PROSE),
        ("\ufffdPNG\ufffd\ufffd\ufffd", BINARY),
    ],
)
@pytest.mark.parametrize("content_type", ["", "application/octet-stream"])
def test_a_missing_or_generic_type_is_sniffed(
    content_type: str, text: str, kind: ContentKind
) -> None:
    assert content_kind(content_type, text) == kind

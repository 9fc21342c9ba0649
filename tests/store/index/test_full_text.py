"""What of a document enters the index."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from cinder.models.document import Extraction, PageMetadata
from cinder.store.index.full_text import (
    IndexedText,
    parse_timestamp,
    read_page,
    site_of,
)
from cinder.text.plain_text import MAX_TEXT_CHARS
from tests.store.samples import a_document


def test_a_document_is_read_with_its_title_site_and_date() -> None:
    metadata = PageMetadata(title=" Tides\x00 ", published="2025-03-01")
    content = Extraction(markdown="The *moon*", metadata=metadata)
    page = read_page(replace(a_document(url="https://Docs.Example.com/x"), content=content))
    assert page is not None
    assert page == IndexedText(
        title="Tides\ufffd",
        text="The moon",
        site="com.example.docs.",
        published_at=datetime(2025, 3, 1, tzinfo=UTC),
        content=page.content,
    )


def test_plain_text_is_read_where_there_is_no_markdown() -> None:
    document = replace(
        a_document(), content_type="text/plain", content=Extraction(text="Just text")
    )
    page = read_page(document)
    assert page is not None
    assert page.text == "Just text"


def test_a_long_page_is_read_to_a_limit() -> None:
    document = replace(a_document(), content=Extraction(markdown="word " * MAX_TEXT_CHARS))
    page = read_page(document)
    assert page is not None
    assert len(page.text) == MAX_TEXT_CHARS


def test_the_same_words_have_the_same_content_however_they_are_set() -> None:
    pages = [
        read_page(replace(a_document(), content=Extraction(markdown=markdown)))
        for markdown in ("The *moon*\n\nrises", "the moon   rises", "The moon sets")
    ]
    contents = [page.content for page in pages if page is not None]
    assert contents[0] == contents[1] != contents[2]


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://a.example.com:8443/x", "com.example.a."),
        ("http://localhost/", "localhost."),
        ("no url", ""),
        ("https://\ud800/", ""),
    ],
)
def test_a_site_is_read_backwards(url: str, site: str) -> None:
    assert site_of(url) == site


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        ("2025-03-01T10:00:00+02:00", datetime(2025, 3, 1, 8, tzinfo=UTC)),
        ("yesterday", None),
        ("0001-01-01T00:00:00+14:00", None),
        (None, None),
    ],
)
def test_a_date_is_read_if_it_is_one(text: str | None, timestamp: datetime | None) -> None:
    assert parse_timestamp(text) == timestamp

import json
from datetime import UTC, datetime

from cinder.model.document import Document, Extraction, PageMetadata, Source
from cinder.services.page_json import page_as_json


def document(markdown: str) -> Document:
    return Document(
        url="https://example.com/",
        final_url="https://example.com/",
        status_code=200,
        source=Source.NATIVE,
        strategy="native",
        content_type="text/html",
        scraped_at=datetime(2025, 11, 15, tzinfo=UTC),
        load_time_ms=1,
        content=Extraction(
            markdown=markdown,
            links=("https://example.com/a",),
            metadata=PageMetadata(title="Title", author="Ada"),
        ),
    )


def test_a_page_is_told_in_parts() -> None:
    page, cut = page_as_json(document("Before\n\n# One\n\ntext\n\n## Two\n\nmore"), 10_000)
    assert cut == []
    assert page["metadata"] == {"author": "Ada"}
    assert page["outline"] == [
        {"id": "top", "level": 0, "title": "", "start": 0, "chars": 8, "tokens": 2},
        {"id": "one", "level": 1, "title": "One", "start": 8, "chars": 25, "tokens": 7},
        {"id": "two", "level": 2, "title": "Two", "start": 21, "chars": 12, "tokens": 3},
    ]
    assert page["sections"] == [
        {"id": "top", "level": 0, "title": "", "text": "Before"},
        {"id": "one", "level": 1, "title": "One", "text": "text"},
        {"id": "two", "level": 2, "title": "Two", "text": "more"},
    ]
    assert page["links"] == ["https://example.com/a"]


def test_a_long_page_keeps_text_beside_its_outline_and_fits() -> None:
    markdown = "\n\n".join(f"## Heading {n}\n\n{'word ' * 20}" for n in range(3_000))
    page, cut = page_as_json(document(markdown), 20_000)
    assert len(json.dumps(page)) <= 20_000
    assert page["outline"]
    assert page["sections"]
    assert {"outline", "sections"} <= set(cut)


def test_a_section_longer_than_the_room_is_begun_and_told_at_its_real_length() -> None:
    page, cut = page_as_json(document(f"# One\n\n{'word ' * 3_000}"), 10_000)
    assert len(json.dumps(page)) <= 10_000
    assert page["outline"] == [
        {"id": "one", "level": 1, "title": "One", "start": 0, "chars": 15_007, "tokens": 3_752}
    ]
    assert page["sections"]
    assert cut == ["sections"]

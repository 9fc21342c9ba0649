"""What the commit before schema 0010 wrote: a database of each kind, and rows of documents."""

import random
from dataclasses import replace
from pathlib import Path

from cinder.models.document import Document, Extraction, Media, PageMetadata
from tests.store.samples import a_document, a_full_document

GOLDEN = Path(__file__).parent

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def an_old_document() -> Document:
    """Return the full document without the fields that came later."""
    document = a_full_document()
    metadata = replace(document.content.metadata, kept_share=None)
    content = replace(document.content, metadata=metadata, links_detail=None, is_out_of_time=False)
    return replace(document, content=content, proxy_pool=None, retry_after_seconds=None)


def a_file() -> Document:
    """Return a document whose MIME types and strategy are longer than their columns."""
    return replace(
        a_document(url="https://example.com/paper"),
        content=Extraction(markdown="# Paper", metadata=PageMetadata(title="Paper", page_count=2)),
        content_type=f"{DOCX}; {'x' * 60}",
        original=Media(DOCX, b"PK"),
        strategy=f"static, then {'browser ' * 10}",
    )


def a_long_url() -> str:
    letters = random.Random(1).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=3000)
    return f"https://example.com/{''.join(letters)}"

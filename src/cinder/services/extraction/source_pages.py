"""The pages of an extraction: what came of each URL, and what there is to read of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from cinder.model.document import Document
from cinder.model.extract import ExtractRequest, PageSource
from cinder.services.extraction.stages import ReadPage


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A URL, what came of it, and the page where there is one to read."""

    source: PageSource
    page: ReadPage | None = None


class PageReader(Protocol):
    """Gets the pages that an extraction is about."""

    async def read(self, request: ExtractRequest, seconds: float) -> list[SourcePage]:
        """Return what came of each URL; one that failed says why, and the others go on."""
        ...


def page_of(document: Document) -> ReadPage:
    """Return a document as stages read it."""
    return ReadPage(
        url=document.final_url,
        markdown=document.content.markdown,
        # Of a PDF it is the file that came, and its text is the markdown.
        text=None if document.original is not None else document.content.text,
        content_type=document.content_type,
    )


def describe_failures(pages: Sequence[SourcePage]) -> str:
    """Return what was tried and came to nothing."""
    return " ".join(f"{each.source.url}: {each.source.error}" for each in pages)

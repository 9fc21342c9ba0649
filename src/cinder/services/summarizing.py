"""Summaries of documents. This version makes them without a model, anew from the saved markdown."""

from cinder.extract.reading.blocks import find_blocks
from cinder.extract.reading.summary import Summary, summarize
from cinder.model.document import Document

__all__ = ["Summary", "summarize_document"]


def summarize_document(document: Document) -> Summary | None:
    """Return a document's summary; None where it has no sentences to make one of."""
    markdown = document.content.markdown or ""
    summary = summarize(markdown, find_blocks(markdown))
    return summary if summary.text else None

"""A page's summary, as answers show it."""

from cinder.model.document import Document, Json
from cinder.model.request import Format, ScrapeRequest
from cinder.services.summarizing import Summary, summarize_document

NO_SUMMARY = "The page has no sentences to make a summary of."


def wanted_summary(document: Document, request: ScrapeRequest) -> Summary | None:
    """Return the summary that a request asks for, if the page has one."""
    return summarize_document(document) if Format.SUMMARY in request.formats else None


def describe_summary(summary: Summary) -> dict[str, Json]:
    """Return how a summary was made, and where its sentences stand in the markdown."""
    places: list[Json] = [{"start": start, "end": end} for start, end in summary.places]
    return {"summaryMethod": summary.method, "summarySentences": places}

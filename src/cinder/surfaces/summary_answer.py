"""A page's summary, as answers show it."""

from cinder.model.document import Json
from cinder.model.request import Format, ScrapeRequest
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.summarizing import PageSummary, summarize_document

NO_SUMMARY = "The page has no sentences to make a summary of."


def wanted_summary(outcome: ScrapeOutcome, request: ScrapeRequest) -> PageSummary | None:
    """Return the summary that a request asks for: the model's, else sentences of the page."""
    if Format.SUMMARY not in request.formats or outcome.summary is not None:
        return outcome.summary
    return PageSummary(summary=summarize_document(outcome.document))


def describe_summary(told: PageSummary) -> dict[str, Json]:
    """Return how a summary was made: by which model, or of which sentences of the markdown."""
    if told.summary is None:
        return {}
    about: dict[str, Json] = {"summaryMethod": told.summary.method}
    if told.model:
        return about | {"summaryModel": told.model}
    return about | {
        "summarySentences": [{"start": start, "end": end} for start, end in told.summary.places]
    }

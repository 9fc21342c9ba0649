"""The header that tells a reader what a page's content is: whence, when, how fresh, how good."""

from collections.abc import Mapping

from cinder.model.document import Json, Verdict, VerdictKind
from cinder.model.saved import format_timestamp
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.verdict_advice import next_step

_TITLE_CHARS = 200


def page_header(outcome: ScrapeOutcome, *notes: str | None) -> str:
    """Return the header of a scraped page, one fact or note a line."""
    document = outcome.document
    lines = [f"URL: {document.url}"]
    if document.final_url != document.url:
        lines.append(f"Final URL: {document.final_url}")
    if title := document.content.metadata.title:
        lines.append(f"Title: {' '.join(title.split())[:_TITLE_CHARS]}")
    lines.append(
        f"Status: {document.status_code} | Source: {document.source} | {_freshness(outcome)} | "
        f"Time: {format_timestamp(document.scraped_at)} | Verdict: {_verdict(document.verdict)}"
    )
    if document.verdict.kind is not VerdictKind.OK:
        tried = outcome.diagnostics.strategies
        advice = f"Next: {next_step(document, tried)}"
        lines.append(f"Tried: {', '.join(tried)} | {advice}" if tried else advice)
    if outcome.saved is not None:
        uris = (f"{uri} ({kind})" for kind, uri in outcome.saved.uris.items())
        lines.append(f"Saved: {', '.join(uris)}")
    return "\n".join([*lines, *(note for note in notes if note)])


def warning_line(data: Mapping[str, Json]) -> str | None:
    """Return the note on an answer's warning; None where it has none."""
    return f"Warning: {data['warning']}" if "warning" in data else None


def page_name(outcome: ScrapeOutcome) -> str:
    """Return what to call a page in a list: its title, else its URL."""
    title = " ".join((outcome.document.content.metadata.title or "").split())
    return title[:_TITLE_CHARS] or outcome.document.url


def _freshness(outcome: ScrapeOutcome) -> str:
    return f"Cached {_ago(outcome.age_ms // 1000)} ago" if outcome.cached else "Fresh"


def _ago(seconds: int) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"


def _verdict(verdict: Verdict) -> str:
    if verdict.kind is VerdictKind.OK or not verdict.evidence:
        return verdict.kind
    return f"{verdict.kind} ({verdict.evidence})"

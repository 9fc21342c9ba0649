"""Parts of a page in responses: sections, outline, summary, changes and metadata."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import StringConstraints

from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Document, Json
from cinder.models.request import Format, ScrapeRequest
from cinder.models.saved import BlockChange, PageChange, TextDiff, format_timestamp
from cinder.services.excerpt import TextWindow, fit_items, json_chars, take_excerpt
from cinder.services.reading import DocumentView, OutlineHeading, describe_heading, read_document
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.summary import PageSummary, summarize_document

MAX_SECTION_CHARS = 300
MAX_QUERY_CHARS = 1_000

SectionName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_SECTION_CHARS)
]
Query = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY_CHARS)
]

# What an answer tells of the outline, in the words of its surface.
DescribeOutline = Callable[[DocumentView, TextWindow], dict[str, Json]]

_MAX_HEADINGS = 300
_MIN_OUTLINE_CHARS = 500


def read_text(document: Document, shown: Format, text: str, window: TextWindow) -> DocumentView:
    """Return the part of a document's text that an answer may hold.

    Raises:
        InvalidRequest: a section or a query is given, and this is no markdown or has no such
            section.
    """
    if shown is Format.MARKDOWN and document.content.markdown is not None:
        return read_document(document, window)
    require_markdown(document, window)
    return DocumentView(excerpt=take_excerpt(text, window))


def require_markdown(document: Document, window: TextWindow) -> None:
    """Refuse a section or a query of a page that has no markdown.

    Raises:
        InvalidRequest: one of them is given, and there is none.
    """
    if not window.is_narrowed or document.content.markdown is not None:
        return
    reason = "it is a file" if document.media else "its content could not be cleaned"
    is_pdf = document.media is not None and document.media.mime == "application/pdf"
    advice = 'Add parsers: [{"type": "pdf"}] to read its text, or leave it out'
    message = (
        f"The page has no markdown to read a part of: {reason}. "
        f"{advice if is_pdf else 'Leave it out'}"
    )
    field = "section" if window.section is not None else "query"
    raise InvalidRequest(problems=(FieldProblem(field, message),), url=document.url)


def describe_reading(reading: DocumentView) -> dict[str, Json]:
    """Return the section that was read and the places of the passages."""
    shown: dict[str, Json] = {}
    if reading.section is not None:
        shown["section"] = describe_heading(reading.section)
    if reading.passages is not None:
        shown["passages"] = [
            {"section": passage.section, "start": passage.start, "end": passage.end}
            for passage in reading.passages
        ]
    return shown


def describe_outline(reading: DocumentView, window: TextWindow) -> dict[str, Json]:
    """Return the outline with all there is to know of each heading."""
    if not reading.outline:
        return {}
    room = max(_MIN_OUTLINE_CHARS, window.max_chars // 10)
    shown = fit_outline(
        reading.outline, room, lambda heading: json_chars(describe_heading(heading))
    )
    told: dict[str, Json] = {"outline": [describe_heading(heading) for heading in shown]}
    if len(shown) < len(reading.outline):
        told["outlineLeftOut"] = len(reading.outline) - len(shown)
    return told


def fit_outline(
    outline: Sequence[OutlineHeading], max_chars: int, size_of: Callable[[OutlineHeading], int]
) -> list[OutlineHeading]:
    """Return the headings that fit: all, else those of the higher ranks and the first of others."""
    fitting: list[OutlineHeading] = []
    for heading in sorted(outline, key=lambda heading: heading.level):
        max_chars -= size_of(heading)
        if max_chars < 0 or len(fitting) == _MAX_HEADINGS:
            break
        fitting.append(heading)
    return sorted(fitting, key=lambda heading: heading.start)


def check_reading(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what does not go together with reading a part of the markdown."""
    narrowing = next((name for name in ("section", "query") if name in given), None)
    formats = given.get("formats") or [given.get("format") or Format.MARKDOWN]
    has_markdown = isinstance(formats, list) and Format.MARKDOWN in formats
    is_clean = given.get("cleanScrape", True) is True
    if narrowing and not (has_markdown and is_clean):
        message = "Only markdown can be read in parts: ask for that format, with cleanScrape true"
        yield FieldProblem(narrowing, message)
    if narrowing and given.get("resultHandling") == "saveOnly":
        yield FieldProblem(narrowing, "saveOnly returns no text to read a part of")
    if "query" in given and given.get("startIndex"):
        yield FieldProblem("startIndex", "A query brings its best passages at once: leave this out")
    if isinstance(formats, list) and Format.SUMMARY in formats and not is_clean:
        yield FieldProblem(
            "formats", "A summary is made of the markdown: it needs cleanScrape true"
        )


NO_SUMMARY = "The page has no sentences to make a summary of."


def requested_summary(outcome: ScrapeOutcome, request: ScrapeRequest) -> PageSummary | None:
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


_KEPT = "previousUri and savedUris hold both versions whole."
_NOT_KEPT = "previousUri holds the version compared with; a larger maxChars shows more."


def describe_change(change: PageChange, max_chars: int, *, is_saved: bool) -> dict[str, Json]:
    """Return a change as JSON; its difference has at most so many characters, half of it each way.

    Once the page is saved, what is cut cannot be asked for again, for then this version is the one
    to compare with: the answer says where both are kept.
    """
    told: dict[str, Json] = {"changeStatus": change.status}
    if change.previous_at is not None:
        told["previousScrapeAt"] = format_timestamp(change.previous_at)
    if change.previous_uri is not None:
        told["previousUri"] = change.previous_uri
    if change.diff is not None:
        told["diff"], is_cut = _describe_diff(change.diff, max_chars // 2)
        if is_cut:
            way = _KEPT if is_saved else _NOT_KEPT
            told["message"] = f"The difference is longer than what is shown of it: {way}"
    return told


def format_change(told: dict[str, Json]) -> str:
    """Return a described change as lines to read."""
    lines = [f"changeTracking: {told['changeStatus']}"]
    if "previousScrapeAt" in told:
        lines[0] += f" (compared with {told['previousScrapeAt']}, {told['previousUri']})"
    if "message" in told:
        lines.append(str(told["message"]))
    diff = told.get("diff")
    if isinstance(diff, dict):
        lines.append(str(diff["text"]))
    return "\n".join(lines)


def _describe_diff(diff: TextDiff, max_chars: int) -> tuple[dict[str, Json], bool]:
    text = take_excerpt(diff.unified, TextWindow(0, max_chars))
    whole = [_describe_block(change) for change in diff.blocks]
    fitting = fit_items(whole, max_chars)
    is_cut = diff.is_cut or text.was_truncated or len(fitting) < len(whole)
    changes: list[Json] = list(fitting)
    return {"text": text.text, "json": {"changes": changes}}, is_cut


def _describe_block(change: BlockChange) -> dict[str, Json]:
    told: dict[str, Json] = {"type": change.kind, "section": change.section}
    if change.before is not None:
        told["before"] = change.before
    if change.after is not None:
        told["after"] = change.after
    return told


_MAX_METADATA_CHARS = 500
_MAX_URL_CHARS = 2_000
_MAX_KEYWORDS = 20


def with_page_metadata(data: dict[str, Json], document: Document) -> dict[str, Json]:
    """Return an answer with the page's facts in its metadata; one without metadata stays so."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return data
    return data | {"metadata": metadata | _page_metadata(document)}


def _page_metadata(document: Document) -> dict[str, Json]:
    page = document.content.metadata
    texts = {
        "author": page.author,
        "published": page.published,
        "modified": page.modified,
        "language": page.language,
        "description": page.description,
        "siteName": page.site_name,
    }
    facts: dict[str, Json] = {
        name: text[:_MAX_METADATA_CHARS] for name, text in texts.items() if text
    }
    if page.keywords:
        facts["keywords"] = [
            keyword[:_MAX_METADATA_CHARS] for keyword in page.keywords[:_MAX_KEYWORDS]
        ]
    # Half an address would lead elsewhere.
    if page.canonical and len(page.canonical) <= _MAX_URL_CHARS:
        facts["canonical"] = page.canonical
    return facts

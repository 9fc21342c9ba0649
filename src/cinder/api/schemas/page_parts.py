"""Parts of a page in responses: sections, outline, summary, changes and metadata."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from cinder.api.arguments import Arguments, StrictInt
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Document, Json
from cinder.models.request import Format, ScrapeRequest
from cinder.models.saved import PageChange, format_timestamp
from cinder.services.excerpt import TextWindow, chars_of_tokens, fit_items, json_chars, take_excerpt
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

# Where a caller asks for no size. Passages are sorted by rank: what follows seldom matters.
QUERY_CHARS = 8_000


class ReadingArguments(Arguments):
    """Which part of a page's text to return."""

    max_chars: Annotated[StrictInt, Field(ge=1)] | None = None
    """Most characters of each text format in the answer."""
    max_tokens: Annotated[StrictInt, Field(ge=1)] | None = None
    """Most tokens of each text format, of about four bytes each; instead of `maxChars`."""
    start_index: Annotated[StrictInt, Field(ge=0)] = 0
    """Where to go on: `nextStartIndex` of the answer before. A character of the text or of
    `section`; with `query` the number of passages to skip."""
    section: SectionName | None = None
    """Return this section alone, by its id in the outline or by its title."""
    query: Query | None = None
    """Return the passages of the markdown that match these words, instead of all of it."""

    def window(self, default_chars: int, ceiling: int) -> TextWindow:
        """Return which part of each text the response may hold."""
        asked = self.max_chars or chars_of_tokens(self.max_tokens or 0)
        default = min(default_chars, QUERY_CHARS) if self.query is not None else default_chars
        return TextWindow(
            self.start_index,
            min(asked or default, ceiling),
            self.section,
            self.query,
            counts_tokens=self.max_tokens is not None,
        )


def check_size(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the conflict of the two ways to limit a text."""
    if raw.get("maxChars") is not None and raw.get("maxTokens") is not None:
        yield FieldProblem("maxTokens", "Give either maxChars or maxTokens, not both")


# Describes the outline of a page for one surface.
DescribeOutline = Callable[[DocumentView, TextWindow], dict[str, Json]]

_MAX_HEADINGS = 300
_MIN_OUTLINE_CHARS = 500


def read_text(document: Document, shown: Format, text: str, window: TextWindow) -> DocumentView:
    """Return the part of a document's text that a response may hold.

    Raises:
        InvalidRequest: a section or a query is requested, and the text is not markdown or has no
            such section.
    """
    if shown is Format.MARKDOWN and document.content.markdown is not None:
        return read_document(document, window)
    require_markdown(document, window)
    return DocumentView(excerpt=take_excerpt(text, window))


def require_markdown(document: Document, window: TextWindow) -> None:
    """Refuse a section or a query of a page that has no markdown.

    Raises:
        InvalidRequest: one of them is requested, and there is no markdown.
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
    """Return the section that was read, the positions of the passages, and where to go on."""
    shown: dict[str, Json] = {}
    if reading.section is not None:
        shown["section"] = describe_heading(reading.section)
    if reading.passages is not None:
        shown["passages"] = [
            {"section": passage.section, "start": passage.start, "end": passage.end}
            for passage in reading.passages
        ]
    if reading.next_start is not None:
        shown["nextStartIndex"] = reading.next_start
    return shown


def describe_outline(reading: DocumentView, window: TextWindow) -> dict[str, Json]:
    """Return the outline with all facts of each heading."""
    if not reading.outline:
        return {}
    room = max(_MIN_OUTLINE_CHARS, window.max_chars // 10)
    shown = fit_outline(
        reading.outline, room, lambda heading: json_chars(describe_heading(heading))
    )
    outline: dict[str, Json] = {"outline": [describe_heading(heading) for heading in shown]}
    if len(shown) < len(reading.outline):
        outline["outlineLeftOut"] = len(reading.outline) - len(shown)
    return outline


def fit_outline(
    outline: Sequence[OutlineHeading], max_chars: int, size_of: Callable[[OutlineHeading], int]
) -> list[OutlineHeading]:
    """Return the headings that fit; higher levels come first."""
    fitting: list[OutlineHeading] = []
    for heading in sorted(outline, key=lambda heading: heading.level):
        max_chars -= size_of(heading)
        if max_chars < 0 or len(fitting) == _MAX_HEADINGS:
            break
        fitting.append(heading)
    return sorted(fitting, key=lambda heading: heading.start)


def check_reading(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the arguments that conflict with reading a part of the markdown."""
    narrowing = next((name for name in ("section", "query") if name in raw), None)
    formats = raw.get("formats") or [raw.get("format") or Format.MARKDOWN]
    has_markdown = isinstance(formats, list) and Format.MARKDOWN in formats
    is_clean = raw.get("cleanScrape", True) is True
    if narrowing and not (has_markdown and is_clean):
        message = "Only markdown can be read in parts: ask for that format, with cleanScrape true"
        yield FieldProblem(narrowing, message)
    if narrowing and raw.get("resultHandling") == "saveOnly":
        yield FieldProblem(narrowing, "saveOnly returns no text to read a part of")
    yield from check_size(raw)
    if isinstance(formats, list) and Format.SUMMARY in formats and not is_clean:
        yield FieldProblem(
            "formats", "A summary is made of the markdown: it needs cleanScrape true"
        )


NO_SUMMARY = "The page has no sentences to make a summary of."


def requested_summary(outcome: ScrapeOutcome, request: ScrapeRequest) -> PageSummary | None:
    """Return the requested summary: of the model, else of sentences of the page."""
    if Format.SUMMARY not in request.formats or outcome.summary is not None:
        return outcome.summary
    return PageSummary(summary=summarize_document(outcome.document))


def describe_summary(page: PageSummary) -> dict[str, Json]:
    """Return how a summary was made: by which model, or of which sentences of the markdown."""
    if page.summary is None:
        return {}
    about: dict[str, Json] = {"summaryMethod": page.summary.method}
    if page.model:
        return about | {"summaryModel": page.model}
    return about | {
        "summarySentences": [{"start": start, "end": end} for start, end in page.summary.places]
    }


_BOTH_SAVED = "previousUri and savedUris hold both versions whole."
_NOT_SAVED = "previousUri holds the version compared with; a larger maxChars shows more."


def describe_change(change: PageChange, max_chars: int, *, is_saved: bool) -> dict[str, Json]:
    """Return a change as JSON; text and blocks of its difference get half of the characters each.

    Once the page is saved, the next request compares with this version, so the difference cannot
    be requested again: the message names the URIs of both versions.
    """
    shown: dict[str, Json] = {"changeStatus": change.status}
    if change.previous_at is not None:
        shown["previousScrapeAt"] = format_timestamp(change.previous_at)
    if change.previous_uri is not None:
        shown["previousUri"] = change.previous_uri
    if change.diff is not None:
        text = take_excerpt(change.diff.unified, TextWindow(0, max_chars // 2))
        blocks: list[dict[str, Json]] = [
            {
                "type": block.kind,
                "section": block.section,
                **({} if block.before is None else {"before": block.before}),
                **({} if block.after is None else {"after": block.after}),
            }
            for block in change.diff.blocks
        ]
        fitting: list[Json] = list(fit_items(blocks, max_chars // 2))
        shown["diff"] = {"text": text.text, "json": {"changes": fitting}}
        if change.diff.is_cut or text.was_truncated or len(fitting) < len(blocks):
            where = _BOTH_SAVED if is_saved else _NOT_SAVED
            shown["message"] = f"The difference is longer than what is shown of it: {where}"
    return shown


def format_change(change: dict[str, Json]) -> str:
    """Return a described change as lines of text."""
    lines = [f"changeTracking: {change['changeStatus']}"]
    if "previousScrapeAt" in change:
        lines[0] += f" (compared with {change['previousScrapeAt']}, {change['previousUri']})"
    if "message" in change:
        lines.append(str(change["message"]))
    diff = change.get("diff")
    if isinstance(diff, dict):
        lines.append(str(diff["text"]))
    return "\n".join(lines)


_MAX_METADATA_CHARS = 500
_MAX_URL_CHARS = 2_000
_MAX_KEYWORDS = 20


def with_page_metadata(data: dict[str, Json], document: Document) -> dict[str, Json]:
    """Return a response with the page's facts in its metadata, if it has metadata."""
    metadata = data.get("metadata")
    if not isinstance(metadata, dict):
        return data
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
    # A truncated URL would lead elsewhere.
    if page.canonical and len(page.canonical) <= _MAX_URL_CHARS:
        facts["canonical"] = page.canonical
    return data | {"metadata": metadata | facts}

"""What was read of a page, as answers show it: the outline, the section, the passages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import StringConstraints

from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.document import Document, Json
from cinder.model.request import Format
from cinder.services.excerpt import Window, take_excerpt
from cinder.services.fitting import json_chars
from cinder.services.page_json import describe_heading
from cinder.services.reading import Heading, Reading, read_document

MAX_SECTION_CHARS = 300
MAX_QUERY_CHARS = 1_000

SectionName = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_SECTION_CHARS)
]
Query = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MAX_QUERY_CHARS)
]

# What an answer tells of the outline, in the words of its surface.
TellOutline = Callable[[Reading, Window], dict[str, Json]]

_MAX_HEADINGS = 300
_MIN_OUTLINE_CHARS = 500


def read_text(document: Document, shown: Format, text: str, window: Window) -> Reading:
    """Return the part of a document's text that an answer may hold.

    Raises:
        InvalidRequest: a section or a query is given, and this is no markdown or has no such
            section.
    """
    if shown is Format.MARKDOWN and document.content.markdown is not None:
        return read_document(document, window)
    require_markdown(document, window)
    return Reading(excerpt=take_excerpt(text, window))


def require_markdown(document: Document, window: Window) -> None:
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


def describe_reading(reading: Reading) -> dict[str, Json]:
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


def tell_outline(reading: Reading, window: Window) -> dict[str, Json]:
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
    outline: Sequence[Heading], max_chars: int, size_of: Callable[[Heading], int]
) -> list[Heading]:
    """Return the headings that fit: all, else those of the higher ranks and the first of others."""
    fitting: list[Heading] = []
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

"""The answer to a page scrape, as POST /v1/scrape and the MCP tool `cinder_scrape` give it."""

import json
from dataclasses import dataclass

from cinder.model.document import Document, Extraction, Json
from cinder.services.excerpt import Excerpt, Window, take_excerpt
from cinder.services.fitting import fit_members, json_chars, without_nulls
from cinder.services.off_loop import off_loop
from cinder.services.page_json import page_as_json
from cinder.services.reading import Reading, is_structure_kept, read_document
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.page_arguments import PageArguments, ReturnFormat
from cinder.surfaces.reading_answer import (
    TellOutline,
    describe_reading,
    require_markdown,
    tell_outline,
)
from cinder.surfaces.verdict_advice import explain_verdict

_REST_OF_IT = (
    "Ask for a section or a query; the `scrape` tool and POST /api/v2/scrape read on with "
    "startIndex and maxChars."
)


@dataclass(frozen=True, slots=True)
class PageRoom:
    """How much an answer may hold, and what of it an outline needs where the text is cut."""

    max_chars: int
    outline_chars: int = 0
    tell: TellOutline = tell_outline


async def answer_page(
    outcome: ScrapeOutcome, arguments: PageArguments, room: PageRoom
) -> dict[str, Json]:
    """Describe a page without holding others up.

    Raises:
        InvalidRequest: see `describe_page`.
    """
    # What is left to do with a kept structure is a slice of the text; JSON and a query read it all.
    is_whole = arguments.return_format is not ReturnFormat.MARKDOWN or arguments.query is not None
    is_ready = not is_whole and is_structure_kept(outcome.document)
    chars = 0 if is_ready else len(outcome.document.content.markdown or "")
    return await off_loop(chars, describe_page, outcome, arguments, room)


def describe_page(
    outcome: ScrapeOutcome, arguments: PageArguments, room: PageRoom
) -> dict[str, Json]:
    """Return a page as the caller asked for it, without nulls.

    Raises:
        InvalidRequest: the page has not the section asked for, or no markdown.
    """
    document, max_chars = outcome.document, room.max_chars
    warnings = [outcome.warning] if outcome.warning else []
    data: dict[str, Json] = {"url": document.url}
    if title := document.content.metadata.title:
        data["title"] = title
    if arguments.include_metadata:
        whole = _metadata(document.content)
        data["metadata"] = shown = fit_members(whole, max_chars // 4)
        max_chars -= json_chars(shown)
        if shown != whole:
            warnings.append("Long metadata was cut.")
    window = _window(document, arguments, max_chars, room.outline_chars)
    data["content"], cut, reading = _content(document, arguments.return_format, window)
    if reading is not None:
        data |= describe_reading(reading) | room.tell(reading, window)
        warnings += reading.notices
    data |= {
        "statusCode": document.status_code,
        "loadTime": document.load_time_ms,
        "verdict": document.verdict.kind,
        "cached": outcome.cached,
    }
    if document.final_url != document.url:
        data["finalUrl"] = document.final_url
    data |= explain_verdict(outcome)
    if outcome.saved is not None:
        data["savedUri"] = outcome.saved.primary_uri
    if cut:
        warnings += [cut, *_point_to_whole(outcome, arguments.return_format), _REST_OF_IT]
    if warnings:
        data["warning"] = " ".join(warnings)
    return data


def _point_to_whole(outcome: ScrapeOutcome, return_format: ReturnFormat) -> list[str]:
    if outcome.saved is None or return_format is not ReturnFormat.MARKDOWN:
        return []
    return [f"{outcome.saved.primary_uri} holds the whole."]


def _window(
    document: Document, arguments: PageArguments, max_chars: int, outline_chars: int
) -> Window:
    if len(document.content.markdown or "") > max_chars:
        max_chars = max(max_chars - outline_chars, max_chars // 2)
    return Window(0, max_chars, arguments.section, arguments.query)


def _content(
    document: Document, return_format: ReturnFormat, window: Window
) -> tuple[str, str | None, Reading | None]:
    """Return the content that fits, a sentence on what did not, and how markdown was read."""
    require_markdown(document, window)
    if document.media is None and return_format is ReturnFormat.JSON:
        page, cut = page_as_json(document, window.max_chars)
        notice = f"Only the beginning of {' and '.join(cut)} is shown." if cut else None
        return json.dumps(page, ensure_ascii=False), notice, None
    markdown = document.content.markdown
    if document.media is None and return_format is ReturnFormat.MARKDOWN and markdown is not None:
        reading = read_document(document, window)
        return reading.excerpt.text, _tell_cut(reading.excerpt), reading
    excerpt = take_excerpt(_text(document, return_format), window)
    return excerpt.text, _tell_cut(excerpt), None


def _tell_cut(excerpt: Excerpt) -> str | None:
    if not excerpt.was_truncated:
        return None
    return f"Only the first {excerpt.end} of {excerpt.total} characters are shown."


def _text(document: Document, return_format: ReturnFormat) -> str:
    if document.media is not None:
        media = document.media
        return (
            f"This is a file, not a page: {media.mime}, {len(media.data)} bytes. "
            "The `scrape` tool and POST /api/v2/scrape hand the file itself through."
        )
    content = document.content
    chosen = content.html if return_format is ReturnFormat.HTML else content.markdown
    return chosen if chosen is not None else content.text or ""


def _metadata(content: Extraction) -> dict[str, Json]:
    metadata = content.metadata
    shown: dict[str, Json] = {
        "description": metadata.description,
        "keywords": list(metadata.keywords),
        "images": list(metadata.images),
        "author": metadata.author,
        "publishDate": metadata.published,
        "wordCount": content.word_count,
        "tokenCount": content.token_count,
        "language": metadata.language,
        "canonical": metadata.canonical,
        "pageCount": metadata.page_count,
        "openGraph": dict(metadata.open_graph),
        "jsonLd": [without_nulls(thing) for thing in metadata.json_ld],
    }
    return {name: value for name, value in shown.items() if value}

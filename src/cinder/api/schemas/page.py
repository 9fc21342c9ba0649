"""Single pages: arguments and response of POST /v1/scrape and the tool `cinder_scrape`."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cinder.api.arguments import StrictBool, WebUrl
from cinder.api.errors import explain_verdict
from cinder.api.options import build_request, with_options
from cinder.api.schemas.page_parts import (
    DescribeOutline,
    ReadingArguments,
    check_size,
    describe_outline,
    describe_reading,
    require_markdown,
)
from cinder.background import run_in_thread
from cinder.errors import FieldProblem
from cinder.models.document import Document, Extraction, Json
from cinder.models.request import ContentOptions, Format, PdfParser, ScrapeRequest
from cinder.services.excerpt import (
    Excerpt,
    TextWindow,
    fit_items,
    fit_members,
    json_chars,
    take_excerpt,
    without_nulls,
)
from cinder.services.reading import (
    DocumentView,
    describe_links,
    is_structure_kept,
    page_as_json,
    read_document,
)
from cinder.services.scraping.outcome import ScrapeOutcome


class ReturnFormat(StrEnum):
    """The format of a page's content."""

    MARKDOWN = "markdown"
    HTML = "html"
    JSON = "json"
    LINKS_DETAIL = "linksDetail"


_FORMATS = {
    ReturnFormat.MARKDOWN: (Format.MARKDOWN,),
    ReturnFormat.HTML: (Format.HTML,),
    ReturnFormat.JSON: (Format.MARKDOWN, Format.LINKS),
    ReturnFormat.LINKS_DETAIL: (Format.LINKS_DETAIL,),
}


@with_options(ScrapeRequest, only=("mode", "proxyPool"))
class PageArguments(ReadingArguments):
    """One page to scrape."""

    url: WebUrl
    """The page; https:// is added where the scheme is missing."""
    include_metadata: StrictBool = True
    """Return what the page says of itself: description, author, dates, images, JSON-LD."""
    return_format: ReturnFormat = ReturnFormat.MARKDOWN
    """The form of `content`; `json` is a string of title, outline, sections, tables and links,
    `linksDetail` one of the links with their words and section."""

    def to_request(self, *, caller: str, timeout_ms: int = 60_000) -> ScrapeRequest:
        """Return the request for the page."""
        return build_request(
            ScrapeRequest,
            self,
            url=self.url,
            formats=_FORMATS[self.return_format],
            timeout_ms=timeout_ms,
            content=ContentOptions(pdf_parser=PdfParser()),
            caller=caller,
            keep_http_errors=True,
        )


def check_parts(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the arguments that conflict with reading a part of the markdown."""
    narrowing = next((name for name in ("section", "query") if name in raw), None)
    if narrowing and raw.get("returnFormat", ReturnFormat.MARKDOWN) != ReturnFormat.MARKDOWN:
        message = "Only markdown can be read in parts: leave returnFormat out"
        yield FieldProblem(narrowing, message)
    is_json = raw.get("returnFormat") in (ReturnFormat.JSON, ReturnFormat.LINKS_DETAIL)
    if is_json and raw.get("startIndex"):
        yield FieldProblem("startIndex", "JSON has no next part: leave returnFormat out")
    yield from check_size(raw)


PAGE_CHECKS = (check_parts,)


@dataclass(frozen=True, slots=True)
class PageBudget:
    """How long a response may be, and how much of it an outline needs if the text is cut."""

    max_chars: int
    outline_chars: int = 0
    tell: DescribeOutline = describe_outline


async def answer_page(
    outcome: ScrapeOutcome, arguments: PageArguments, room: PageBudget
) -> dict[str, Json]:
    """Describe a page; a long one in a thread.

    Raises:
        InvalidRequest: see `describe_page`.
    """
    # With a stored structure, the text is only sliced; JSON and a query read all of it.
    is_whole = arguments.return_format is not ReturnFormat.MARKDOWN or arguments.query is not None
    is_ready = not is_whole and is_structure_kept(outcome.document)
    chars = 0 if is_ready else len(outcome.document.content.markdown or "")
    return await run_in_thread(chars, describe_page, outcome, arguments, room)


def describe_page(
    outcome: ScrapeOutcome, arguments: PageArguments, room: PageBudget
) -> dict[str, Json]:
    """Return the response for a page, without nulls.

    Raises:
        InvalidRequest: the page lacks the requested section, or has no markdown.
    """
    document, max_chars = outcome.document, room.max_chars
    warnings = [outcome.warning] if outcome.warning else []
    data: dict[str, Json] = {"url": document.url}
    if title := document.content.metadata.title:
        data["title"] = title
    if arguments.include_metadata:
        metadata = _describe_metadata(document.content)
        data["metadata"] = shown = fit_members(metadata, max_chars // 4)
        max_chars -= json_chars(shown)
        if shown != metadata:
            warnings.append("Long metadata was cut.")
    if len(document.content.markdown or "") > max_chars:
        max_chars = max(max_chars - room.outline_chars, max_chars // 2)
    window = arguments.window(max_chars, max_chars)
    data["content"], cut, reading = _content(document, arguments.return_format, window)
    if reading is not None:
        data |= describe_reading(reading) | room.tell(reading, window)
        warnings += reading.notices
    data |= {
        "statusCode": document.status_code,
        "loadTime": document.load_time_ms,
        "verdict": document.verdict.kind,
        "cached": outcome.cached,
        **({"proxyPool": document.proxy_pool} if document.proxy_pool else {}),
    }
    if document.final_url != document.url:
        data["finalUrl"] = document.final_url
    data |= explain_verdict(outcome)
    if outcome.saved is not None:
        data["savedUri"] = outcome.saved.primary_uri
    if cut:
        is_saved = outcome.saved is not None and arguments.return_format is ReturnFormat.MARKDOWN
        whole = [f"{data['savedUri']} holds the whole."] if is_saved else []
        warnings += [cut, *whole]
    if warnings:
        data["warning"] = " ".join(warnings)
    return data


def _content(
    document: Document, return_format: ReturnFormat, window: TextWindow
) -> tuple[str, str | None, DocumentView | None]:
    """Return the content that fits, a sentence on what did not, and how text was read."""
    require_markdown(document, window)
    if document.media is None and return_format is ReturnFormat.JSON:
        page, cut = page_as_json(document, window.max_chars)
        notice = f"Only the beginning of {' and '.join(cut)} is shown." if cut else None
        return json.dumps(page, ensure_ascii=False), notice, None
    if document.media is None and return_format is ReturnFormat.LINKS_DETAIL:
        links = describe_links(document.content.links_detail or ())
        shown = fit_items(links, window.max_chars)
        notice = f"Only the first {len(shown)} of {len(links)} links are shown."
        listed = json.dumps(shown, ensure_ascii=False)
        return listed, notice if len(shown) < len(links) else None, None
    markdown = document.content.markdown
    if document.media is None and return_format is ReturnFormat.MARKDOWN and markdown is not None:
        reading = read_document(document, window)
        return reading.excerpt.text, _describe_cut(reading.excerpt), reading
    text = document.content.html if return_format is ReturnFormat.HTML else markdown
    if document.media is not None:
        text = (
            f"This is a file, not a page: {document.media.mime}, {len(document.media.data)} "
            "bytes. The `scrape` tool and POST /api/v2/scrape return the file itself."
        )
    elif text is None:
        text = document.content.text or ""
    excerpt = take_excerpt(text, window)
    return excerpt.text, _describe_cut(excerpt), DocumentView(excerpt=excerpt)


def _describe_cut(excerpt: Excerpt) -> str | None:
    if excerpt.start and not excerpt.text:
        return f"There are only {excerpt.total} characters: nothing follows startIndex."
    if not excerpt.was_truncated:
        return None
    shown = f"Characters {excerpt.start} to" if excerpt.start else "Only the first"
    return (
        f"{shown} {excerpt.end} of {excerpt.total} characters are shown: ask again with startIndex "
        f"{excerpt.end} for what follows, or for a section or a query."
    )


def _describe_metadata(content: Extraction) -> dict[str, Json]:
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
    shown = {name: value for name, value in shown.items() if value}
    return shown if metadata.kept_share is None else shown | {"keptShare": metadata.kept_share}

"""Scrapes: the arguments of POST /api/v2/scrape and the tool `scrape`, and their response."""

import base64
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from cinder.api.arguments import (
    DEFAULT_LIMIT,
    Arguments,
    IdempotencyKey,
    Limit,
    Offset,
    Pagination,
    StrictBool,
    StrictInt,
    WebUrl,
)
from cinder.api.errors import explain_verdict
from cinder.api.options import WireForm, build_request, with_options
from cinder.api.schemas.actions import Actions, check_actions, describe_actions
from cinder.api.schemas.page_parts import (
    NO_SUMMARY,
    DescribeOutline,
    ReadingArguments,
    check_reading,
    describe_change,
    describe_outline,
    describe_reading,
    describe_summary,
    read_text,
    requested_summary,
    require_markdown,
)
from cinder.background import run_in_thread
from cinder.errors import FieldProblem, Unsupported
from cinder.models.document import Document, Json
from cinder.models.http import check_headers
from cinder.models.request import Action, Format, PdfParser, ResultHandling, ScrapeRequest
from cinder.models.saved import SavedKind, format_timestamp
from cinder.services.excerpt import Excerpt, TextWindow, fit_lists, fit_members, take_excerpt
from cinder.services.reading import DocumentView, describe_links, is_structure_kept
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.summary import SENTENCES_COST
from cinder.services.text_tools import is_valid_selector


class Command(StrEnum):
    """What a request does."""

    START = "start"
    STATUS = "status"
    CANCEL = "cancel"
    ERRORS = "errors"


class ParserArguments(Arguments):
    """One document parser."""

    type: Literal["pdf"]
    max_pages: Annotated[StrictInt, Field(ge=1)] | None = None


# How options are written whose type in the request is not the one on the wire.
WIRE_FORMS = {
    "formats": WireForm(list[Format], lambda formats: tuple(dict.fromkeys(formats))),
    "parsers": WireForm(
        Annotated[list[ParserArguments], Field(max_length=1)],
        lambda parsers: PdfParser(max_pages=parsers[0].max_pages) if parsers else None,
    ),
    "actions": WireForm(Actions, lambda actions: tuple(Action(**dict(each)) for each in actions)),
    "headers": WireForm(dict[str, str], lambda headers: tuple(headers.items()), dict),
    "extractSchema": WireForm(
        dict[str, Any] | None,
        lambda schema: None if schema is None else json.dumps(schema, ensure_ascii=False),
        NoneType,
    ),
}


@with_options(ScrapeRequest, forms=WIRE_FORMS)
class ScrapeArguments(ReadingArguments):
    """One URL to scrape, or a batch command."""

    command: Command = Command.START
    """What to do. All but `start` are about a batch, which `jobId` names."""
    url: WebUrl | None = None
    """The page; https:// is added where the scheme is missing."""
    urls: list[str] | None = None
    """The pages of a batch, which is worked on in the background, instead of `url`."""
    job_id: Annotated[str, Field(max_length=200)] | None = None
    """The batch that a command is about."""
    offset: Offset = 0
    """Of `status` and `errors`: how many entries to skip."""
    limit: Limit = DEFAULT_LIMIT
    """Of `status` and `errors`: how many entries to list."""
    include_content: StrictBool = False
    """Of `status`: list the pages with what was saved of them, as far as `maxChars` allows."""
    idempotency_key: IdempotencyKey | None = None
    """A name for a batch's start: a second one of the same name answers with the first's batch."""

    if TYPE_CHECKING:
        # The options that are read from the arguments themselves; `with_options` adds all of them.
        actions: Actions = []
        extract: str | None = None
        extract_schema: dict[str, Any] | None = None

    def to_request(self, *, caller: str, default_formats: tuple[Format, ...]) -> ScrapeRequest:
        """Return the request for one page.

        Raises:
            Unsupported: the arguments are about a batch.
        """
        if self.url is None:
            raise Unsupported(
                "Batches (`urls`, and the commands status, cancel and errors) are not offered "
                "here. Send one `url` at a time."
            )
        return self._request_for(self.url, caller, default_formats)

    def to_batch_request(
        self, *, caller: str, default_formats: tuple[Format, ...]
    ) -> ScrapeRequest:
        """Return the request for the first page of a batch, which holds for all of its pages."""
        return self._request_for((self.urls or [""])[0], caller, default_formats)

    def part(self, default_chars: int, ceiling: int) -> Pagination:
        """Return which entries of a batch's list the response may hold."""
        return Pagination(self.offset, self.limit, min(self.max_chars or default_chars, ceiling))

    def _request_for(
        self, url: str, caller: str, default_formats: tuple[Format, ...]
    ) -> ScrapeRequest:
        request = build_request(ScrapeRequest, self, WIRE_FORMS, url=url, caller=caller)
        return request if request.formats else replace(request, formats=default_formats)


def arguments_of_command(command: object) -> Collection[str]:
    """Return the arguments that a command takes; all for `start` and for unknown commands."""
    return next((taken for name, taken in _TAKEN_BY.items() if name == command), _DEFAULTS)


def check_target(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield what a command lacks: `start` needs a URL, the others a job."""
    command = raw.get("command", Command.START)
    if command not in list(Command):
        return
    has_urls = bool(raw.get("urls"))
    if command == Command.START:
        if "url" in raw and has_urls:
            yield FieldProblem("urls", "Give either url or urls, not both")
        elif "url" not in raw and not has_urls:
            yield FieldProblem("url", "Required")
    elif "jobId" not in raw:
        yield FieldProblem("jobId", "Required")


def check_command(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the arguments that a command does not take."""
    command = raw.get("command", Command.START)
    if command not in list(Command):
        return
    if command != Command.START:
        taken = _TAKEN_BY[Command(command)]
        foreign = [name for name in _DEFAULTS if name not in taken]
        message = f"The command '{command}' takes only {', '.join(taken[1:])}"
    elif raw.get("urls"):
        foreign = [*_OF_JOBS, *_OF_ONE_PAGE]
        message = "Not for starting a batch, which keeps whole pages: see the command status"
    else:
        foreign = [*_OF_JOBS, "idempotencyKey"]
        message = "Only for batches: leave it out"
    for name in foreign:
        if name in raw and raw[name] != _DEFAULTS[name]:
            yield FieldProblem(name, message)


def check_sent_headers(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the headers that may not be sent."""
    headers = raw.get("headers")
    if isinstance(headers, Mapping) and all(isinstance(v, str) for v in headers.values()):
        yield from check_headers(headers)


def check_selectors(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the selectors that are not valid CSS."""
    for name in ("includeTags", "excludeTags"):
        selectors = raw.get(name)
        for index, selector in enumerate(selectors if isinstance(selectors, list) else ()):
            if isinstance(selector, str) and not is_valid_selector(selector):
                message = f"Not a valid CSS selector: {selector[:200]!r}"
                yield FieldProblem(f"{name}[{index}]", message)


def check_formats(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the conflict of two kinds of screenshots."""
    formats = raw.get("formats")
    both = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)
    if isinstance(formats, list) and all(kind in formats for kind in both):
        yield FieldProblem("formats", f"Give one of the two: {' or '.join(both)}")


_DEFAULTS = {
    field.alias or name: field.get_default(call_default_factory=True)
    for name, field in ScrapeArguments.model_fields.items()
}
_OF_JOBS = ("jobId", "offset", "limit", "includeContent")
_OF_ONE_PAGE = ("maxChars", "maxTokens", "startIndex", "section", "query")
_TAKEN_BY = {
    Command.STATUS: ("command", *_OF_JOBS, "maxChars"),
    Command.CANCEL: ("command", "jobId"),
    Command.ERRORS: ("command", "jobId", "offset", "limit"),
}

SCRAPE_CHECKS = (
    *(check_target, check_command, check_formats, check_reading),
    *(check_actions, check_sent_headers, check_selectors),
)


MARKDOWN = "text/markdown"
HTML = "text/html"

_LIST_FORMATS = (Format.LINKS, Format.LINKS_DETAIL, Format.IMAGES)
_EXTRACTED_CUT = "Not all that was extracted is shown: savedUris.extracted has it whole."


async def answer_outcome(
    outcome: ScrapeOutcome,
    request: ScrapeRequest,
    window: TextWindow,
    tell: DescribeOutline = describe_outline,
) -> dict[str, Json]:
    """Describe an outcome; a long one in a thread.

    Raises:
        InvalidRequest: see `describe_outcome`.
    """
    # With a stored structure, the text is only sliced; a query reads all of it.
    is_ready = window.query is None and is_structure_kept(outcome.document)
    chars = 0 if is_ready else len(outcome.document.content.markdown or "")
    if Format.SUMMARY in request.formats and outcome.summary is None:
        chars *= SENTENCES_COST
    return await run_in_thread(chars, describe_outcome, outcome, request, window, tell)


def describe_outcome(
    outcome: ScrapeOutcome,
    request: ScrapeRequest,
    window: TextWindow,
    tell: DescribeOutline = describe_outline,
) -> dict[str, Json]:
    """Return the `data` of a successful scrape, in the shape that its result handling asks for.

    Raises:
        InvalidRequest: the page lacks the section that the window names, or has no markdown.
    """
    document = outcome.document
    data: dict[str, Json] = {"url": document.url}
    # A result that was not saved, because a better one exists, is shown with `saveOnly` as well.
    is_only_saved = (
        request.result_handling is ResultHandling.SAVE_ONLY and outcome.saved is not None
    )
    if not is_only_saved:
        data |= _describe_contents(outcome, request, window, tell)
    data |= {
        "source": document.source,
        "cached": outcome.cached,
        "timestamp": format_timestamp(document.scraped_at),
    }
    if document.proxy_pool:
        data["proxyPool"] = document.proxy_pool
    if outcome.cached:
        data["cacheAge"] = outcome.age_ms
    if outcome.saved is not None:
        data["savedUris"] = {str(kind): uri for kind, uri in outcome.saved.uris.items()}
    if outcome.change is not None:
        # With saveOnly as well: no later request can show the change.
        is_saved = outcome.saved is not None
        data["changeTracking"] = describe_change(
            outcome.change, window.max_chars, is_saved=is_saved
        )
    if outcome.is_removed:
        data["message"] = "The page is gone; its last version stays saved"
    elif is_only_saved:
        data["message"] = "Content saved to cache"
    data |= {"verdict": document.verdict.kind, **explain_verdict(outcome)}
    if outcome.warning:
        data["warning"] = outcome.warning
    return data


def primary_text(document: Document, request: ScrapeRequest) -> tuple[Format, str, str] | None:
    """Return the primary text of a response: its format, MIME type and body.

    None if no text is requested, or the page is a file.
    """
    content = document.content
    if document.media is not None:
        return None
    if Format.MARKDOWN in request.formats:
        if content.markdown is not None:
            return Format.MARKDOWN, MARKDOWN, content.markdown
        return Format.RAW_HTML, document.content_type, content.text or ""
    if Format.HTML in request.formats and content.html is not None:
        return Format.HTML, HTML, content.html
    if Format.RAW_HTML in request.formats and document.original is None:
        return Format.RAW_HTML, document.content_type, content.text or ""
    return None


@dataclass(slots=True)
class _ResponseTexts:
    """The texts of a response by their keys, and notices about them."""

    primary: Format | None = None
    reading: DocumentView | None = None
    """Of the primary text."""
    data: dict[str, Json] = field(default_factory=dict)
    excerpts: list[Excerpt] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    about: dict[str, Json] = field(default_factory=dict)


def _describe_contents(
    outcome: ScrapeOutcome, request: ScrapeRequest, window: TextWindow, tell: DescribeOutline
) -> dict[str, Json]:
    document, content = outcome.document, outcome.document.content
    require_markdown(document, window)
    if document.media is not None:
        encoded = base64.b64encode(document.media.data).decode()
        mime = document.media.mime
        return {
            "format": "media",
            "contentType": mime,
            "screenshotMime": mime,
            "screenshotBase64": f"data:{mime};base64,{encoded}",
            "metadata": _metadata(document) | {"rawLength": len(document.media.data)},
        }
    texts = _read_texts(outcome, request, window)
    data = texts.data
    lists = (content.links, describe_links(content.links_detail or ()), content.images)
    for kind, items in zip(_LIST_FORMATS, lists, strict=True):
        if kind in request.formats:
            data[str(kind)] = list(items or ())
    cuts = [fit_lists(data, _LIST_FORMATS, window.max_chars)]
    if Format.BRANDING in request.formats:
        whole = dict(content.branding or {})
        data["branding"] = shown = fit_members(whole, window.max_chars)
        cuts.append("Not all of the branding is shown." if shown != whole else None)
    if request.wants_data and document.extracted is not None:
        whole = json.loads(document.extracted)
        is_whole = len(document.extracted) <= window.max_chars
        data["extracted"] = shown = whole if is_whole else fit_members(whole, window.max_chars)
        cuts.append(_EXTRACTED_CUT if shown != whole else None)
    if document.screenshot is not None and request.screenshot is not None:
        data[str(request.screenshot)] = base64.b64encode(document.screenshot.data).decode()
        data["screenshotFormat"] = document.screenshot.mime
    if document.actions:
        data["actions"], cut_actions = describe_actions(document.actions, window.max_chars)
        cuts.append(cut_actions)
    data["metadata"] = metadata = _metadata(document) | _describe_cuts(texts, cuts) | texts.about
    if texts.reading is not None:
        metadata |= describe_reading(texts.reading) | tell(texts.reading, window)
        metadata["wasTruncated"] = metadata["wasTruncated"] or texts.reading.has_more
        # The whole text is saved as markdown or as it came, never as HTML.
        saved_kinds = {Format.MARKDOWN: SavedKind.CLEANED, Format.RAW_HTML: SavedKind.RAW}
        saved_kind = saved_kinds.get(texts.primary or Format.HTML)
        if texts.reading.excerpt.was_truncated and outcome.saved and saved_kind:
            whole_at = f"{outcome.saved.uris[saved_kind]} holds the whole."
            metadata["continuation"] = f"{metadata['continuation']} {whole_at}"
    return data


def _read_texts(
    outcome: ScrapeOutcome, request: ScrapeRequest, window: TextWindow
) -> _ResponseTexts:
    document, texts = outcome.document, _ResponseTexts()
    if primary := primary_text(document, request):
        texts.primary, mime, text = primary
        texts.reading = reading = read_text(document, texts.primary, text, window)
        texts.excerpts.append(reading.excerpt)
        texts.notices += reading.notices
        texts.data = {"content": reading.excerpt.text, "contentType": mime}
        if reading.excerpt.was_truncated:
            # All texts continue at the same index.
            window = replace(window, max_chars=len(reading.excerpt.text))
    others = {Format.HTML: document.content.html, Format.RAW_HTML: document.content.text}
    for kind in request.formats:
        other = others.get(kind)
        if kind is texts.primary or other is None:
            continue
        # A section or a query is a part of the markdown; other formats have no such part.
        if window.is_narrowed:
            texts.notices.append(f"{kind} is left out: section and query read the markdown.")
        else:
            texts.excerpts.append(take_excerpt(other, window))
            texts.data[kind] = texts.excerpts[-1].text
    summary = requested_summary(outcome, request)
    if summary is not None:
        texts.about = describe_summary(summary)
        if summary.summary is None:
            texts.notices.append(NO_SUMMARY)
        else:
            texts.data[Format.SUMMARY] = summary.summary.text
    return texts


def _describe_cuts(texts: _ResponseTexts, other_cuts: Sequence[str | None]) -> dict[str, Json]:
    """Return what was left out, and how to get it."""
    others = [notice for notice in other_cuts if notice]
    cut = next((excerpt for excerpt in texts.excerpts if excerpt.was_truncated), None)
    section = texts.reading.section if texts.reading else None
    whole = f"section {section.id!r}" if section else "text"
    place = f" in {whole}" if section else ""
    notices = [
        f"The {whole} has only {beyond.total} characters: nothing follows startIndex "
        f"{beyond.total}."
        for beyond in texts.excerpts[:1]
        if beyond.total and not any(excerpt.text for excerpt in texts.excerpts)
    ]
    notices += texts.notices
    if cut is not None:
        notices.append(
            f"Characters {cut.start} to {cut.end} of {cut.total}{place} are shown: ask again with "
            f"startIndex {cut.end} for what follows, or with a larger maxChars."
        )
    if others:
        notices += [*others, "Ask again with a larger maxChars for all."]
    shown: dict[str, Json] = {"wasTruncated": cut is not None or bool(others)}
    if cut is not None:
        shown["nextStartIndex"] = cut.end
    if notices:
        shown["continuation"] = " ".join(notices)
    return shown


def _metadata(document: Document) -> dict[str, Json]:
    content = document.content
    lengths = {
        "rawLength": content.text,
        "cleanedLength": content.markdown,
        "extractedLength": document.extracted,
    }
    shown: dict[str, Json] = {name: len(text) for name, text in lengths.items() if text is not None}
    if document.media is None:
        shown |= {"wordCount": content.word_count, "tokenCount": content.token_count}
    if document.original is not None:
        shown["rawLength"] = len(document.original.data)
    if content.metadata.page_count is not None:
        shown["pageCount"] = content.metadata.page_count
    if content.metadata.kept_share is not None:
        shown["keptShare"] = content.metadata.kept_share
    shown["statusCode"] = document.status_code
    if content.metadata.title:
        shown["title"] = content.metadata.title
    if document.final_url != document.url:
        shown["finalUrl"] = document.final_url
    return shown

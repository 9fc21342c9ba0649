"""The answer to a scrape, as POST /api/v2/scrape and the MCP tool `scrape` both give it."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from cinder.model.document import Document, Json
from cinder.model.request import Format, ResultHandling, ScrapeRequest
from cinder.model.saved import SavedDocument, SavedKind, format_timestamp
from cinder.services.excerpt import Excerpt, Window, take_excerpt
from cinder.services.fitting import fit_lists, fit_members
from cinder.services.off_loop import off_loop
from cinder.services.reading import Reading, is_structure_kept
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.summarizing import SENTENCES_COST
from cinder.surfaces.action_answer import describe_actions
from cinder.surfaces.change_answer import describe_change
from cinder.surfaces.reading_answer import (
    TellOutline,
    describe_reading,
    read_text,
    require_markdown,
    tell_outline,
)
from cinder.surfaces.summary_answer import NO_SUMMARY, describe_summary, wanted_summary
from cinder.surfaces.verdict_advice import explain_verdict

MARKDOWN = "text/markdown"
HTML = "text/html"

_LIST_FORMATS = (Format.LINKS, Format.IMAGES)
_EXTRACTED_CUT = "Not all that was extracted is shown: savedUris.extracted has it whole."


async def answer_outcome(
    outcome: ScrapeOutcome,
    request: ScrapeRequest,
    window: Window,
    tell: TellOutline = tell_outline,
) -> dict[str, Json]:
    """Describe an outcome without holding others up.

    Raises:
        InvalidRequest: see `describe_outcome`.
    """
    # What is left to do with a kept structure is a slice of the text; a query reads all of it.
    is_ready = window.query is None and is_structure_kept(outcome.document)
    chars = 0 if is_ready else len(outcome.document.content.markdown or "")
    if Format.SUMMARY in request.formats and outcome.summary is None:
        chars *= SENTENCES_COST
    return await off_loop(chars, describe_outcome, outcome, request, window, tell)


def describe_outcome(
    outcome: ScrapeOutcome,
    request: ScrapeRequest,
    window: Window,
    tell: TellOutline = tell_outline,
) -> dict[str, Json]:
    """Return the `data` of a successful scrape, in the shape that its result handling asks for.

    Raises:
        InvalidRequest: the page has not the section that the window names, or no markdown.
    """
    document = outcome.document
    data: dict[str, Json] = {"url": document.url}
    # What was to be saved alone and was not, lest it replace something better, is shown instead.
    is_only_saved = (
        request.result_handling is ResultHandling.SAVE_ONLY and outcome.saved is not None
    )
    if not is_only_saved:
        data |= _contents(outcome, request, window, tell)
    data |= {
        "source": document.source,
        "cached": outcome.cached,
        "timestamp": format_timestamp(document.scraped_at),
    }
    if outcome.cached:
        data["cacheAge"] = outcome.age_ms
    if outcome.saved is not None:
        data["savedUris"] = {str(kind): uri for kind, uri in outcome.saved.uris.items()}
    if outcome.change is not None:
        # With saveOnly, too: nothing else will ever tell.
        is_saved = outcome.saved is not None
        data["changeTracking"] = describe_change(
            outcome.change, window.max_chars, is_saved=is_saved
        )
    if outcome.is_removed:
        data["message"] = "The page is gone; its last version stays saved"
    elif is_only_saved:
        data["message"] = "Content saved to cache"
    return data | _judgement(outcome)


def primary_text(document: Document, request: ScrapeRequest) -> tuple[Format, str, str] | None:
    """Return the text an answer leads with: its format, MIME type and body.

    None where no text was asked for, or the page is a file.
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


def _contents(
    outcome: ScrapeOutcome, request: ScrapeRequest, window: Window, tell: TellOutline
) -> dict[str, Json]:
    document = outcome.document
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
    texts = _read_texts(document, request, window)
    _add_summary(texts, outcome, request)
    data: dict[str, Json] = texts.data | _lists(document, request)
    cuts = [fit_lists(data, _LIST_FORMATS, window.max_chars)]
    if Format.BRANDING in request.formats:
        whole = dict(document.content.branding or {})
        data["branding"] = shown = fit_members(whole, window.max_chars)
        cuts.append("Not all of the branding is shown." if shown != whole else None)
    if request.extract is not None and document.extracted is not None:
        whole = json.loads(document.extracted)
        is_whole = len(document.extracted) <= window.max_chars
        data["extracted"] = shown = whole if is_whole else fit_members(whole, window.max_chars)
        cuts.append(_EXTRACTED_CUT if shown != whole else None)
    data |= _screenshot(document, request)
    if document.actions:
        data["actions"], cut_actions = describe_actions(document.actions, window.max_chars)
        cuts.append(cut_actions)
    data["metadata"] = metadata = _metadata(document) | _describe_cuts(texts, cuts) | texts.about
    if texts.reading is not None:
        metadata |= describe_reading(texts.reading) | tell(texts.reading, window)
        metadata["wasTruncated"] = metadata["wasTruncated"] or texts.reading.has_more
        if texts.reading.excerpt.was_truncated and outcome.saved:
            _point_to_whole(metadata, outcome.saved, texts.primary)
    return data


@dataclass(slots=True)
class _Texts:
    """The texts of an answer, by their keys, and what there is to say of them."""

    primary: Format | None = None
    reading: Reading | None = None
    """Of the text that the answer leads with."""
    data: dict[str, Json] = field(default_factory=dict)
    excerpts: list[Excerpt] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    about: dict[str, Json] = field(default_factory=dict)


def _read_texts(document: Document, request: ScrapeRequest, window: Window) -> _Texts:
    texts = _Texts()
    if primary := primary_text(document, request):
        texts.primary, mime, text = primary
        texts.reading = reading = read_text(document, texts.primary, text, window)
        texts.excerpts.append(reading.excerpt)
        texts.notices += reading.notices
        texts.data = {"content": reading.excerpt.text, "contentType": mime}
        if reading.excerpt.was_truncated:
            # One place to go on from for all: what ends elsewhere would be repeated or skipped.
            window = replace(window, max_chars=len(reading.excerpt.text))
    for wanted, text in _other_texts(document, request, texts.primary):
        # A section or a query is one of the markdown; the whole page beside it is not wanted.
        if window.is_narrowed:
            texts.notices.append(f"{wanted} is left out: section and query read the markdown.")
        else:
            texts.excerpts.append(take_excerpt(text, window))
            texts.data[wanted] = texts.excerpts[-1].text
    return texts


def _add_summary(texts: _Texts, outcome: ScrapeOutcome, request: ScrapeRequest) -> None:
    told = wanted_summary(outcome, request)
    if told is None:
        return
    if told.summary is None:
        texts.notices.append(NO_SUMMARY)
    else:
        texts.data[Format.SUMMARY] = told.summary.text
    texts.about = describe_summary(told)


def _point_to_whole(metadata: dict[str, Json], saved: SavedDocument, shown: Format | None) -> None:
    """Add where the text that was cut is kept whole: as markdown or as it came, never as HTML."""
    kinds = {Format.MARKDOWN: SavedKind.CLEANED, Format.RAW_HTML: SavedKind.RAW}
    kind = kinds.get(shown) if shown else None
    if kind is not None:
        metadata["continuation"] = f"{metadata['continuation']} {saved.uris[kind]} holds the whole."


def _describe_cuts(texts: _Texts, other_cuts: Sequence[str | None]) -> dict[str, Json]:
    """Say what was left out, and how to get it."""
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


def _other_texts(
    document: Document, request: ScrapeRequest, primary: Format | None
) -> list[tuple[Format, str]]:
    texts = {Format.HTML: document.content.html, Format.RAW_HTML: document.content.text}
    return [
        (wanted, text)
        for wanted in request.formats
        if wanted is not primary and (text := texts.get(wanted)) is not None
    ]


def _lists(document: Document, request: ScrapeRequest) -> dict[str, Json]:
    lists = {Format.LINKS: document.content.links, Format.IMAGES: document.content.images}
    return {
        str(wanted): list(lists[wanted] or ())
        for wanted in _LIST_FORMATS
        if wanted in request.formats
    }


def _screenshot(document: Document, request: ScrapeRequest) -> dict[str, Json]:
    if document.screenshot is None or request.screenshot is None:
        return {}
    return {
        str(request.screenshot): base64.b64encode(document.screenshot.data).decode(),
        "screenshotFormat": document.screenshot.mime,
    }


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
    shown["statusCode"] = document.status_code
    if content.metadata.title:
        shown["title"] = content.metadata.title
    if document.final_url != document.url:
        shown["finalUrl"] = document.final_url
    return shown


def _judgement(outcome: ScrapeOutcome) -> dict[str, Json]:
    verdict = outcome.document.verdict
    shown: dict[str, Json] = {"verdict": verdict.kind, **explain_verdict(outcome)}
    if outcome.warning:
        shown["warning"] = outcome.warning
    return shown

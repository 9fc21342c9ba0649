"""The answer to a page scrape, as POST /v1/scrape and the MCP tool `cinder_scrape` give it."""

import json

from cinder.model.document import Document, Extraction, Json, VerdictKind
from cinder.services.excerpt import Window, take_excerpt
from cinder.services.fitting import fit_members, json_chars, without_nulls
from cinder.services.page_json import page_as_json
from cinder.services.scrape import ScrapeOutcome
from cinder.surfaces.page_arguments import PageArguments, ReturnFormat

_REST_OF_IT = "The `scrape` tool and POST /api/v2/scrape read on with startIndex and maxChars."


def describe_page(
    outcome: ScrapeOutcome, arguments: PageArguments, max_chars: int
) -> dict[str, Json]:
    """Return a page as the caller asked for it, without nulls."""
    document = outcome.document
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
    data["content"], cut = _content(document, arguments.return_format, max_chars)
    data |= {
        "statusCode": document.status_code,
        "loadTime": document.load_time_ms,
        "verdict": document.verdict.kind,
        "cached": outcome.cached,
    }
    if document.final_url != document.url:
        data["finalUrl"] = document.final_url
    if document.verdict.kind is not VerdictKind.OK:
        data["evidence"] = document.verdict.evidence
    if outcome.saved is not None:
        data["savedUri"] = outcome.saved.primary_uri
    if cut:
        warnings.append(cut)
        if outcome.saved is not None and arguments.return_format is ReturnFormat.MARKDOWN:
            warnings.append(f"{outcome.saved.primary_uri} holds the whole.")
        warnings.append(_REST_OF_IT)
    if warnings:
        data["warning"] = " ".join(warnings)
    return data


def _content(
    document: Document, return_format: ReturnFormat, max_chars: int
) -> tuple[str, str | None]:
    """Return the content that fits, and a sentence on what did not."""
    if document.media is None and return_format is ReturnFormat.JSON:
        page, cut = page_as_json(document, max_chars)
        notice = f"Only the beginning of {' and '.join(cut)} is shown." if cut else None
        return json.dumps(page, ensure_ascii=False), notice
    excerpt = take_excerpt(_text(document, return_format), Window(0, max_chars))
    if not excerpt.was_truncated:
        return excerpt.text, None
    return excerpt.text, f"Only the first {excerpt.end} of {excerpt.total} characters are shown."


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

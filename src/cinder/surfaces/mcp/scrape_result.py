"""The result of a scrape: the page's content as blocks, and the same as structured data."""

import json

import mcp_types as types

from cinder.model.document import Json
from cinder.model.request import Format, ResultHandling, ScrapeRequest
from cinder.model.saved import SavedDocument, SavedKind
from cinder.services.excerpt import Window
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.change_answer import tell_change
from cinder.surfaces.mcp.content import body_annotations, embed_text, note_annotations
from cinder.surfaces.mcp.media_result import describe_media, media_blocks
from cinder.surfaces.mcp.outline_lines import outline_note, tell_outline_lines
from cinder.surfaces.mcp.page_header import page_header, page_name, warning_line
from cinder.surfaces.mcp.screenshot_result import (
    describe_screenshots,
    link_screenshot,
    screenshot_blocks,
    view_screenshots,
)
from cinder.surfaces.scrape_answer import MARKDOWN, answer_outcome

_FURTHER_TEXTS = (Format.HTML, Format.RAW_HTML)
_LISTS = (Format.LINKS, Format.IMAGES)
_OBJECTS = ("extracted", "branding")
_ACTION_TEXTS = ("markdown", "html", "result")


async def scrape_result(
    outcome: ScrapeOutcome, request: ScrapeRequest, window: Window, max_edge: int
) -> types.CallToolResult:
    """Return a scrape's result in the form that its result handling asks for."""
    data = await answer_outcome(outcome, request, window, tell_outline_lines)
    content: list[types.ContentBlock]
    if request.result_handling is ResultHandling.SAVE_ONLY and outcome.saved is not None:
        content = [_link_saved(outcome, outcome.saved, data), *link_screenshot(outcome)]
        content += _change_notes(outcome, data)
    elif outcome.document.media is not None:
        data = describe_media(outcome, outcome.document.media, data)
        content = media_blocks(outcome, outcome.document.media, str(data["message"]))
        content += _change_notes(outcome, data)
    else:
        views = await view_screenshots(outcome.document, max_edge)
        data = describe_screenshots(outcome, views, data)
        content = [*_text_blocks(outcome, data), *screenshot_blocks(outcome, views)]
    return types.CallToolResult(content=content, structured_content=data)


def _link_saved(
    outcome: ScrapeOutcome, saved: SavedDocument, data: dict[str, Json]
) -> types.ResourceLink:
    document = outcome.document
    mime = "text/markdown" if document.content.markdown is not None else document.content_type
    return types.ResourceLink(
        uri=saved.primary_uri,
        name=page_name(outcome),
        description=page_header(outcome, warning_line(data)),
        mime_type=mime if document.extracted is None else "application/json",
        annotations=note_annotations(outcome.document.scraped_at),
    )


def _text_blocks(outcome: ScrapeOutcome, data: dict[str, Json]) -> list[types.ContentBlock]:
    modified = outcome.document.scraped_at
    message = str(data["message"]) if "message" in data else None
    header = page_header(
        outcome,
        warning_line(data),
        _continuation(data),
        message,
        outline_note(data.get("metadata")),
    )
    texts = _further_texts(data)
    if "content" in data:
        leading = _leading_blocks(outcome, data, header)
    else:
        text = "\n\n".join([header, *texts[:1]])
        leading = [types.TextContent(text=text, annotations=body_annotations(modified))]
        texts = texts[1:]
    return [*leading, *(_note(outcome, text) for text in texts)]


def _note(outcome: ScrapeOutcome, text: str) -> types.TextContent:
    return types.TextContent(text=text, annotations=note_annotations(outcome.document.scraped_at))


def _leading_blocks(
    outcome: ScrapeOutcome, data: dict[str, Json], header: str
) -> list[types.ContentBlock]:
    modified = outcome.document.scraped_at
    body = str(data["content"])
    if outcome.saved is None:
        text = f"{header}\n\n{body}"
        return [types.TextContent(text=text, annotations=body_annotations(modified))]
    mime = str(data["contentType"])
    # Under the URI that reads back as such; HTML is not kept cleaned.
    kind = SavedKind.CLEANED if mime == MARKDOWN else SavedKind.RAW
    uri = outcome.saved.uris.get(kind, outcome.saved.primary_uri)
    return [
        embed_text(uri, mime, body, body_annotations(modified)),
        types.TextContent(text=header, annotations=note_annotations(modified)),
    ]


def _continuation(data: dict[str, Json]) -> str | None:
    metadata = data.get("metadata")
    if isinstance(metadata, dict) and "continuation" in metadata:
        return str(metadata["continuation"])
    return None


def _further_texts(data: dict[str, Json]) -> list[str]:
    texts = [f"{name}:\n{data[name]}" for name in _FURTHER_TEXTS if name in data]
    if "summary" in data:
        texts.insert(0, f"{_told_summary(data)}:\n{data['summary']}")
    lists = [
        "\n".join([f"{name} ({len(urls)}):", *map(str, urls)])
        for name in _LISTS
        if isinstance(urls := data.get(name), list)
    ]
    lists += [
        f"{name}:\n{json.dumps(data[name], ensure_ascii=False)}"
        for name in _OBJECTS
        if name in data
    ]
    return texts + lists + _told_change(data) + _actions(data)


def _change_notes(outcome: ScrapeOutcome, data: dict[str, Json]) -> list[types.TextContent]:
    return [_note(outcome, text) for text in _told_change(data)]


def _told_change(data: dict[str, Json]) -> list[str]:
    change = data.get("changeTracking")
    return [tell_change(change)] if isinstance(change, dict) else []


def _told_summary(data: dict[str, Json]) -> str:
    metadata = data["metadata"]
    method = metadata["summaryMethod"] if isinstance(metadata, dict) else ""
    return f"summary ({method})"


def _actions(data: dict[str, Json]) -> list[str]:
    actions = data.get("actions")
    if not isinstance(actions, list):
        return []
    told = (_tell(number, action) for number, action in enumerate(actions))
    return ["\n".join([f"actions ({len(actions)}):", *told])]


def _tell(number: int, action: Json) -> str:
    """Return what an action did and brought, as lines to read."""
    if not isinstance(action, dict):
        return ""
    lines = [f"[{number}] {action['type']}: {action['message']} ({action['elapsedMs']} ms)"]
    lines += [f"{name}:\n{action[name]}" for name in _ACTION_TEXTS if name in action]
    return "\n".join(lines)

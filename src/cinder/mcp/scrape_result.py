"""The result of a scrape: text blocks, scaled screenshots, images, files and structured data."""

import asyncio
import json
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO

import mcp_types as types

from cinder.api.schemas.page_parts import format_change
from cinder.api.schemas.scrape import MARKDOWN, answer_outcome
from cinder.mcp.results import (
    body_annotations,
    describe_outline_lines,
    embed_bytes,
    embed_text,
    note_annotations,
    outline_note,
    page_header,
    page_name,
    show_image,
    warning_line,
)
from cinder.models.document import Document, Json, Media
from cinder.models.request import ActionType, Format, ResultHandling, ScrapeRequest
from cinder.models.saved import SavedDocument, SavedKind
from cinder.services.excerpt import TextWindow
from cinder.services.scraping.outcome import ScrapeOutcome

PNG_MIME = "image/png"
MAX_IMAGE_BYTES = 1024 * 1024

# A picture of so many pixels takes 160 MB once it is unpacked; browsers make none larger.
MAX_IMAGE_PIXELS = 40_000_000
_SMALLEST_EDGE = 32
_SHRINK_FACTOR = 0.75

_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_SIZE = struct.Struct(">II")
_PNG_SIZE_OFFSET = 16


@dataclass(frozen=True, slots=True)
class PngImage:
    """A PNG and its size in pixels."""

    data: bytes
    width: int
    height: int


def read_png(data: bytes) -> PngImage | None:
    """Return a PNG with the size that its header tells; None where it is no PNG."""
    if not data.startswith(_PNG_SIGNATURE) or len(data) < _PNG_SIZE_OFFSET + _PNG_SIZE.size:
        return None
    return PngImage(data, *_PNG_SIZE.unpack_from(data, _PNG_SIZE_OFFSET))


def scale_png(data: bytes, max_edge: int, max_bytes: int = MAX_IMAGE_BYTES) -> PngImage | None:
    """Return a PNG no edge of which is longer than `max_edge` and that has at most `max_bytes`.

    One that fits already comes back as it is; None where it is no PNG that can be scaled. It takes
    up to a second: call it off the event loop.
    """
    picture = read_png(data)
    if picture is None or not 0 < picture.width * picture.height <= MAX_IMAGE_PIXELS:
        return None
    edge = min(max_edge, max(picture.width, picture.height))
    if _fits_limits(picture, edge, max_bytes):
        return picture
    return _shrink_png(data, edge, max_bytes)


def _fits_limits(picture: PngImage, max_edge: int, max_bytes: int) -> bool:
    return max(picture.width, picture.height) <= max_edge and len(picture.data) <= max_bytes


def _shrink_png(data: bytes, edge: int, max_bytes: int) -> PngImage | None:
    # Imported here: most processes never scale a picture, and `cinder mcp` must start quickly.
    from PIL import Image  # noqa: PLC0415

    try:
        with Image.open(BytesIO(data), formats=("PNG",)) as opened:
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, struct.error):
        return None
    while edge >= _SMALLEST_EDGE:
        image.thumbnail((edge, edge), Image.Resampling.LANCZOS)
        file = BytesIO()
        image.save(file, "PNG")
        if file.tell() <= max_bytes:
            return PngImage(file.getvalue(), image.width, image.height)
        edge = int(edge * _SHRINK_FACTOR)
    return None


MAX_INLINE_BYTES = 1024 * 1024

# The images that models can view, and how each begins. Providers refuse a whole conversation over
# one of another type, or one that is not what it claims to be.
_VIEWABLE_SIGNATURES = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


def describe_media(outcome: ScrapeOutcome, media: Media, data: dict[str, Json]) -> dict[str, Json]:
    """Return a file's answer without its bytes: they stand in the content blocks or are linked."""
    kept = {
        name: value
        for name, value in data.items()
        if name not in ("screenshotBase64", "screenshotMime")
    }
    return kept | {"size": len(media.data), "message": _describe_media_location(outcome, media)}


def media_blocks(outcome: ScrapeOutcome, media: Media, message: str) -> list[types.ContentBlock]:
    """Return a file as content blocks: itself where it is small enough, a link where saved."""
    modified = outcome.document.scraped_at
    header = page_header(outcome, f"File: {media.mime}, {len(media.data)} bytes. {message}")
    blocks: list[types.ContentBlock] = []
    if _is_inline(media):
        blocks.append(_inline_media(outcome, media))
    if outcome.saved is not None:
        blocks.append(_link_media(outcome, media, outcome.saved.primary_uri))
    blocks.append(types.TextContent(text=header, annotations=note_annotations(modified)))
    return blocks


def _is_inline(media: Media) -> bool:
    return len(media.data) <= MAX_INLINE_BYTES


def _is_viewable(media: Media) -> bool:
    signature = _VIEWABLE_SIGNATURES.get(media.mime)
    return signature is not None and media.data.startswith(signature)


def _inline_media(outcome: ScrapeOutcome, media: Media) -> types.ContentBlock:
    annotations = body_annotations(outcome.document.scraped_at)
    if _is_viewable(media):
        return show_image(media.mime, media.data, annotations)
    uri = outcome.saved.primary_uri if outcome.saved is not None else outcome.document.final_url
    return embed_bytes(uri, media.mime, media.data, annotations)


def _link_media(outcome: ScrapeOutcome, media: Media, uri: str) -> types.ResourceLink:
    return types.ResourceLink(
        uri=uri,
        name=page_name(outcome),
        description=f"The file at {outcome.document.url}",
        mime_type=media.mime,
        size=len(media.data),
        annotations=note_annotations(outcome.document.scraped_at),
    )


def _describe_media_location(outcome: ScrapeOutcome, media: Media) -> str:
    saved = f"resources/read of {outcome.saved.primary_uri} gives it" if outcome.saved else None
    if _is_inline(media):
        return f"It stands in the content blocks; {saved or 'it was not saved'}."
    if saved:
        return f"It is too large to stand in a result: {saved}."
    return (
        "It is too large to stand in a result. Ask again with resultHandling saveAndReturn to get "
        "a URI for resources/read."
    )


# Each costs a model about 1,600 tokens.
MAX_IMAGES = 5

_FIELDS_IN_BLOCKS = (Format.SCREENSHOT, Format.FULL_SCREENSHOT, "screenshotFormat")


@dataclass(frozen=True, slots=True)
class ScreenshotView:
    """One of a document's screenshots, and what of it a result shows."""

    label: str
    original: Media
    picture: PngImage | None = None
    """What is shown; None where it is not."""


async def view_screenshots(document: Document, max_edge: int) -> list[ScreenshotView]:
    """Return the page's and its actions' screenshots in order, the first few scaled to be shown."""
    views = [ScreenshotView(label, original) for label, original in _screenshots(document)]
    if not views:
        return []
    # Unpacking and packing a large picture would hold up the event loop.
    shown = await asyncio.to_thread(_scale_screenshots, views[:MAX_IMAGES], max_edge)
    return [*shown, *views[MAX_IMAGES:]]


def _screenshots(document: Document) -> Iterator[tuple[str, Media]]:
    if document.screenshot is not None:
        yield "the page", document.screenshot
    for index, action in enumerate(document.actions):
        if action.screenshot is not None:
            name = f" ({action.name})" if action.name else ""
            yield f"actions[{index}]{name}", action.screenshot


def _scale_screenshots(views: Sequence[ScreenshotView], max_edge: int) -> list[ScreenshotView]:
    return [
        ScreenshotView(view.label, view.original, scale_png(view.original.data, max_edge))
        for view in views
    ]


def describe_screenshots(
    outcome: ScrapeOutcome, views: Sequence[ScreenshotView], data: dict[str, Json]
) -> dict[str, Json]:
    """Return an answer without its pictures' bytes, which stand in the content blocks."""
    kept = {name: value for name, value in data.items() if name not in _FIELDS_IN_BLOCKS}
    actions = data.get("actions")
    if isinstance(actions, list):
        kept["actions"] = [_describe_action(action) for action in actions]
    if views:
        kept["message"] = _describe_screenshot_locations(outcome, views)
    return kept


def _describe_action(action: Json) -> Json:
    """Return an action without its picture, and a script's result as JSON text.

    A schema that every provider accepts has no field that holds just any value.
    """
    if not isinstance(action, dict):
        return action
    shown = {name: value for name, value in action.items() if name not in _FIELDS_IN_BLOCKS}
    if action["type"] == ActionType.EXECUTE_JAVASCRIPT:
        result = action["result"]
        is_text = isinstance(result, str)
        shown["result"] = result if is_text else json.dumps(result, ensure_ascii=False)
    return shown


def screenshot_blocks(
    outcome: ScrapeOutcome, views: Sequence[ScreenshotView]
) -> list[types.ContentBlock]:
    """Return the pictures that are shown, and the link to the page's own where it is saved."""
    modified = outcome.document.scraped_at
    images: list[types.ContentBlock] = [
        show_image(PNG_MIME, view.picture.data, body_annotations(modified))
        for view in views
        if view.picture is not None
    ]
    return [*images, *link_screenshot(outcome)]


def link_screenshot(outcome: ScrapeOutcome) -> list[types.ResourceLink]:
    """Return the link to the page's screenshot; none where there is none, or it is not saved."""
    screenshot, uri = outcome.document.screenshot, _screenshot_uri(outcome)
    if screenshot is None or uri is None:
        return []
    link = types.ResourceLink(
        uri=uri,
        name=page_name(outcome),
        description=f"The screenshot of {outcome.document.url}",
        mime_type=screenshot.mime,
        size=len(screenshot.data),
        annotations=note_annotations(outcome.document.scraped_at),
    )
    return [link]


def _describe_screenshot_locations(outcome: ScrapeOutcome, views: Sequence[ScreenshotView]) -> str:
    shown = [_describe_shown(view) for view in views if view.picture is not None]
    hidden = [view.label for view in views if view.picture is None]
    sentences = []
    if shown:
        sentences.append(f"Screenshots in the content blocks, in order: {', '.join(shown)}.")
    if hidden:
        sentences.append(
            f"Not shown: {', '.join(hidden)}; a result holds at most {MAX_IMAGES} pictures, and "
            "none too large to be scaled."
        )
    if uri := _screenshot_uri(outcome):
        sentences.append(f"resources/read of {uri} gives the page's screenshot unscaled.")
    return " ".join(sentences)


def _describe_shown(view: ScreenshotView) -> str:
    picture, original = view.picture, read_png(view.original.data)
    if picture is None or original is None:
        return view.label
    size = f"{picture.width}x{picture.height}"
    if (picture.width, picture.height) == (original.width, original.height):
        return f"{view.label}, {size}"
    return f"{view.label}, {size} (scaled from {original.width}x{original.height})"


def _screenshot_uri(outcome: ScrapeOutcome) -> str | None:
    return outcome.saved.uris.get(SavedKind.SCREENSHOT) if outcome.saved else None


_FURTHER_TEXTS = (Format.HTML, Format.RAW_HTML)
_URL_LISTS = (Format.LINKS, Format.IMAGES)
_OBJECTS = ("extracted", "branding")
_ACTION_TEXTS = ("markdown", "html", "result")


async def scrape_result(
    outcome: ScrapeOutcome, request: ScrapeRequest, window: TextWindow, max_edge: int
) -> types.CallToolResult:
    """Return a scrape's result in the form that its result handling asks for."""
    data = await answer_outcome(outcome, request, window, describe_outline_lines)
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
        texts.insert(0, f"{_summary_heading(data)}:\n{data['summary']}")
    lists = [
        "\n".join([f"{name} ({len(urls)}):", *map(str, urls)])
        for name in _URL_LISTS
        if isinstance(urls := data.get(name), list)
    ]
    lists += [
        f"{name}:\n{json.dumps(data[name], ensure_ascii=False)}"
        for name in _OBJECTS
        if name in data
    ]
    return texts + lists + _change_texts(data) + _action_texts(data)


def _change_notes(outcome: ScrapeOutcome, data: dict[str, Json]) -> list[types.TextContent]:
    return [_note(outcome, text) for text in _change_texts(data)]


def _change_texts(data: dict[str, Json]) -> list[str]:
    change = data.get("changeTracking")
    return [format_change(change)] if isinstance(change, dict) else []


def _summary_heading(data: dict[str, Json]) -> str:
    metadata = data["metadata"]
    method = metadata["summaryMethod"] if isinstance(metadata, dict) else ""
    return f"summary ({method})"


def _action_texts(data: dict[str, Json]) -> list[str]:
    actions = data.get("actions")
    if not isinstance(actions, list):
        return []
    told = (_describe_action_lines(number, action) for number, action in enumerate(actions))
    return ["\n".join([f"actions ({len(actions)}):", *told])]


def _describe_action_lines(number: int, action: Json) -> str:
    """Return what an action did and brought, as lines to read."""
    if not isinstance(action, dict):
        return ""
    lines = [f"[{number}] {action['type']}: {action['message']} ({action['elapsedMs']} ms)"]
    lines += [f"{name}:\n{action[name]}" for name in _ACTION_TEXTS if name in action]
    return "\n".join(lines)

"""The result of a scrape: text blocks, scaled screenshots, images, files and structured data."""

import asyncio
import base64
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from io import BytesIO

import mcp_types as types

from cinder.api.schemas.page_parts import format_change
from cinder.api.schemas.scrape import MARKDOWN, answer_outcome
from cinder.mcp.results import (
    body_annotations,
    describe_outline_lines,
    note_annotations,
    outline_note,
    page_header,
    page_name,
    show_image,
    warning_line,
)
from cinder.models.document import Document, Json, Media
from cinder.models.request import ActionType, Format, ResultHandling, ScrapeRequest
from cinder.models.saved import SavedKind
from cinder.services.excerpt import TextWindow
from cinder.services.scraping.outcome import ScrapeOutcome

PNG_MIME = "image/png"
MAX_IMAGE_BYTES = 1024 * 1024
MAX_INLINE_BYTES = 1024 * 1024
# An image of this many pixels takes 160 MB when decoded; browsers make none larger.
MAX_IMAGE_PIXELS = 40_000_000
# Each image costs a model about 1,600 tokens.
MAX_IMAGES = 5

_SMALLEST_EDGE = 32
_SHRINK_FACTOR = 0.75
_PNG_SIZE = struct.Struct(">II")
_PNG_SIZE_OFFSET = 16

# The images that models can view, and their first bytes. Providers refuse a whole conversation
# because of one image of another type, or one that is not what it claims to be.
_VIEWABLE_SIGNATURES = {
    PNG_MIME: b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}

_FIELDS_IN_BLOCKS = (Format.SCREENSHOT, Format.FULL_SCREENSHOT, "screenshotFormat")
_FURTHER_TEXTS = (Format.HTML, Format.RAW_HTML)
_URL_LISTS = (Format.LINKS, Format.IMAGES)
_OBJECTS = ("linksDetail", "extracted", "branding")
_RESOURCES = (types.EmbeddedResource, types.ResourceLink)
_ACTION_TEXTS = ("markdown", "html", "result")


async def scrape_result(
    outcome: ScrapeOutcome, request: ScrapeRequest, window: TextWindow, max_edge: int
) -> types.CallToolResult:
    """Return the result of a scrape, in the form that its result handling asks for."""
    document = outcome.document
    data = await answer_outcome(outcome, request, window, describe_outline_lines)
    content: list[types.ContentBlock]
    if request.result_handling is ResultHandling.SAVE_ONLY and outcome.saved is not None:
        mime = "text/markdown" if document.content.markdown is not None else document.content_type
        saved = types.ResourceLink(
            uri=outcome.saved.primary_uri,
            name=page_name(outcome),
            description=page_header(outcome, warning_line(data)),
            mime_type=mime if document.extracted is None else "application/json",
            annotations=note_annotations(document.scraped_at),
        )
        content = [saved, *_link_screenshot(outcome)]
        content += [_note(outcome, text) for text in _change_texts(data)]
    elif document.media is not None:
        data = describe_media(outcome, document.media, data)
        content = media_blocks(outcome, document.media, str(data["message"]))
        content += [_note(outcome, text) for text in _change_texts(data)]
    else:
        screenshots = await view_screenshots(document, max_edge)
        data = describe_screenshots(outcome, screenshots, data)
        content = _text_blocks(outcome, data)
        content += [
            show_image(PNG_MIME, shown.picture.data, body_annotations(document.scraped_at))
            for shown in screenshots
            if shown.picture is not None
        ]
        content += _link_screenshot(outcome)
    # Hosts that show only the first block show the page, or where it is.
    content.sort(key=lambda block: not isinstance(block, _RESOURCES))
    return types.CallToolResult(content=content, structured_content=data)


def _note(outcome: ScrapeOutcome, text: str) -> types.TextContent:
    return types.TextContent(text=text, annotations=note_annotations(outcome.document.scraped_at))


def _link(outcome: ScrapeOutcome, media: Media, uri: str, description: str) -> types.ResourceLink:
    return types.ResourceLink(
        uri=uri,
        name=page_name(outcome),
        description=description,
        mime_type=media.mime,
        size=len(media.data),
        annotations=note_annotations(outcome.document.scraped_at),
    )


def _link_screenshot(outcome: ScrapeOutcome) -> list[types.ResourceLink]:
    screenshot, uri = outcome.document.screenshot, _screenshot_uri(outcome)
    if screenshot is None or uri is None:
        return []
    return [_link(outcome, screenshot, uri, f"The screenshot of {outcome.document.url}")]


def _screenshot_uri(outcome: ScrapeOutcome) -> str | None:
    return outcome.saved.uris.get(SavedKind.SCREENSHOT) if outcome.saved else None


@dataclass(frozen=True, slots=True)
class PngImage:
    """A PNG and its size in pixels."""

    data: bytes
    width: int
    height: int


def read_png(data: bytes) -> PngImage | None:
    """Return a PNG with the size from its header; None if it is not a PNG."""
    is_png = data.startswith(_VIEWABLE_SIGNATURES[PNG_MIME])
    if not is_png or len(data) < _PNG_SIZE_OFFSET + _PNG_SIZE.size:
        return None
    return PngImage(data, *_PNG_SIZE.unpack_from(data, _PNG_SIZE_OFFSET))


def scale_png(data: bytes, max_edge: int, max_bytes: int = MAX_IMAGE_BYTES) -> PngImage | None:
    """Return a PNG with no edge longer than `max_edge` and at most `max_bytes`.

    One that fits is returned unchanged; None if it is not a PNG that can be scaled. Scaling takes
    up to a second: call it off the event loop.
    """
    picture = read_png(data)
    if picture is None or not 0 < picture.width * picture.height <= MAX_IMAGE_PIXELS:
        return None
    longest = max(picture.width, picture.height)
    if longest <= max_edge and len(data) <= max_bytes:
        return picture
    # Imported here: most processes never scale an image, and `cinder mcp` must start quickly.
    from PIL import Image  # noqa: PLC0415

    try:
        with Image.open(BytesIO(data), formats=("PNG",)) as opened:
            image = opened.convert("RGB")
    except (OSError, ValueError, SyntaxError, struct.error):
        return None
    edge = min(max_edge, longest)
    while edge >= _SMALLEST_EDGE:
        image.thumbnail((edge, edge), Image.Resampling.LANCZOS)
        file = BytesIO()
        image.save(file, "PNG")
        if file.tell() <= max_bytes:
            return PngImage(file.getvalue(), image.width, image.height)
        edge = int(edge * _SHRINK_FACTOR)
    return None


def describe_media(outcome: ScrapeOutcome, media: Media, data: dict[str, Json]) -> dict[str, Json]:
    """Return a file's answer without its bytes: the content blocks hold or link them."""
    saved = f"resources/read of {outcome.saved.primary_uri} returns it" if outcome.saved else None
    if len(media.data) <= MAX_INLINE_BYTES:
        message = f"It is in the content blocks; {saved or 'it was not saved'}."
    elif saved:
        message = f"It is too large for a result: {saved}."
    else:
        message = (
            "It is too large for a result. Ask again with resultHandling saveAndReturn to get "
            "a URI for resources/read."
        )
    without_bytes = {
        name: value
        for name, value in data.items()
        if name not in ("screenshotBase64", "screenshotMime")
    }
    return without_bytes | {"size": len(media.data), "message": message}


def media_blocks(outcome: ScrapeOutcome, media: Media, message: str) -> list[types.ContentBlock]:
    """Return a file as content blocks: the bytes if there are few, and a link if it is saved."""
    document, saved = outcome.document, outcome.saved
    blocks: list[types.ContentBlock] = []
    if len(media.data) <= MAX_INLINE_BYTES:
        annotations = body_annotations(document.scraped_at)
        signature = _VIEWABLE_SIGNATURES.get(media.mime)
        if signature is not None and media.data.startswith(signature):
            blocks.append(show_image(media.mime, media.data, annotations))
        else:
            uri = saved.primary_uri if saved is not None else document.final_url
            blob = base64.b64encode(media.data).decode()
            file = types.BlobResourceContents(uri=uri, mime_type=media.mime, blob=blob)
            blocks.append(types.EmbeddedResource(resource=file, annotations=annotations))
    if saved is not None:
        blocks.append(_link(outcome, media, saved.primary_uri, f"The file at {document.url}"))
    note = f"File: {media.mime}, {len(media.data)} bytes. {message}"
    return [*blocks, _note(outcome, page_header(outcome, note))]


@dataclass(frozen=True, slots=True)
class ScreenshotView:
    """One of a document's screenshots, and the scaled image that a result shows."""

    label: str
    original: Media
    picture: PngImage | None = None
    """The image in the result; None if the result does not show it."""


async def view_screenshots(document: Document, max_edge: int) -> list[ScreenshotView]:
    """Return the screenshots of the page and its actions in order, the first few scaled."""
    views = [ScreenshotView("the page", document.screenshot)] if document.screenshot else []
    for index, action in enumerate(document.actions):
        if action.screenshot is not None:
            name = f" ({action.name})" if action.name else ""
            views.append(ScreenshotView(f"actions[{index}]{name}", action.screenshot))
    for index, view in enumerate(views[:MAX_IMAGES]):
        # Decoding and encoding a large image would block the event loop.
        picture = await asyncio.to_thread(scale_png, view.original.data, max_edge)
        views[index] = replace(view, picture=picture)
    return views


def describe_screenshots(
    outcome: ScrapeOutcome, views: Sequence[ScreenshotView], data: dict[str, Json]
) -> dict[str, Json]:
    """Return an answer without the bytes of its images, which the content blocks hold."""
    described = {name: value for name, value in data.items() if name not in _FIELDS_IN_BLOCKS}
    if isinstance(actions := data.get("actions"), list):
        described["actions"] = [_describe_action(action) for action in actions]
    if not views:
        return described
    shown, hidden, sentences = [], [], []
    for view in views:
        picture, original = view.picture, read_png(view.original.data)
        if picture is None or original is None:
            hidden.append(view.label)
            continue
        label = f"{view.label}, {picture.width}x{picture.height}"
        is_scaled = (picture.width, picture.height) != (original.width, original.height)
        scaling = f" (scaled from {original.width}x{original.height})" if is_scaled else ""
        shown.append(f"{label}{scaling}")
    if shown:
        sentences.append(f"Screenshots in the content blocks, in order: {', '.join(shown)}.")
    if hidden:
        sentences.append(
            f"Not shown: {', '.join(hidden)}; a result holds at most {MAX_IMAGES} pictures, and "
            "none too large to be scaled."
        )
    if uri := _screenshot_uri(outcome):
        sentences.append(f"resources/read of {uri} returns the page's screenshot unscaled.")
    return described | {"message": " ".join(sentences)}


def _describe_action(action: Json) -> Json:
    """Return an action without its image, and with a script's result as JSON text.

    A schema that every provider accepts has no field that holds any value.
    """
    if not isinstance(action, dict):
        return action
    described = {name: value for name, value in action.items() if name not in _FIELDS_IN_BLOCKS}
    if action["type"] == ActionType.EXECUTE_JAVASCRIPT:
        result = action["result"]
        is_text = isinstance(result, str)
        described["result"] = result if is_text else json.dumps(result, ensure_ascii=False)
    return described


def _text_blocks(outcome: ScrapeOutcome, data: dict[str, Json]) -> list[types.ContentBlock]:
    metadata = data.get("metadata")
    continuation = metadata.get("continuation") if isinstance(metadata, dict) else None
    header = page_header(
        outcome,
        warning_line(data),
        str(continuation or ""),
        str(data.get("message") or ""),
        outline_note(metadata),
    )
    texts = _further_texts(data)
    annotations = body_annotations(outcome.document.scraped_at)
    leading: list[types.ContentBlock]
    if "content" in data and outcome.saved is not None:
        mime = str(data["contentType"])
        # Reading this URI returns the same content; HTML is only saved as raw.
        kind = SavedKind.CLEANED if mime == MARKDOWN else SavedKind.RAW
        uri = outcome.saved.uris.get(kind, outcome.saved.primary_uri)
        body = types.TextResourceContents(uri=uri, mime_type=mime, text=str(data["content"]))
        embedded = types.EmbeddedResource(resource=body, annotations=annotations)
        leading = [embedded, _note(outcome, header)]
    else:
        first = [str(data["content"])] if "content" in data else texts[:1]
        texts = texts if "content" in data else texts[1:]
        text = "\n\n".join([header, *first])
        leading = [types.TextContent(text=text, annotations=annotations)]
    return [*leading, *(_note(outcome, text) for text in texts)]


def _further_texts(data: dict[str, Json]) -> list[str]:
    texts = []
    if "summary" in data:
        metadata = data["metadata"]
        method = metadata["summaryMethod"] if isinstance(metadata, dict) else ""
        texts.append(f"summary ({method}):\n{data['summary']}")
    texts += [f"{name}:\n{data[name]}" for name in _FURTHER_TEXTS if name in data]
    texts += [
        "\n".join([f"{name} ({len(urls)}):", *map(str, urls)])
        for name in _URL_LISTS
        if isinstance(urls := data.get(name), list)
    ]
    texts += [
        f"{name}:\n{json.dumps(data[name], ensure_ascii=False)}"
        for name in _OBJECTS
        if name in data
    ]
    texts += _change_texts(data)
    if isinstance(actions := data.get("actions"), list):
        lines = [f"actions ({len(actions)}):"]
        for number, action in enumerate(actions):
            if isinstance(action, dict):
                elapsed = f"({action['elapsedMs']} ms)"
                lines.append(f"[{number}] {action['type']}: {action['message']} {elapsed}")
                lines += [f"{name}:\n{action[name]}" for name in _ACTION_TEXTS if name in action]
        texts.append("\n".join(lines))
    return texts


def _change_texts(data: dict[str, Json]) -> list[str]:
    change = data.get("changeTracking")
    return [format_change(change)] if isinstance(change, dict) else []

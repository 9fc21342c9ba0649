"""Files handed through: an image to look at, any other as a blob, a large one by its link."""

import mcp_types as types

from cinder.model.document import Json, Media
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.mcp.content import (
    body_annotations,
    embed_bytes,
    note_annotations,
    show_image,
)
from cinder.surfaces.mcp.page_header import page_header, page_name

MAX_INLINE_BYTES = 1024 * 1024

# The images that models can view, and how each begins. Providers refuse a whole conversation over
# one of another type, or one that is not what it claims to be.
_VIEWABLE = {
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
    return kept | {"size": len(media.data), "message": _where_it_is(outcome, media)}


def media_blocks(outcome: ScrapeOutcome, media: Media, message: str) -> list[types.ContentBlock]:
    """Return a file as content blocks: itself where it is small enough, a link where saved."""
    modified = outcome.document.scraped_at
    header = page_header(outcome, f"File: {media.mime}, {len(media.data)} bytes. {message}")
    blocks: list[types.ContentBlock] = []
    if _is_inline(media):
        blocks.append(_inline(outcome, media))
    if outcome.saved is not None:
        blocks.append(_link(outcome, media, outcome.saved.primary_uri))
    blocks.append(types.TextContent(text=header, annotations=note_annotations(modified)))
    return blocks


def _is_inline(media: Media) -> bool:
    return len(media.data) <= MAX_INLINE_BYTES


def _is_viewable(media: Media) -> bool:
    signature = _VIEWABLE.get(media.mime)
    return signature is not None and media.data.startswith(signature)


def _inline(outcome: ScrapeOutcome, media: Media) -> types.ContentBlock:
    annotations = body_annotations(outcome.document.scraped_at)
    if _is_viewable(media):
        return show_image(media.mime, media.data, annotations)
    uri = outcome.saved.primary_uri if outcome.saved is not None else outcome.document.final_url
    return embed_bytes(uri, media.mime, media.data, annotations)


def _link(outcome: ScrapeOutcome, media: Media, uri: str) -> types.ResourceLink:
    return types.ResourceLink(
        uri=uri,
        name=page_name(outcome),
        description=f"The file at {outcome.document.url}",
        mime_type=media.mime,
        size=len(media.data),
        annotations=note_annotations(outcome.document.scraped_at),
    )


def _where_it_is(outcome: ScrapeOutcome, media: Media) -> str:
    saved = f"resources/read of {outcome.saved.primary_uri} gives it" if outcome.saved else None
    if _is_inline(media):
        return f"It stands in the content blocks; {saved or 'it was not saved'}."
    if saved:
        return f"It is too large to stand in a result: {saved}."
    return (
        "It is too large to stand in a result. Ask again with resultHandling saveAndReturn to get "
        "a URI for resources/read."
    )

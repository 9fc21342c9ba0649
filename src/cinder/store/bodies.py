"""Bodies: the texts and the picture of one version, each under the kind its URI names.

A version has at most one body of bytes: the screenshot of a page, the file that stands in its
place, or the file that its text was made of. Each is kept as the screenshot.
"""

import re
from typing import NamedTuple

from cinder.model.document import Document, Media
from cinder.model.saved import PRIMARY_ORDER, SavedKind, saved_kinds

_TEXT_TYPES = re.compile(r"text/|.*[/+](json|xml|javascript|yaml)$")


class Body(NamedTuple):
    """One body of a version: a text, or bytes."""

    kind: SavedKind
    mime: str
    content: str | bytes


def list_bodies(
    content_type: str,
    *,
    raw: str | None,
    cleaned: str | None,
    extracted: str | None,
    picture: Media | None,
) -> list[Body]:
    """Return the bodies that are there, each once."""
    texts = {SavedKind.RAW: raw, SavedKind.CLEANED: cleaned, SavedKind.EXTRACTED: extracted}
    bodies = [
        Body(kind, text_mime(kind, content_type), text)
        for kind, text in texts.items()
        if text is not None
    ]
    return [*bodies, Body(SavedKind.SCREENSHOT, picture.mime, picture.data)] if picture else bodies


def picture_of(document: Document) -> Media | None:
    """Return what a document has of bytes: the file it is or was, or its page's screenshot."""
    return document.media or document.original or document.screenshot


def primary_body(document: Document) -> Body | None:
    """Return the body that a list shows for a document, or None where it has none at all."""
    kinds = saved_kinds(document)
    kind = next((kind for kind in PRIMARY_ORDER if kind in kinds), None)
    if kind is None:
        return None
    content = document.content
    bodies = list_bodies(
        document.content_type,
        raw=content.text,
        cleaned=content.markdown,
        extracted=document.extracted,
        picture=picture_of(document),
    )
    return choose_body(bodies, kind)


def choose_body(bodies: list[Body], kind: SavedKind) -> Body | None:
    """Return the body of a kind; where there is no raw text, the raw body is the file."""
    by_kind = {body.kind: body for body in bodies}
    found = by_kind.get(kind)
    if found is None and kind is SavedKind.RAW:
        found = by_kind.get(SavedKind.SCREENSHOT)
    return found and found._replace(kind=kind)


def text_mime(kind: SavedKind, content_type: str) -> str:
    """Return the MIME type of a body that is text."""
    if kind is SavedKind.CLEANED:
        return "text/markdown"
    if kind is SavedKind.EXTRACTED:
        return "application/json"
    # A text made of something that is none, such as a PDF's, is not of that type any more.
    is_text = kind is SavedKind.RAW and _TEXT_TYPES.match(content_type)
    return content_type if is_text else "text/plain"


def to_bytes(content: str | bytes) -> bytes:
    """Return a body's content as it is hashed, measured and compressed."""
    return content.encode() if isinstance(content, str) else content

"""Content blocks: the pieces that a tool's result is made of."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Literal

import mcp_types as types

from cinder.model.document import Json
from cinder.model.saved import format_timestamp

Audience = list[Literal["user", "assistant"]]

_READERS: Audience = ["user", "assistant"]
_BODY = 1.0
_BESIDE = 0.5


def body_annotations(modified: datetime | None = None) -> types.Annotations:
    """Return the annotations of what was asked for."""
    return _annotations(["assistant"], _BODY, modified)


def note_annotations(modified: datetime | None = None) -> types.Annotations:
    """Return the annotations of what goes with it: headers, links, further formats."""
    return _annotations(_READERS, _BESIDE, modified)


def _annotations(
    audience: Audience, priority: float, modified: datetime | None
) -> types.Annotations:
    if modified is None:
        return types.Annotations(audience=audience, priority=priority)
    return types.Annotations(
        audience=audience, priority=priority, last_modified=format_timestamp(modified)
    )


def embed_text(
    uri: str, mime: str, text: str, annotations: types.Annotations
) -> types.EmbeddedResource:
    """Return a saved text as an embedded resource."""
    contents = types.TextResourceContents(uri=uri, mime_type=mime, text=text)
    return types.EmbeddedResource(resource=contents, annotations=annotations)


def embed_bytes(
    uri: str, mime: str, data: bytes, annotations: types.Annotations
) -> types.EmbeddedResource:
    """Return a file as an embedded resource."""
    blob = base64.b64encode(data).decode()
    contents = types.BlobResourceContents(uri=uri, mime_type=mime, blob=blob)
    return types.EmbeddedResource(resource=contents, annotations=annotations)


def show_image(mime: str, data: bytes, annotations: types.Annotations) -> types.ImageContent:
    """Return an image for the model to look at."""
    encoded = base64.b64encode(data).decode()
    return types.ImageContent(data=encoded, mime_type=mime, annotations=annotations)


def json_result(data: Mapping[str, Json], *, is_error: bool = False) -> types.CallToolResult:
    """Return data as structured content, and the same as JSON text."""
    text = json.dumps(data, ensure_ascii=False)
    return types.CallToolResult(
        content=[types.TextContent(text=text, annotations=body_annotations())],
        structured_content=dict(data),
        is_error=is_error,
    )


def text_failure(text: str) -> types.CallToolResult:
    """Return a failure as text alone.

    TypeScript clients hold an error's structured content, too, against the tool's output schema,
    and refuse the whole answer where it does not fit.
    """
    block = types.TextContent(text=text, annotations=note_annotations())
    return types.CallToolResult(content=[block], is_error=True)

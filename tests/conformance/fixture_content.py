"""What the suite's fixtures are made of: pictures, sounds, and questions to the client."""

import base64
import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

import mcp_types as types

from tests.site.pages import PNG

Answer: TypeAlias = types.CallToolResult | types.InputRequiredResult
Params: TypeAlias = types.CallToolRequestParams

PICTURE = base64.b64encode(PNG).decode()
# A mono file of one silent sample.
_WAV = b"RIFF" + struct.pack(
    "<I4s4sIHHIIHH4sIH", 38, b"WAVE", b"fmt ", 16, 1, 1, 8000, 16000, 2, 16, b"data", 2, 0
)

IMAGE = types.ImageContent(data=PICTURE, mime_type="image/png")
AUDIO = types.AudioContent(data=base64.b64encode(_WAV).decode(), mime_type="audio/wav")


def say(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)])


def embedded(uri: str, mime: str, text: str) -> types.EmbeddedResource:
    contents = types.TextResourceContents(uri=uri, mime_type=mime, text=text)
    return types.EmbeddedResource(resource=contents)


def form(properties: Mapping[str, Any], *, required: bool = False) -> dict[str, Any]:
    names = list(properties) if required else []
    return {"type": "object", "properties": dict(properties), "required": names}


def asked_form(message: str, properties: Mapping[str, Any]) -> types.ElicitRequest:
    schema = form(properties, required=True)
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def asked_model(prompt: str, max_tokens: int) -> types.CreateMessageRequest:
    message = types.SamplingMessage(role="user", content=types.TextContent(text=prompt))
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=[message], max_tokens=max_tokens)
    )


def asked_roots() -> types.ListRootsRequest:
    return types.ListRootsRequest()


def ask_in_result(
    wanted: Mapping[str, types.InputRequest], state: str | None = None
) -> types.InputRequiredResult:
    """Ask as the newer era does: in the answer."""
    return types.InputRequiredResult(input_requests=dict(wanted), request_state=state)

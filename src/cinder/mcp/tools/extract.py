"""The tool `cinder_extract`: structured data from pages."""

from collections.abc import Collection, Mapping
from typing import Any

import mcp_types as types

from cinder.api.schemas.extract import EXTRACT_CHECKS, ExtractArguments, answer_extract
from cinder.app.composition import App
from cinder.errors import InvalidRequest
from cinder.mcp.coercion import coerce_arguments
from cinder.mcp.request_context import bound_timeout
from cinder.mcp.results import body_chars, json_result
from cinder.mcp.schema import Parameter
from cinder.mcp.tools.base import TABLE_ICON, Tool, ToolOutput, read_only
from cinder.models.caller import Caller, TokenScope


class ExtractOutput(ToolOutput):
    """Data with its proof, and the missing fields; further fields are allowed."""

    data: dict[str, Any]
    proof: list[dict[str, Any]]
    missing: list[str]
    sources: list[dict[str, Any]]
    engine: str
    warnings: list[str] | None = None
    hand_off: dict[str, Any] | None = None


def read_extract(
    model: type[ExtractArguments], raw: Mapping[str, Any], offered: Collection[str]
) -> dict[str, Any]:
    """Return the coerced arguments.

    Raises:
        InvalidRequest: the schema is a text that is not JSON.
    """
    arguments = coerce_arguments(model, raw, offered)
    if isinstance(arguments.get("schema"), str):
        message = 'No JSON object. It looks like {"type": "object", "properties": {…}}'
        raise InvalidRequest.at("schema", message)
    return arguments


async def run_extract(
    app: App, arguments: ExtractArguments, caller: Caller
) -> types.CallToolResult:
    """Extract data from pages."""
    limit_ms = app.settings.server.mcp_call_seconds * 1000
    request = bound_timeout(arguments.to_request(caller=caller.id), limit_ms)
    answer = await app.extract.extract(request)
    if not isinstance(answer.extracted.data, Mapping):
        # The output schema declares the data as an object.
        message = "Here it must describe an object: put anything else in a property of it"
        raise InvalidRequest.at("schema", message)
    return json_result(await answer_extract(answer, body_chars(app.settings.server)))


EXTRACT = Tool(
    name="cinder_extract",
    title="Extract data",
    description=(
        "Data from known URLs, each value with its quote, verified, normalized or unverified. "
        "handOff: find the rest yourself and send it as verify."
    ),
    arguments=ExtractArguments,
    parameters={
        "urls": Parameter(description="At most 10"),
        "prompt": Parameter(description="What to find"),
        "schema": Parameter(description="JSON Schema", is_text=True),
        "mode": Parameter(description="dynamic: in a browser"),
        "strictGrounding": Parameter(description="Drop unverified"),
        "verify": Parameter(
            description="Your values of handOff", keys=("path", "value", "quote", "passage")
        ),
    },
    output=ExtractOutput,
    annotations=read_only(idempotent=True, open_world=True),
    scope=TokenScope.SCRAPE,
    run=run_extract,
    read=read_extract,
    checks=EXTRACT_CHECKS,
    icon=TABLE_ICON,
)

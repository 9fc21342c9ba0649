"""The tool `cinder_extract`: data from pages, by a prompt or a schema, with proof."""

from collections.abc import Collection, Mapping
from typing import Any

import mcp_types as types

from cinder.app import App
from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.caller import Caller, Scope
from cinder.surfaces.extract_answer import answer_extract
from cinder.surfaces.extract_arguments import EXTRACT_CHECKS, ExtractArguments
from cinder.surfaces.mcp.content import json_result
from cinder.surfaces.mcp.deadline import bound_extract
from cinder.surfaces.mcp.flat_schema import Parameter
from cinder.surfaces.mcp.icons import TABLE
from cinder.surfaces.mcp.lenient import read_leniently
from cinder.surfaces.mcp.output import Output
from cinder.surfaces.mcp.size_limit import body_chars
from cinder.surfaces.mcp.tool import Tool


class ExtractOutput(Output):
    """Data with its proof, and what is still open; what else there is comes with it."""

    data: dict[str, Any]
    proof: list[dict[str, Any]]
    missing: list[str]
    sources: list[dict[str, Any]]
    engine: str
    warnings: list[str] | None = None
    hand_off: dict[str, Any] | None = None


def read_extract(
    model: type[ExtractArguments], given: Mapping[str, Any], offered: Collection[str]
) -> dict[str, Any]:
    """Return the arguments that were meant.

    Raises:
        InvalidRequest: the schema is a text, and no JSON.
    """
    meant = read_leniently(model, given, offered)
    if isinstance(meant.get("schema"), str):
        message = 'No JSON object. It looks like {"type": "object", "properties": {…}}'
        raise InvalidRequest(problems=(FieldProblem("schema", message),))
    return meant


async def run(app: App, arguments: ExtractArguments, caller: Caller) -> types.CallToolResult:
    """Extract."""
    limit_ms = app.settings.server.mcp_call_seconds * 1000
    request = bound_extract(arguments.to_request(caller=caller.id), limit_ms)
    answer = await app.extract.extract(request)
    if not isinstance(answer.extracted.data, Mapping):
        # Structured content can be described as one kind of thing only.
        message = "Here it must want an object: let the rest stand in a property of it"
        raise InvalidRequest(problems=(FieldProblem("schema", message),))
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
        "prompt": Parameter(),
        "schema": Parameter(description="JSON Schema", is_text=True),
        "mode": Parameter(),
        "strictGrounding": Parameter(description="Drop unverified"),
        "verify": Parameter(keys=("path", "value", "quote", "passage")),
    },
    output=ExtractOutput,
    annotations=types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
    ),
    scope=Scope.SCRAPE,
    run=run,
    read=read_extract,
    checks=EXTRACT_CHECKS,
    icon=TABLE,
)

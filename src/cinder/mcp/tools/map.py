"""The tool `cinder_map`: the URLs of a site."""

import asyncio
from dataclasses import replace

import mcp_types as types

from cinder.api.schemas.map import MapArguments, describe_map
from cinder.app.composition import App
from cinder.mcp.results import body_chars, json_result
from cinder.mcp.schema import Parameter, option_parameters
from cinder.mcp.tools.base import TREE_ICON, Tool, ToolOutput, read_only
from cinder.models.caller import Caller, TokenScope
from cinder.services.jobs.specs import MapRequest


class MappedUrlOutput(ToolOutput):
    """A URL of a site."""

    url: str
    title: str | None = None
    source: str
    last_modified: str | None = None


class MapOutput(ToolOutput):
    """A part of the URLs of a site."""

    url: str
    urls: list[MappedUrlOutput]
    has_more: bool
    next_offset: int | None = None
    warnings: list[str] | None = None


async def run_map(app: App, arguments: MapArguments, caller: Caller) -> types.CallToolResult:
    """List the URLs of a site, as many as fit."""
    server = app.settings.server
    request = arguments.to_request(caller=caller.id)
    request = replace(request, timeout_ms=min(request.timeout_ms, server.mcp_call_seconds * 1000))
    found = await app.site_map.map(request)
    room = body_chars(server) - sum(map(len, found.warnings))
    data = await asyncio.to_thread(describe_map, found, request, max(room, 1))
    return json_result(data)


MAP = Tool(
    name="cinder_map",
    title="Map a site",
    description=(
        "List a site's URLs at once, from sitemaps, feeds, its start page and what is saved, "
        "without reading the pages. Best for finding the right page of a known site: give search "
        "words."
    ),
    arguments=MapArguments,
    parameters={
        "url": Parameter(description="The site"),
        **option_parameters(MapRequest, "search", "limit", "offset"),
    },
    output=MapOutput,
    annotations=read_only(idempotent=True, open_world=True),
    scope=TokenScope.SCRAPE,
    run=run_map,
    icon=TREE_ICON,
)

"""The tools `cinder_search` and `cinder_search_and_scrape`."""

import json
from typing import Any

import mcp_types as types

from cinder.api.schemas.search import (
    SearchAndScrapeArguments,
    SearchArguments,
    describe_scraped,
    describe_search,
)
from cinder.app.composition import App
from cinder.mcp.results import body_annotations, body_chars, json_result
from cinder.mcp.schema import Parameter, option_parameters
from cinder.mcp.tools.base import LENS_ICON, Tool, ToolOutput, read_only
from cinder.models.caller import Caller, TokenScope
from cinder.models.document import Json
from cinder.models.search import SearchRequest


class ResultOutput(ToolOutput):
    """A search result."""

    id: str | None = None
    title: str
    url: str
    domain: str | None = None
    summary: str
    relevance: float | None = None
    published_date: str | None = None


class SearchOutput(ToolOutput):
    """The results of a search."""

    query: str
    results: list[ResultOutput]
    has_more: bool
    next_offset: int | None = None
    search_time: int
    providers: list[dict[str, Any]] | None = None
    warning: str | None = None


class ScrapedOutput(ToolOutput):
    """A search result with its page; further fields are allowed."""

    url: str
    content: str | None = None
    status_code: int | None = None
    verdict: str | None = None
    saved_uri: str | None = None
    error: str | None = None


class SearchAndScrapeOutput(ToolOutput):
    """The results of a search, with their pages."""

    results: list[ScrapedOutput]
    warning: str | None = None


async def search(app: App, arguments: SearchArguments, caller: Caller) -> types.CallToolResult:
    """Search the web and saved pages."""
    answer = await app.search.search(arguments.to_request(caller=caller.id))
    room = body_chars(app.settings.server)
    return json_result(describe_search(answer, arguments.offset, room))


async def search_and_scrape(
    app: App, arguments: SearchAndScrapeArguments, caller: Caller
) -> types.CallToolResult:
    """Search, and scrape the results."""
    request = arguments.to_request(caller=caller.id)
    found = await app.search_and_scrape.run(request, arguments.render)
    data = await describe_scraped(found, body_chars(app.settings.server))
    # As text: the facts about each page as JSON, then its content unescaped.
    results: Any = data["results"]  # Any: JSON
    parts = [_to_json(data, without="results")]
    for result in results:
        parts += [_to_json(result, without="content")]
        parts += [result["content"]] if result.get("content") else []
    return types.CallToolResult(
        content=[types.TextContent(text="\n\n".join(parts), annotations=body_annotations())],
        structured_content=data,
    )


def _to_json(data: dict[str, Json], *, without: str) -> str:
    kept = {name: value for name, value in data.items() if name != without}
    return json.dumps(kept, ensure_ascii=False)


_READS_THE_WEB = read_only(idempotent=True, open_world=True)

SEARCH = Tool(
    name="cinder_search",
    title="Search",
    description=(
        "Find pages on the web and among all that cinder has saved. Best for discovery; read a "
        "result with scrape. More results: the same arguments with offset=nextOffset."
    ),
    arguments=SearchArguments,
    parameters={
        "query": Parameter(description='Words, "phrases", -without'),
        **option_parameters(SearchRequest),
    },
    output=SearchOutput,
    annotations=_READS_THE_WEB,
    scope=TokenScope.SCRAPE,
    run=search,
    icon=LENS_ICON,
)

SEARCH_AND_SCRAPE = Tool(
    name="cinder_search_and_scrape",
    title="Search and read",
    description=(
        "Search, and read the first results in one call. Best for research; long pages come as "
        "the passages on the query."
    ),
    arguments=SearchAndScrapeArguments,
    parameters={
        "query": Parameter(description='Words, "phrases", -without'),
        "numResults": Parameter(description="How many to read"),
        "mode": Parameter(description="fast: one provider"),
        "scrapeMode": Parameter(description="dynamic: in a browser"),
    },
    output=SearchAndScrapeOutput,
    annotations=_READS_THE_WEB,
    scope=TokenScope.SCRAPE,
    run=search_and_scrape,
    icon=LENS_ICON,
)

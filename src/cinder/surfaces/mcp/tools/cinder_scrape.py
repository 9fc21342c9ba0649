"""The tool `cinder_scrape`: one page with its metadata, few options, HTTP errors shown as pages."""

import json
from typing import Any

import mcp_types as types

from cinder.app import App
from cinder.model.caller import Caller, Scope
from cinder.model.document import Json
from cinder.model.saved import format_timestamp
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.mcp.content import body_annotations
from cinder.surfaces.mcp.flat_schema import Parameter
from cinder.surfaces.mcp.icons import PAGE
from cinder.surfaces.mcp.outline_lines import OUTLINE_CHARS, outline_note, tell_outline_lines
from cinder.surfaces.mcp.output import Output
from cinder.surfaces.mcp.page_header import page_header, warning_line
from cinder.surfaces.mcp.size_limit import body_chars
from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.page_answer import PageRoom, answer_page
from cinder.surfaces.page_arguments import PAGE_CHECKS, PageArguments


class PageOutput(Output):
    """A page."""

    url: str
    title: str | None = None
    content: str
    metadata: dict[str, Any] | None = None
    status_code: int
    final_url: str | None = None
    load_time: int
    verdict: str
    evidence: str | None = None
    cached: bool
    saved_uri: str | None = None
    outline: list[str] | None = None
    warning: str | None = None


async def run(app: App, arguments: PageArguments, caller: Caller) -> types.CallToolResult:
    """Scrape a page."""
    limit_ms = app.settings.server.mcp_call_seconds * 1000
    request = arguments.to_request(caller=caller.id, timeout_ms=limit_ms)
    outcome = await app.scrape.scrape(request)
    room = PageRoom(body_chars(app.settings.server), OUTLINE_CHARS, tell_outline_lines)
    data = await answer_page(outcome, arguments, room)
    # What the header says in the text, for those who see nothing but this.
    data |= {
        "source": outcome.document.source,
        "timestamp": format_timestamp(outcome.document.scraped_at),
    }
    return types.CallToolResult(content=[_text(outcome, data)], structured_content=data)


def _text(outcome: ScrapeOutcome, data: dict[str, Json]) -> types.TextContent:
    metadata = json.dumps(data.get("metadata", {}), ensure_ascii=False)
    header = page_header(
        outcome,
        f"Load time: {data['loadTime']} ms",
        f"Metadata: {metadata}" if data.get("metadata") else None,
        warning_line(data),
        outline_note(data),
    )
    return types.TextContent(
        text=f"{header}\n\n{data['content']}",
        annotations=body_annotations(outcome.document.scraped_at),
    )


CINDER_SCRAPE = Tool(
    name="cinder_scrape",
    title="Read a page",
    description=(
        "Read one known page, or a section or the passages on a query: content and metadata "
        "(author, date, images …). A page with an HTTP error is returned, with its statusCode. "
        "Best for plain reading; scrape is for files, more formats, going on after a cut."
    ),
    arguments=PageArguments,
    parameters={
        "url": Parameter(),
        "mode": Parameter(description="dynamic: in a browser. Default smart"),
        "includeMetadata": Parameter(description="Default true"),
        "returnFormat": Parameter(
            description="Default markdown; json: outline, sections, tables, links"
        ),
        "section": Parameter(description="Outline id or title"),
        "query": Parameter(description="Only matching passages"),
    },
    output=PageOutput,
    annotations=types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=True
    ),
    scope=Scope.SCRAPE,
    run=run,
    checks=PAGE_CHECKS,
    icon=PAGE,
)

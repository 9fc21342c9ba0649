"""The tools `cinder_crawl` and `cinder_get_crawl_status`: crawls in the background."""

import asyncio
from dataclasses import replace
from typing import Annotated, Any

import mcp_types as types
from pydantic import Field

from cinder.api.arguments import DEFAULT_LIMIT, Arguments, Limit, Offset, Pagination, StrictInt
from cinder.api.schemas.crawl import CRAWL_CHECKS, CrawlArguments
from cinder.api.schemas.jobs import JobResponses, describe_crawl_start
from cinder.app.composition import App
from cinder.mcp.results import body_chars, json_result
from cinder.mcp.schema import Parameter, option_parameters
from cinder.mcp.tools.base import TREE_ICON, ReportProgress, Tool, ToolOutput, read_only
from cinder.models.caller import Caller, TokenScope, require_domain
from cinder.models.document import Json
from cinder.models.job import JobKind
from cinder.services.excerpt import json_chars
from cinder.services.jobs.specs import CrawlSpec

MAX_WAIT_SECONDS = 50
SHOWN_ERRORS = 10

_POLL_SECONDS = 1.0
_OPTIONS = option_parameters(
    CrawlSpec, "maxPages", "maxDepth", "includePatterns", "excludePatterns"
)


# The schema's parameters describe it: it has no docstrings to look for, which takes long.
class CrawlStatusArguments(Arguments, use_attribute_docstrings=False):
    """The arguments of `cinder_get_crawl_status`."""

    id: Annotated[str, Field(min_length=1, max_length=200)]
    offset: Offset = 0
    limit: Limit = DEFAULT_LIMIT
    wait_seconds: Annotated[StrictInt, Field(ge=0, le=MAX_WAIT_SECONDS)] = 0


class CrawlOutput(ToolOutput):
    """A crawl."""

    crawl_id: str
    url: str
    status: str
    pages_found: int | None = None
    pages_crawled: int | None = None


class CrawledPageOutput(ToolOutput):
    """A page of a crawl."""

    url: str
    title: str | None = None
    status_code: int | None = None
    content_length: int | None = None
    verdict: str | None = None
    saved_uris: dict[str, Any] | None = None


class CrawlStatusOutput(ToolOutput):
    """The progress of a crawl, and some of its pages."""

    crawl_id: str
    status: str
    pages_found: int
    pages_crawled: int
    progress: float
    pages: list[CrawledPageOutput]
    error_count: int
    errors: list[dict[str, Any]] | None = None
    next_offset: int | None = None
    ended_by: str | None = None
    left_out: dict[str, Any] | None = None
    error: str | None = None
    warning: str | None = None


async def start_crawl(app: App, arguments: CrawlArguments, caller: Caller) -> types.CallToolResult:
    """Start a crawl."""
    require_domain(caller.policy, arguments.url)
    job = await app.jobs.start_crawl(arguments.to_spec(), caller.id, arguments.idempotency_key)
    return json_result(describe_crawl_start(await app.jobs.report(job)))


async def wait_for_crawl(
    app: App, arguments: CrawlStatusArguments, caller: Caller, report: ReportProgress
) -> None:
    """Wait until a crawl is over or the time is up, and report its progress."""
    clock = asyncio.get_running_loop().time
    began = clock()
    while (waited := clock() - began) < arguments.wait_seconds:
        job = await app.jobs.find(arguments.id, JobKind.CRAWL, caller.id)
        if job.status.is_over:
            return
        crawl = await app.jobs.report(job)
        # The protocol requires progress to grow with every report, and pages may take a while.
        done = crawl.finished + waited / (arguments.wait_seconds + 1)
        words = f"{crawl.fetched} pages fetched, {crawl.found} found, {crawl.errors} errors"
        await report(done, max(crawl.found, crawl.finished + 1), words)
        await asyncio.sleep(min(_POLL_SECONDS, arguments.wait_seconds - waited))


async def get_crawl_status(
    app: App, arguments: CrawlStatusArguments, caller: Caller
) -> types.CallToolResult:
    """Return the progress of a crawl, some of its pages, and the first failures."""
    answers = JobResponses(app.jobs, app.archive, caller.id)
    room = body_chars(app.settings.server)
    failed: dict[str, Json] = {}
    if arguments.offset == 0:
        part = Pagination(0, SHOWN_ERRORS, room // 4)
        failed = await answers.errors(arguments.id, JobKind.CRAWL, part)
    room -= json_chars(failed.get("errors", ()))
    part = Pagination(arguments.offset, arguments.limit, max(room, 1))
    data = await answers.status(arguments.id, JobKind.CRAWL, part)
    if failed.get("errors"):
        data["errors"] = failed["errors"]
    return json_result(data)


CRAWL = Tool(
    name="cinder_crawl",
    title="Crawl a site",
    description=(
        "Start exploring a site in the background: links and sitemaps, robots.txt obeyed, every "
        "page saved. Best for many pages of one site; for known URLs use scrape. Returns a crawlId "
        "at once; cinder_get_crawl_status has the pages."
    ),
    arguments=CrawlArguments,
    parameters={
        "url": Parameter(description="The start"),
        **_OPTIONS,
        # Its schema would be that of a whole scrape.
        "scrapeOptions": replace(_OPTIONS["scrapeOptions"], is_text=True),
    },
    output=CrawlOutput,
    # It fetches and saves pages, as every scrape does, and changes none. Each call starts another
    # crawl.
    annotations=read_only(idempotent=False, open_world=True),
    scope=TokenScope.CRAWL,
    run=start_crawl,
    icon=TREE_ICON,
    brings_page_text=False,
    checks=CRAWL_CHECKS,
)

CRAWL_STATUS = Tool(
    name="cinder_get_crawl_status",
    title="Look at a crawl",
    description=(
        "Progress and pages of a crawl, in the order fetched, even while it runs. Read a page by "
        "its savedUris (resources/read) or scrape its url."
    ),
    arguments=CrawlStatusArguments,
    parameters={
        "id": Parameter(description="The crawlId"),
        "offset": Parameter(description="nextOffset of the last answer"),
        "limit": Parameter(description="How many pages"),
        "waitSeconds": Parameter(description="Wait for its end"),
    },
    output=CrawlStatusOutput,
    annotations=read_only(idempotent=True, open_world=False),
    scope=TokenScope.READ,
    run=get_crawl_status,
    icon=TREE_ICON,
    wait=wait_for_crawl,
)

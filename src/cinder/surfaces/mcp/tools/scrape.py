"""The tool `scrape`: one URL with every option of POST /api/v2/scrape, or a batch of them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import mcp_types as types

from cinder.app import App
from cinder.errors import FieldProblem, ScrapeTimeout
from cinder.model.caller import Caller, Scope
from cinder.model.request import ActionType, Format, Mode, Profile
from cinder.surfaces.caller import require_scope
from cinder.surfaces.mcp.batch_result import (
    batch_result,
    go_on_in_background,
    is_about_batch,
    may_go_on,
)
from cinder.surfaces.mcp.deadline import SCRAPE_TIMEOUT_MS, bound_timeout
from cinder.surfaces.mcp.flat_schema import Parameter
from cinder.surfaces.mcp.icons import PAGE
from cinder.surfaces.mcp.lenient import read_leniently
from cinder.surfaces.mcp.output import Output
from cinder.surfaces.mcp.scrape_result import scrape_result
from cinder.surfaces.mcp.size_limit import leave_room_for_outline, shared_window
from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.scrape_arguments import SCRAPE_CHECKS, Command, ScrapeArguments, taken_by


class ScrapeToolArguments(ScrapeArguments):
    """The arguments of a scrape, and `format` for asking for a single one."""

    format: Literal["markdown", "links", "screenshot", "fullscreenshot"] = "markdown"


class ScrapeOutput(Output):
    """A scraped page or file, or a batch: neither has all of it."""

    url: str | None = None
    content: str | None = None
    content_type: str | None = None
    html: str | None = None
    raw_html: str | None = None
    links: list[str] | None = None
    images: list[str] | None = None
    branding: dict[str, Any] | None = None
    change_tracking: dict[str, Any] | None = None
    extracted: dict[str, Any] | None = None
    summary: str | None = None
    actions: list[dict[str, Any]] | None = None
    size: int | None = None
    message: str | None = None
    source: str | None = None
    cached: bool | None = None
    cache_age: int | None = None
    timestamp: str | None = None
    saved_uris: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    verdict: str | None = None
    evidence: str | None = None
    warning: str | None = None
    job_id: str | None = None
    status: str | None = None
    pages: list[dict[str, Any]] | None = None
    errors: list[dict[str, Any]] | None = None
    next_offset: int | None = None


PARAMETERS = {
    "url": Parameter(description="https:// is optional"),
    "urls": Parameter(description="Instead of url: a batch"),
    "command": Parameter(description="All but start are about the batch jobId"),
    "jobId": Parameter(),
    "offset": Parameter(description="In a batch"),
    "format": Parameter(description="Default markdown"),
    "formats": Parameter(
        description="Several, instead of format",
        choices=(
            *("markdown", "html", "rawHtml", "links", "images"),
            *("screenshot", "fullscreenshot", "summary", "branding", "changeTracking"),
        ),
    ),
    "onlyMainContent": Parameter(description="Default true"),
    "includeTags": Parameter(description="CSS selectors"),
    "excludeTags": Parameter(),
    "cleanScrape": Parameter(description="false: unconverted. Default true"),
    "parsers": Parameter(description="PDF as markdown"),
    "mode": Parameter(description="dynamic: in a browser. Default smart"),
    "waitFor": Parameter(description="ms in the browser"),
    "actions": Parameter(description="In order; selector is for click, write, scrape"),
    "blockAds": Parameter(description="Default true"),
    "proxy": Parameter(description="Default auto"),
    "profile": Parameter(description="master: owner's logged-in browser"),
    "maxChars": Parameter(description="Default 20000"),
    "startIndex": Parameter(description="Where to go on when cut"),
    "section": Parameter(description="Outline id or title"),
    "query": Parameter(description="Only matching passages"),
    "extract": Parameter(description="Data wanted: the author name"),
    "resultHandling": Parameter(description="Default saveAndReturn; saveOnly: a link"),
    "maxAge": Parameter(description="Oldest cached copy, ms. Default 2 days"),
    "forceRescrape": Parameter(description="Skip the cache"),
    "headers": Parameter(
        description="Others too", keys=("Accept-Language", "Authorization", "Cookie")
    ),
    "timeout": Parameter(description=f"ms, at most {SCRAPE_TIMEOUT_MS}"),
}


def read_scrape(
    model: type[ScrapeToolArguments], given: Mapping[str, Any], offered: Collection[str]
) -> dict[str, Any]:
    """Return the arguments that were meant; what a command has no use for may be 0 or false."""
    meant = read_leniently(model, given, offered)
    taken = taken_by(meant.get("command", Command.START))
    return {name: value for name, value in meant.items() if value or name in taken}


def check_format(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name the clash where both ways to ask for a format are used."""
    if "format" in given and given.get("formats"):
        yield FieldProblem("format", "Give either format or formats, not both")
    if "format" in given and given.get("command", Command.START) != Command.START:
        yield FieldProblem(
            "format", "A batch has the format that it was started with: leave it out"
        )


def check_only_reading(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name the actions that would do more on a page than read it."""
    actions = given.get("actions")
    for index, action in enumerate(actions if isinstance(actions, list) else ()):
        kind = action.get("type") if isinstance(action, Mapping) else None
        if kind in list(ActionType) and kind not in _READING_ACTIONS:
            message = f"Read-only here: only {', '.join(_READING_ACTIONS)} are done"
            yield FieldProblem(f"actions[{index}].type", message)


def with_login(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that read the same page as the owner; None where no browser may."""
    meant = read_scrape(ScrapeToolArguments, given, PARAMETERS)
    if meant.get("mode") == Mode.STATIC:
        return None
    return {**meant, "profile": Profile.MASTER, "forceRescrape": True}


async def run(app: App, arguments: ScrapeToolArguments, caller: Caller) -> types.CallToolResult:
    """Scrape a URL, or do what is asked of a batch."""
    wanted = Format(arguments.format)
    if is_about_batch(arguments):
        return await batch_result(app, arguments, wanted, caller)
    owner = require_scope(caller, Scope.SCRAPE)
    server = app.settings.server
    whole = arguments.to_request(caller=owner, default_formats=(wanted,))
    request = bound_timeout(whole, server.mcp_call_seconds * 1000)
    window = shared_window(arguments, request.formats, server)
    try:
        outcome = await app.scrape.scrape(request)
    except ScrapeTimeout as late:
        if request.timeout_ms < whole.timeout_ms and may_go_on(whole, caller):
            return await go_on_in_background(app, whole, late)
        raise
    if arguments.max_chars is None:
        window = leave_room_for_outline(window, outcome.document)
    return await scrape_result(outcome, request, window, server.mcp_image_max_edge_pixels)


_READING_ACTIONS = (
    *(ActionType.WAIT, ActionType.SCROLL, ActionType.SCREENSHOT, ActionType.SCRAPE),
)

_READING_PARAMETERS = PARAMETERS | {
    "actions": Parameter(
        description="In order; selector is for scrape",
        item_types=_READING_ACTIONS,
        left_out=("text", "key", "script"),
    )
}

_READING = Tool(
    name="scrape",
    title="Scrape a URL",
    description=(
        "Read one known URL: a page as clean markdown or a screenshot; an image, PDF or other file "
        "as it is. Best for a page you know; to find one use cinder_search. Returns content, "
        "savedUris (for resources/read) and a verdict on what was really got, e.g. http_error. A "
        "long page is cut: go on with startIndex, section or query. urls start a batch, robots.txt "
        "obeyed: ask for its status by jobId."
    ),
    arguments=ScrapeToolArguments,
    parameters=_READING_PARAMETERS,
    output=ScrapeOutput,
    # Each start of a batch is another one.
    annotations=types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=True
    ),
    # Starting a batch, or fetching a page, needs more.
    scope=Scope.READ,
    run=run,
    read=read_scrape,
    with_login=with_login,
    checks=(*SCRAPE_CHECKS, check_format, check_only_reading),
    icon=PAGE,
    # Only an explicit maxChars makes an answer longer than hosts take by themselves.
    meta={"anthropic/maxResultSizeChars": 500_000},
)

SCRAPE = replace(
    _READING,
    description=(
        "Read one known URL: a page as clean markdown or a screenshot, after clicking and typing "
        "if need be; an image, PDF or other file as it is. Best for a page you know; to find one "
        "use cinder_search. Returns content, savedUris (for resources/read) and a verdict on what "
        "was really got, e.g. http_error. A long page is cut: go on with startIndex, section or "
        "query. urls start a batch, robots.txt obeyed: ask for its status by jobId."
    ),
    parameters=PARAMETERS,
    # Its browser actions may click and type, where the owner is logged in, too.
    annotations=types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
    checks=(*SCRAPE_CHECKS, check_format),
    reading_variant=_READING,
)

"""The tools `scrape` and `cinder_scrape`: one page, or a batch of pages in the background."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import mcp_types as types

from cinder.api.requests import require_scope
from cinder.api.schemas.jobs import JobResponses, describe_batch_start
from cinder.api.schemas.page import PAGE_CHECKS, PageArguments, PageBudget, answer_page
from cinder.api.schemas.scrape import SCRAPE_CHECKS, Command, ScrapeArguments, arguments_of_command
from cinder.app.composition import App
from cinder.errors import CinderError, FieldProblem, ScrapeTimeout
from cinder.mcp.coercion import coerce_arguments
from cinder.mcp.request_context import SCRAPE_TIMEOUT_MS, bound_timeout
from cinder.mcp.results import (
    OUTLINE_CHARS,
    body_annotations,
    body_chars,
    describe_outline_lines,
    leave_room_for_outline,
    outline_note,
    page_header,
    shared_window,
    warning_line,
)
from cinder.mcp.schema import Parameter, option_parameters
from cinder.mcp.scrape_result import scrape_result
from cinder.mcp.tools.base import PAGE_ICON, Tool, ToolOutput, read_only
from cinder.models.caller import Caller, TokenScope
from cinder.models.document import Json
from cinder.models.job import JobKind
from cinder.models.request import ActionType, Format, Mode, Profile, ResultHandling, ScrapeRequest
from cinder.models.saved import format_timestamp


async def batch_result(
    app: App, arguments: ScrapeArguments, wanted: Format, caller: Caller
) -> types.CallToolResult:
    """Run the batch command of a call.

    Raises:
        CinderError: it failed, or there is no such batch.
    """
    is_read = arguments.command in (Command.STATUS, Command.ERRORS)
    owner = require_scope(caller, TokenScope.READ if is_read else TokenScope.CRAWL)
    return _make_batch_result(await _answer_batch_command(app, arguments, wanted, owner))


def may_continue_in_background(request: ScrapeRequest, caller: Caller) -> bool:
    """Whether a page that takes too long for a call can be scraped as a batch of one.

    Not if the result would not be saved, or if actions may already have run.
    """
    is_saved = request.result_handling is not ResultHandling.RETURN_ONLY
    return is_saved and not request.render.actions and caller.may(TokenScope.CRAWL)


async def continue_in_background(
    app: App, request: ScrapeRequest, late: ScrapeTimeout
) -> types.CallToolResult:
    """Start the batch of one, and return the handle to it.

    Raises:
        ScrapeTimeout: no batch can be started now.
    """
    try:
        start = await app.jobs.start_batch([request.url], request)
    except CinderError:
        raise late from None
    job_id = start.job.id
    message = (
        f"{request.url} takes longer than a call may, {app.settings.server.mcp_call_seconds} s. It "
        f"goes on in the background, for at most {request.timeout_ms // 1000} s: call scrape with "
        f"command status, jobId {job_id} and includeContent true."
    )
    return _make_batch_result({**describe_batch_start(start, [request.url]), "message": message})


def _make_batch_result(data: dict[str, Json]) -> types.CallToolResult:
    facts = {name: value for name, value in data.items() if name != "message"}
    # Some clients show only the text, so it has the data as well.
    text = f"{data['message']}\n{json.dumps(facts, ensure_ascii=False)}"
    return types.CallToolResult(
        content=[types.TextContent(text=text, annotations=body_annotations())],
        structured_content=data,
    )


async def _answer_batch_command(
    app: App, arguments: ScrapeArguments, wanted: Format, caller: str
) -> dict[str, Json]:
    answers = JobResponses(app.jobs, app.archive, caller)
    job_id, server = arguments.job_id or "", app.settings.server
    part = arguments.part(body_chars(server), server.result_max_chars_ceiling)
    part = replace(part, is_bound=arguments.max_chars is None)
    match arguments.command:
        case Command.START:
            urls, key = arguments.urls or [], arguments.idempotency_key
            request = arguments.to_batch_request(caller=caller, default_formats=(wanted,))
            return describe_batch_start(await app.jobs.start_batch(urls, request, key), urls)
        case Command.STATUS:
            return await answers.status(
                job_id, JobKind.BATCH, part, include_content=arguments.include_content
            )
        case Command.CANCEL:
            return await answers.cancel(job_id, JobKind.BATCH)
        case Command.ERRORS:
            return await answers.errors(job_id, JobKind.BATCH, part)


class ScrapeToolArguments(ScrapeArguments, use_attribute_docstrings=False):
    """The arguments of a scrape, and `format` for a single format."""

    format: Literal["markdown", "links", "screenshot", "fullscreenshot"] = "markdown"


class ScrapeOutput(ToolOutput):
    """A scraped page or file, or a batch. Each has some of the fields."""

    url: str | None = None
    content: str | None = None
    content_type: str | None = None
    html: str | None = None
    raw_html: str | None = None
    links: list[str] | None = None
    links_detail: list[dict[str, Any]] | None = None
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


_OPTIONS = option_parameters(ScrapeRequest)
_OPTIONS |= {
    "headers": replace(_OPTIONS["headers"], keys=("Accept-Language", "Authorization", "Cookie")),
    "timeout": Parameter(description=f"ms; beyond {SCRAPE_TIMEOUT_MS} it goes on as a batch"),
}
_SHOWN_LAST = ("extract", "resultHandling", "maxAge", "forceRescrape", "headers", "timeout")
_READING = {
    "maxChars": Parameter(description="Default 20000, with query 8000"),
    "maxTokens": Parameter(description="Instead of maxChars"),
    "startIndex": Parameter(description="The nextStartIndex of a cut answer"),
    "section": Parameter(description="Outline id or title"),
    "query": Parameter(description="Only matching passages"),
}
SCRAPE_PARAMETERS = {
    "url": Parameter(description="https:// is optional"),
    "urls": Parameter(description="Instead of url: a batch"),
    "command": Parameter(description="The others are about a batch"),
    "jobId": Parameter(description="The batch"),
    "offset": Parameter(description="nextOffset of a batch"),
    "format": Parameter(description="One format"),
    **{name: shown for name, shown in _OPTIONS.items() if name not in _SHOWN_LAST},
    **_READING,
    **_OPTIONS,
}


def read_scrape(
    model: type[ScrapeToolArguments], raw: Mapping[str, Any], offered: Collection[str]
) -> dict[str, Any]:
    """Coerce arguments, and drop those that are 0 or false and that the command does not take."""
    coerced = coerce_arguments(model, raw, offered)
    taken = arguments_of_command(coerced.get("command", Command.START))
    return {name: value for name, value in coerced.items() if value or name in taken}


def check_format(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the conflict of `format` with `formats`, or with the command."""
    if "format" in raw and raw.get("formats"):
        yield FieldProblem("format", "Give either format or formats, not both")
    if "format" in raw and raw.get("command", Command.START) != Command.START:
        yield FieldProblem(
            "format", "A batch has the format that it was started with: leave it out"
        )


def check_read_only_actions(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the actions that do more than read a page."""
    actions = raw.get("actions")
    for index, action in enumerate(actions if isinstance(actions, list) else ()):
        kind = action.get("type") if isinstance(action, Mapping) else None
        if kind in list(ActionType) and kind not in _READ_ONLY_ACTIONS:
            message = f"Read-only here: only {', '.join(_READ_ONLY_ACTIONS)} are done"
            yield FieldProblem(f"actions[{index}].type", message)


def with_login(raw: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the arguments that read the page with the owner's login; None without a browser."""
    coerced = read_scrape(ScrapeToolArguments, raw, SCRAPE_PARAMETERS)
    if coerced.get("mode") == Mode.STATIC:
        return None
    return {**coerced, "profile": Profile.MASTER, "forceRescrape": True}


async def run_scrape(
    app: App, arguments: ScrapeToolArguments, caller: Caller
) -> types.CallToolResult:
    """Scrape a URL, or run a batch command."""
    wanted = Format(arguments.format)
    if arguments.command is not Command.START or arguments.urls:
        return await batch_result(app, arguments, wanted, caller)
    owner = require_scope(caller, TokenScope.SCRAPE)
    server = app.settings.server
    whole = arguments.to_request(caller=owner, default_formats=(wanted,))
    request = bound_timeout(whole, server.mcp_call_seconds * 1000)
    window = shared_window(arguments, request.formats, server)
    try:
        outcome = await app.scrape.scrape(request)
    except ScrapeTimeout as late:
        if request.timeout_ms < whole.timeout_ms and may_continue_in_background(whole, caller):
            return await continue_in_background(app, whole, late)
        raise
    if arguments.max_chars is None:
        window = leave_room_for_outline(window, outcome.document)
    return await scrape_result(outcome, request, window, server.mcp_image_max_edge_pixels)


_READ_ONLY_ACTIONS = (ActionType.WAIT, ActionType.SCROLL, ActionType.SCREENSHOT, ActionType.SCRAPE)

_READ_ONLY_PARAMETERS = SCRAPE_PARAMETERS | {
    "actions": Parameter(
        description="In order; selector is for scrape",
        item_types=_READ_ONLY_ACTIONS,
        left_out=("text", "key", "script"),
    )
}

_DESCRIPTION = (
    "Read one known URL: a page as clean markdown or a screenshot{actions}; an image, PDF or other "
    "file as it is. Best for a page you know; to find one use cinder_search. Returns content, "
    "savedUris (for resources/read) and a verdict on what was really got, e.g. http_error. A "
    "long page is cut: go on with startIndex, section or query. urls start a batch, robots.txt "
    "obeyed: ask for its status by jobId."
)

_READ_ONLY_SCRAPE = Tool(
    name="scrape",
    title="Scrape a URL",
    description=_DESCRIPTION.format(actions=""),
    arguments=ScrapeToolArguments,
    parameters=_READ_ONLY_PARAMETERS,
    output=ScrapeOutput,
    # Each call may start another batch.
    annotations=read_only(idempotent=False, open_world=True),
    # Starting a batch or fetching a page needs another scope.
    scope=TokenScope.READ,
    run=run_scrape,
    read=read_scrape,
    with_login=with_login,
    checks=(*SCRAPE_CHECKS, check_format, check_read_only_actions),
    icon=PAGE_ICON,
    # Only an explicit maxChars makes a result longer than hosts accept by default.
    meta={"anthropic/maxResultSizeChars": 500_000},
)

SCRAPE = replace(
    _READ_ONLY_SCRAPE,
    description=_DESCRIPTION.format(actions=", after clicking and typing if need be"),
    parameters=SCRAPE_PARAMETERS,
    # Browser actions may click and type, even where the owner is logged in.
    annotations=types.ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
    checks=(*SCRAPE_CHECKS, check_format),
    read_only_variant=_READ_ONLY_SCRAPE,
)


class PageOutput(ToolOutput):
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
    next_start_index: int | None = None
    warning: str | None = None


async def run_cinder_scrape(
    app: App, arguments: PageArguments, caller: Caller
) -> types.CallToolResult:
    """Scrape a page."""
    limit_ms = app.settings.server.mcp_call_seconds * 1000
    request = arguments.to_request(caller=caller.id, timeout_ms=limit_ms)
    outcome = await app.scrape.scrape(request)
    room = PageBudget(body_chars(app.settings.server), OUTLINE_CHARS, describe_outline_lines)
    data = await answer_page(outcome, arguments, room)
    # The facts of the text's header, for clients that show only structured content.
    data |= {
        "source": outcome.document.source,
        "timestamp": format_timestamp(outcome.document.scraped_at),
    }
    metadata = json.dumps(data.get("metadata", {}), ensure_ascii=False)
    header = page_header(
        outcome,
        f"Load time: {data['loadTime']} ms",
        f"Metadata: {metadata}" if data.get("metadata") else None,
        warning_line(data),
        outline_note(data),
    )
    text = types.TextContent(
        text=f"{header}\n\n{data['content']}",
        annotations=body_annotations(outcome.document.scraped_at),
    )
    return types.CallToolResult(content=[text], structured_content=data)


CINDER_SCRAPE = Tool(
    name="cinder_scrape",
    title="Read a page",
    description=(
        "Read one known page, or a section or the passages on a query: content and metadata "
        "(author, date, images …). A page with an HTTP error is returned, with its statusCode. "
        "Best for plain reading; scrape is for files and more formats."
    ),
    arguments=PageArguments,
    parameters={
        "url": Parameter(description="The page"),
        "mode": _OPTIONS["mode"],
        "includeMetadata": Parameter(description="Author, dates, images …"),
        "returnFormat": Parameter(description="json: outline, sections, tables, links"),
        **_READING,
    },
    output=PageOutput,
    annotations=read_only(idempotent=True, open_world=True),
    scope=TokenScope.SCRAPE,
    run=run_cinder_scrape,
    checks=PAGE_CHECKS,
    icon=PAGE_ICON,
)

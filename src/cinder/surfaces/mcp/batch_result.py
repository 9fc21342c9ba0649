"""Batches through the tool `scrape`: starting one, and the commands about it."""

import json
from dataclasses import replace

import mcp_types as types

from cinder.app import App
from cinder.errors import CinderError, ScrapeTimeout
from cinder.model.caller import Caller, Scope
from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.model.request import Format, ResultHandling, ScrapeRequest
from cinder.surfaces.caller import require_scope
from cinder.surfaces.job_answer import JobAnswers, describe_batch_start
from cinder.surfaces.mcp.content import body_annotations
from cinder.surfaces.mcp.size_limit import body_chars
from cinder.surfaces.scrape_arguments import Command, ScrapeArguments


def is_about_batch(arguments: ScrapeArguments) -> bool:
    """Whether a call starts a batch or asks about one."""
    return arguments.command is not Command.START or bool(arguments.urls)


async def batch_result(
    app: App, arguments: ScrapeArguments, wanted: Format, caller: Caller
) -> types.CallToolResult:
    """Do what a call asks of a batch.

    Raises:
        CinderError: it cannot be done, or there is no such batch.
    """
    is_look = arguments.command in (Command.STATUS, Command.ERRORS)
    owner = require_scope(caller, Scope.READ if is_look else Scope.CRAWL)
    return _result(await _answer(app, arguments, wanted, owner))


def may_go_on(request: ScrapeRequest, caller: Caller) -> bool:
    """Whether a page that takes too long for a call can be got as a batch of one.

    Not where it would be lost, or where something was perhaps done on it already.
    """
    is_kept = request.result_handling is not ResultHandling.RETURN_ONLY
    return is_kept and not request.render.actions and caller.may(Scope.CRAWL)


async def go_on_in_background(
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
    return _result({**describe_batch_start(start, [request.url]), "message": message})


def _result(data: dict[str, Json]) -> types.CallToolResult:
    facts = {name: value for name, value in data.items() if name != "message"}
    # The text alone is all that some clients show: it has the data as well.
    text = f"{data['message']}\n{json.dumps(facts, ensure_ascii=False)}"
    return types.CallToolResult(
        content=[types.TextContent(text=text, annotations=body_annotations())],
        structured_content=data,
    )


async def _answer(
    app: App, arguments: ScrapeArguments, wanted: Format, caller: str
) -> dict[str, Json]:
    answers = JobAnswers(app.jobs, app.archive, caller)
    job_id, server = arguments.job_id or "", app.settings.server
    part = arguments.part(body_chars(server), server.result_max_chars_ceiling)
    part = replace(part, is_bound=arguments.max_chars is None)
    match arguments.command:
        case Command.START:
            urls, key = arguments.urls or [], arguments.idempotency_key
            request = arguments.to_batch_request(caller=caller, default_formats=(wanted,))
            return describe_batch_start(await app.jobs.start_batch(urls, request, key), urls)
        case Command.STATUS:
            with_content = arguments.include_content
            return await answers.batch_status(job_id, part, include_content=with_content)
        case Command.CANCEL:
            return await answers.cancel(job_id, JobKind.BATCH)
        case Command.ERRORS:
            return await answers.errors(job_id, JobKind.BATCH, part)

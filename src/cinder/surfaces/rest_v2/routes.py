"""POST /api/v2/scrape: one URL, answered as its result handling asks for, or a batch command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cinder.app import App
from cinder.errors import CinderError, FieldProblem, InvalidRequest
from cinder.model.caller import Caller, Scope
from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.model.request import Format
from cinder.model.webhook import WebhookTarget
from cinder.surfaces.answer_schemas import SCRAPED
from cinder.surfaces.answers import (
    failed_response,
    json_response,
    read_idempotency_key,
    read_json,
)
from cinder.surfaces.arguments import read_body
from cinder.surfaces.caller import caller_of, require_scope
from cinder.surfaces.disconnect import unless_gone
from cinder.surfaces.errors import describe_error
from cinder.surfaces.job_answer import JobAnswers, describe_batch_start
from cinder.surfaces.openapi import Operation
from cinder.surfaces.page_facts import with_page_facts
from cinder.surfaces.scrape_answer import answer_outcome
from cinder.surfaces.scrape_arguments import (
    SCRAPE_CHECKS,
    Command,
    ScrapeArguments,
)
from cinder.surfaces.webhook_arguments import WebhookArguments, split_webhook, with_secret

DEFAULT_FORMATS = (Format.MARKDOWN, Format.HTML)

OPERATIONS = {
    "/api/v2/scrape": Operation(
        "Scrape one URL and return it, keep it, or both; or start a batch, and look after it",
        ScrapeArguments,
        {"url": "https://example.com/", "formats": ["markdown", "links"]},
        SCRAPED,
        beside={"webhook": WebhookArguments},
    )
}


def build_routes(app: App) -> list[Route]:
    """Return the routes of the second REST version."""

    async def scrape(request: Request) -> Response:
        command, outcome = Command.START.value, "INTERNAL_ERROR"
        try:
            given = await read_json(request, app.settings.limits)
            command = _command_of(given)
            secret = app.settings.webhooks.secret.get_secret_value()
            given, webhook = split_webhook(given, default_secret=secret)
            arguments = read_body(ScrapeArguments, given, *SCRAPE_CHECKS)
            key = read_idempotency_key(request, arguments.idempotency_key)
            start = _BatchOptions(key, webhook)
            work = _answer(app, arguments, start, caller_of(request))
            data = await unless_gone(request, work)
            answer: dict[str, Json] = {"success": True, "command": command, "data": data}
            outcome = "ok"
            return json_response(answer)
        except CinderError as error:
            outcome = error.code
            answer = {"success": False, "command": command, "error": describe_error(error)}
            return failed_response(error, answer)
        finally:
            app.metrics.requests.labels("rest_v2", command, outcome).inc()

    return [Route("/api/v2/scrape", scrape, methods=["POST"])]


@dataclass(frozen=True, slots=True)
class _BatchOptions:
    """What is asked of a batch beside what is asked of its pages."""

    key: str | None
    webhook: WebhookTarget | None


async def _answer(
    app: App, arguments: ScrapeArguments, options: _BatchOptions, caller: Caller
) -> dict[str, Json]:
    if options.webhook is not None and not arguments.urls:
        problem = FieldProblem("webhook", "Only a batch, started with urls, has a webhook")
        raise InvalidRequest(problems=(problem,))
    if arguments.command is not Command.START:
        return await _answer_about_batch(app, arguments, arguments.job_id or "", caller)
    if arguments.urls:
        owner = require_scope(caller, Scope.CRAWL)
        return await _start_batch(app, arguments, arguments.urls, options, owner)
    return await _scrape(app, arguments, require_scope(caller, Scope.SCRAPE))


async def _start_batch(
    app: App,
    arguments: ScrapeArguments,
    urls: Sequence[str],
    options: _BatchOptions,
    caller: str,
) -> dict[str, Json]:
    request = arguments.to_batch_request(caller=caller, default_formats=DEFAULT_FORMATS)
    started = await app.jobs.start_batch(urls, request, options.key, options.webhook)
    return with_secret(describe_batch_start(started, urls), started.job, options.webhook)


async def _answer_about_batch(
    app: App, arguments: ScrapeArguments, job_id: str, caller: Caller
) -> dict[str, Json]:
    needed = Scope.CRAWL if arguments.command is Command.CANCEL else Scope.READ
    answers = JobAnswers(app.jobs, app.archive, require_scope(caller, needed))
    limits = app.settings.server
    part = arguments.part(limits.result_max_chars, limits.result_max_chars_ceiling)
    match arguments.command:
        case Command.CANCEL:
            return await answers.cancel(job_id, JobKind.BATCH)
        case Command.ERRORS:
            return await answers.errors(job_id, JobKind.BATCH, part)
        case _:
            with_content = arguments.include_content
            return await answers.batch_status(job_id, part, include_content=with_content)


async def _scrape(app: App, arguments: ScrapeArguments, caller: str) -> dict[str, Json]:
    request = arguments.to_request(caller=caller, default_formats=DEFAULT_FORMATS)
    outcome = await app.scrape.scrape(request)
    limits = app.settings.server
    window = arguments.window(limits.result_max_chars, limits.result_max_chars_ceiling)
    answer = await answer_outcome(outcome, request, window)
    return with_page_facts(answer, outcome.document)


def _command_of(given: object) -> str:
    """Return the command to show in the answer, whatever else is wrong with the request."""
    command = given.get("command") if isinstance(given, Mapping) else None
    return command if command in list(Command) else Command.START.value

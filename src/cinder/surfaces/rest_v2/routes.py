"""POST /api/v2/scrape: one URL, answered as its result handling asks for, or a batch command."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cinder.app import App
from cinder.errors import CinderError, FieldProblem, InvalidRequest
from cinder.model.caller import Caller, Scope
from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.model.webhook import WebhookTarget
from cinder.surfaces.answer_schemas import SCRAPED
from cinder.surfaces.answers import (
    failed_response,
    parse_json,
    read_idempotency_key,
    read_json_body,
)
from cinder.surfaces.arguments import read_body
from cinder.surfaces.caller import caller_of, require_scope
from cinder.surfaces.disconnect import unless_gone
from cinder.surfaces.errors import describe_error
from cinder.surfaces.job_answer import JobAnswers, describe_batch_start
from cinder.surfaces.openapi import Operation
from cinder.surfaces.rest_v2.page_answers import DEFAULT_FORMATS, PageAnswers
from cinder.surfaces.scrape_arguments import (
    SCRAPE_CHECKS,
    Command,
    ScrapeArguments,
)
from cinder.surfaces.webhook_arguments import WebhookArguments, split_webhook, with_secret

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
    pages = PageAnswers(app)

    async def scrape(request: Request) -> Response:
        command, outcome = Command.START.value, "INTERNAL_ERROR"
        try:
            body, caller = await read_json_body(request), caller_of(request)
            is_plain = "idempotency-key" not in request.headers
            page = pages.recall(caller.id, body) if is_plain else None
            if page is not None:
                require_scope(caller, Scope.SCRAPE)
                work = pages.answer(page, body)
            else:
                given = await parse_json(body, app.settings.limits)
                command = _command_of(given)
                work = _answer(app, pages, _read(app, request, given), body, caller)
            answer = await unless_gone(request, work)
            outcome = "ok"
            return Response(answer, media_type="application/json")
        except CinderError as error:
            outcome = error.code
            content: dict[str, Json] = {
                "success": False,
                "command": command,
                "error": describe_error(error),
            }
            return failed_response(error, content)
        finally:
            app.metrics.requests.labels("rest_v2", command, outcome).inc()

    return [Route("/api/v2/scrape", scrape, methods=["POST"])]


@dataclass(frozen=True, slots=True)
class _Asked:
    """The arguments of a request, and what it asks of a batch beside what it asks of its pages."""

    arguments: ScrapeArguments
    key: str | None
    webhook: WebhookTarget | None


def _read(app: App, request: Request, given: object) -> _Asked:
    """Return what a request asks for.

    Raises:
        InvalidRequest: something is wrong with it.
    """
    secret = app.settings.webhooks.secret.get_secret_value()
    given, webhook = split_webhook(given, default_secret=secret)
    arguments = read_body(ScrapeArguments, given, *SCRAPE_CHECKS)
    key = read_idempotency_key(request, arguments.idempotency_key)
    if webhook is not None and not arguments.urls:
        problem = FieldProblem("webhook", "Only a batch, started with urls, has a webhook")
        raise InvalidRequest(problems=(problem,))
    return _Asked(arguments, key, webhook)


async def _answer(
    app: App, pages: PageAnswers, asked: _Asked, body: bytes, caller: Caller
) -> bytes:
    arguments = asked.arguments
    if arguments.command is not Command.START:
        data = await _answer_about_batch(app, arguments, arguments.job_id or "", caller)
    elif arguments.urls:
        data = await _start_batch(app, asked, require_scope(caller, Scope.CRAWL))
    else:
        page = pages.read(arguments, require_scope(caller, Scope.SCRAPE), body)
        return await pages.answer(page, body)
    return to_json({"success": True, "command": arguments.command, "data": data})


async def _start_batch(app: App, asked: _Asked, caller: str) -> dict[str, Json]:
    urls = asked.arguments.urls or []
    request = asked.arguments.to_batch_request(caller=caller, default_formats=DEFAULT_FORMATS)
    started = await app.jobs.start_batch(urls, request, asked.key, asked.webhook)
    return with_secret(describe_batch_start(started, urls), started.job, asked.webhook)


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


def _command_of(given: object) -> str:
    """Return the command to show in the answer, whatever else is wrong with the request."""
    command = given.get("command") if isinstance(given, Mapping) else None
    return command if command in list(Command) else Command.START.value

"""Routes of crawls and batches: start, status, errors, ledger, events, webhooks and export."""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cinder.api.arguments import Arguments, StrictBool, StrictInt, read_arguments, read_body
from cinder.api.openapi import (
    BATCH_STATUS,
    BATCHES,
    CANCELLED,
    CRAWL,
    CRAWL_STATUS,
    CRAWLS,
    ERRORS,
    EVENTS,
    EXPORT,
    LEDGER,
    RETRIED,
    WEBHOOK_EVENTS,
    Lookup,
    Operation,
    json_content,
)
from cinder.api.requests import (
    caller_of,
    caller_with_scope,
    json_response,
    read_idempotency_key,
    read_json,
)
from cinder.api.schemas.crawl import CrawlArguments, crawl_checks
from cinder.api.schemas.jobs import (
    DEFAULT_LIMIT,
    MAX_LIMIT,
    MAX_OFFSET,
    JobResponses,
    Pagination,
    WebhookArguments,
    describe_job,
    describe_webhook_event,
    split_webhook,
    with_webhook_secret,
)
from cinder.api.v1.endpoints import make_endpoint
from cinder.api.v1.events import (
    EVENT_STREAM,
    LAST_EVENT_ID,
    STREAM_HEADERS,
    OpenStreams,
    WatchedJobs,
    stream_events,
)
from cinder.app import App
from cinder.models.caller import TokenScope
from cinder.models.job import JobKind, PageStatus
from cinder.models.webhook import EventState
from cinder.services.auth import require_domain
from cinder.services.export import ExportFormat, ExportRequest, read_request


def _split_words(value: object) -> object:
    return [word for word in value.split(",") if word] if isinstance(value, str) else value


class ExportArguments(Arguments):
    """What of a job to export."""

    format: str = ExportFormat.JSONL.value
    """`jsonl`, `warc` or `parquet`."""
    include: Annotated[list[str], BeforeValidator(_split_words)] = Field(default_factory=list)
    """What else of each page: `html`, `raw`, or both with a comma between."""
    include_errors: StrictBool = False
    """Also the URLs that could not or must not be fetched, with their fate and reason."""

    def to_request(self) -> ExportRequest:
        """Return what is asked for.

        Raises:
            InvalidRequest: a word is not known.
        """
        return read_request(self.format, self.include, include_errors=self.include_errors)


async def export_job(kind: JobKind, app: App, request: Request) -> Response:
    """Stream a job's pages."""
    wanted = read_arguments(ExportArguments, dict(request.query_params)).to_request()
    caller = caller_with_scope(request, TokenScope.READ)
    job = await app.jobs.find(str(request.path_params["id"]), kind, caller)
    name = f"{job.id}{wanted.format.suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if request.method == "HEAD":
        return Response(media_type=wanted.format.media_type, headers=headers)
    chunks = aiter(app.exporter.export(job, wanted))
    # What is wrong at the start can still be said; later, the stream can only break.
    first = await anext(chunks, b"")
    return StreamingResponse(
        _with_first(first, chunks), media_type=wanted.format.media_type, headers=headers
    )


async def _with_first(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk


A = TypeVar("A", bound=Arguments)

_METHODS = {"cancel": "DELETE", "retry_webhooks": "POST"}
_PLURAL = {JobKind.CRAWL: "crawls", JobKind.BATCH: "batches"}


class ListArguments(Arguments):
    """How many jobs to list."""

    limit: Annotated[StrictInt, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    """How many to list, newest first."""


class PaginationArguments(ListArguments):
    """Which entries of a list to return."""

    offset: Annotated[StrictInt, Field(ge=0, le=MAX_OFFSET)] = 0
    """How many to skip; `nextOffset` of the last answer."""
    limit: Annotated[StrictInt, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    """How many to return; fewer come where they would be too long together."""

    def part(self, max_chars: int) -> Pagination:
        """Return which entries the answer may hold."""
        return Pagination(self.offset, self.limit, max_chars)


class StatusArguments(PaginationArguments):
    """Which pages of a job to return."""

    include_content: StrictBool = False
    """Return the pages with what was saved of them, as far as there is room."""


class LedgerArguments(PaginationArguments):
    """Which URLs of a job's ledger to return."""

    fate: PageStatus | None = None
    """Only those that this became of; all by default."""


class WebhookEventsArguments(PaginationArguments):
    """Which events for a job's webhook to list."""

    state: EventState = EventState.DEAD
    """`waiting`, `delivered`, or `dead`: given up, which /retry tries anew."""


OPERATIONS = {
    "/v1/crawl": Operation(
        "Start to explore a site in the background",
        CrawlArguments,
        {"url": "https://example.com/", "maxDepth": 3, "excludePatterns": ["/archive/"]},
        CRAWL,
        tag="jobs",
        beside={"webhook": WebhookArguments},
    )
}

LOOKUPS = {
    ("get", "/v1/crawls"): Lookup(
        "List your crawls, newest first", json_content(CRAWLS), ListArguments
    ),
    ("get", "/v1/crawl/{id}"): Lookup(
        "How far a crawl is, and its pages", json_content(CRAWL_STATUS), StatusArguments
    ),
    ("delete", "/v1/crawl/{id}"): Lookup("Cancel a crawl", json_content(CANCELLED)),
    ("get", "/v1/crawl/{id}/errors"): Lookup(
        "URLs that could not be had", json_content(ERRORS), PaginationArguments
    ),
    ("get", "/v1/crawl/{id}/ledger"): Lookup(
        "Every URL that was seen, with its fate and the reason",
        json_content(LEDGER),
        LedgerArguments,
    ),
    ("get", "/v1/crawl/{id}/events"): Lookup(
        "Watch a crawl: server-sent events until it is over", EVENTS
    ),
    ("get", "/v1/crawl/{id}/export"): Lookup(
        "A crawl's pages as JSONL, WARC or Parquet", EXPORT, ExportArguments
    ),
    ("get", "/v1/crawl/{id}/webhooks"): Lookup(
        "Events for a crawl's webhook, by default those given up",
        json_content(WEBHOOK_EVENTS),
        WebhookEventsArguments,
    ),
    ("post", "/v1/crawl/{id}/webhooks/retry"): Lookup(
        "Try events anew that were given up", json_content(RETRIED)
    ),
    ("get", "/v1/batches"): Lookup(
        "List your batches, newest first", json_content(BATCHES), ListArguments
    ),
    ("get", "/v1/batch/{id}"): Lookup(
        "How far a batch is, and its pages", json_content(BATCH_STATUS), StatusArguments
    ),
    ("delete", "/v1/batch/{id}"): Lookup("Cancel a batch", json_content(CANCELLED)),
    ("get", "/v1/batch/{id}/errors"): Lookup(
        "URLs that could not be had", json_content(ERRORS), PaginationArguments
    ),
    ("get", "/v1/batch/{id}/ledger"): Lookup(
        "Every URL of a batch, with its fate and the reason", json_content(LEDGER), LedgerArguments
    ),
    ("get", "/v1/batch/{id}/events"): Lookup(
        "Watch a batch: server-sent events until it is over", EVENTS
    ),
    ("get", "/v1/batch/{id}/export"): Lookup(
        "A batch's pages as JSONL, WARC or Parquet", EXPORT, ExportArguments
    ),
    ("get", "/v1/batch/{id}/webhooks"): Lookup(
        "Events for a batch's webhook, by default those given up",
        json_content(WEBHOOK_EVENTS),
        WebhookEventsArguments,
    ),
    ("post", "/v1/batch/{id}/webhooks/retry"): Lookup(
        "Try events anew that were given up", json_content(RETRIED)
    ),
}


def build_job_routes(app: App) -> list[Route]:
    """Return the routes of crawls and batches."""
    start = make_endpoint(app, "crawl_start", _start_crawl)
    return [
        Route("/v1/crawl", start, methods=["POST"]),
        *_routes_of(app, JobKind.CRAWL),
        *_routes_of(app, JobKind.BATCH),
    ]


def _routes_of(app: App, kind: JobKind) -> list[Route]:
    def route(path: str, name: str, handler: Callable[..., Awaitable[Response]]) -> Route:
        method = _METHODS.get(name, "GET")
        endpoint = make_endpoint(app, f"{kind}_{name}", partial(handler, kind))
        return Route(path, endpoint, methods=[method])

    one = f"/v1/{kind}/{{id}}"
    return [
        route(f"/v1/{_PLURAL[kind]}", "list", _list),
        route(one, "status", _status),
        route(one, "cancel", _cancel),
        route(f"{one}/errors", "errors", _errors),
        route(f"{one}/ledger", "ledger", _ledger),
        route(f"{one}/events", "events", _events),
        route(f"{one}/export", "export", export_job),
        route(f"{one}/webhooks", "webhooks", _webhooks),
        route(f"{one}/webhooks/retry", "retry_webhooks", _retry_webhooks),
    ]


async def _start_crawl(app: App, request: Request) -> Response:
    caller = caller_with_scope(request, TokenScope.CRAWL)
    secret = app.settings.webhooks.secret.get_secret_value()
    sent = await read_json(request, app.settings.limits)
    given, webhook = split_webhook(sent, default_secret=secret)
    arguments = read_body(CrawlArguments, given, *crawl_checks(app.settings.jobs.max_pages))
    require_domain(caller_of(request).policy, arguments.url)
    key = read_idempotency_key(request, arguments.idempotency_key)
    job = await app.jobs.start_crawl(arguments.to_spec(), caller, key, webhook)
    answer = await _answers(app, caller).crawl_started(job)
    return json_response(with_webhook_secret(answer, job, webhook))


async def _list(kind: JobKind, app: App, request: Request) -> Response:
    arguments = _read_query(ListArguments, request)
    caller = caller_with_scope(request, TokenScope.READ)
    jobs = await app.jobs.list_jobs(caller, kind, limit=arguments.limit)
    return json_response({_PLURAL[kind]: [describe_job(job) for job in jobs]})


async def _status(kind: JobKind, app: App, request: Request) -> Response:
    arguments = _read_query(StatusArguments, request)
    answers = _answers(app, caller_with_scope(request, TokenScope.READ))
    read = answers.crawl_status if kind is JobKind.CRAWL else answers.batch_status
    part = arguments.part(_max_chars(app))
    answer = await read(_id(request), part, include_content=arguments.include_content)
    return json_response(answer)


async def _cancel(kind: JobKind, app: App, request: Request) -> Response:
    answers = _answers(app, caller_with_scope(request, TokenScope.CRAWL))
    return json_response(await answers.cancel(_id(request), kind))


async def _errors(kind: JobKind, app: App, request: Request) -> Response:
    part = _read_query(PaginationArguments, request).part(_max_chars(app))
    answers = _answers(app, caller_with_scope(request, TokenScope.READ))
    return json_response(await answers.errors(_id(request), kind, part))


async def _ledger(kind: JobKind, app: App, request: Request) -> Response:
    arguments = _read_query(LedgerArguments, request)
    part = arguments.part(_max_chars(app))
    answers = _answers(app, caller_with_scope(request, TokenScope.READ))
    return json_response(await answers.ledger(_id(request), kind, arguments.fate, part))


async def _events(kind: JobKind, app: App, request: Request) -> Response:
    job = await app.jobs.find(_id(request), kind, caller_with_scope(request, TokenScope.READ))
    # Clients come back when a stream ends; this is how they are told that there is no more.
    if request.headers.get("last-event-id") == LAST_EVENT_ID and job.status.is_over:
        return Response(status_code=204)
    if request.method == "HEAD":  # which would wait for the whole stream to see none of it
        return Response(media_type=EVENT_STREAM, headers=STREAM_HEADERS)
    watched: WatchedJobs = request.app.state.watched_jobs
    events = stream_events(watched.watch(job), request.app.state.stopping)
    streams: OpenStreams = request.app.state.streams
    return streams.answer(job.owner, events)


async def _webhooks(kind: JobKind, app: App, request: Request) -> Response:
    arguments = _read_query(WebhookEventsArguments, request)
    caller = caller_with_scope(request, TokenScope.READ)
    job = await app.jobs.find(_id(request), kind, caller)
    events = await app.webhooks.list_events(
        caller, job.id, arguments.state, offset=arguments.offset, limit=arguments.limit
    )
    return json_response({"events": [describe_webhook_event(event) for event in events]})


async def _retry_webhooks(kind: JobKind, app: App, request: Request) -> Response:
    caller = caller_with_scope(request, TokenScope.CRAWL)
    job = await app.jobs.find(_id(request), kind, caller)
    return json_response({"retried": await app.webhooks.retry_dead(caller, job.id)})


def _answers(app: App, caller: str) -> JobResponses:
    return JobResponses(app.jobs, app.archive, caller)


def _max_chars(app: App) -> int:
    return app.settings.server.result_max_chars


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _read_query(model: type[A], request: Request) -> A:
    return read_arguments(model, dict(request.query_params))

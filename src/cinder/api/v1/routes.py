"""Routes of v1: scrape, search, search-and-scrape, extract, map, crawls and batches."""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Annotated, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cinder.api.arguments import (
    DEFAULT_LIMIT,
    Arguments,
    Limit,
    Offset,
    Pagination,
    StrictBool,
    read_arguments,
    read_body,
)
from cinder.api.errors import describe_error
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
    EXTRACTED,
    LEDGER,
    MAP,
    PAGE,
    RETRIED,
    SEARCH,
    WEBHOOK_EVENTS,
    Lookup,
    Operation,
    json_content,
)
from cinder.api.requests import (
    caller_of,
    caller_with_scope,
    cancel_on_disconnect,
    failure_response,
    json_response,
    read_idempotency_key,
    read_json,
)
from cinder.api.schemas.crawl import CrawlArguments, crawl_checks
from cinder.api.schemas.extract import EXTRACT_CHECKS, ExtractArguments, answer_extract
from cinder.api.schemas.jobs import (
    JobResponses,
    WebhookArguments,
    describe_crawl_start,
    describe_job,
    describe_webhook_event,
    split_webhook,
    with_webhook_secret,
)
from cinder.api.schemas.map import STREAMED_URLS, MapArguments, describe_map, stream_map
from cinder.api.schemas.page import PAGE_CHECKS, PageArguments, PageBudget, answer_page
from cinder.api.schemas.search import (
    SearchAndScrapeArguments,
    SearchArguments,
    describe_scraped,
    describe_search,
)
from cinder.api.v1.events import (
    EVENT_STREAM,
    LAST_EVENT_ID,
    STREAM_HEADERS,
    OpenStreams,
    WatchedJobs,
    stream_events,
)
from cinder.app.composition import App
from cinder.errors import CinderError
from cinder.models.caller import TokenScope, require_domain
from cinder.models.document import Json
from cinder.models.job import Job, JobKind, PageStatus
from cinder.models.webhook import EventState
from cinder.services.export.base import ExportFormat, ExportRequest, read_request

A = TypeVar("A", bound=Arguments)
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response | dict[str, Json]]]
# Takes the parsed body and the id of the caller.
JsonHandler: TypeAlias = Callable[[object, str], Coroutine[None, None, dict[str, Json]]]

_PLURAL = {JobKind.CRAWL: "crawls", JobKind.BATCH: "batches"}


class ExportArguments(Arguments):
    """What of a job to export."""

    format: str = ExportFormat.JSONL.value
    """`jsonl`, `warc`, `parquet`, `zip` (one Markdown file a page) or `llms-full` (one text)."""
    include: Annotated[
        list[str],
        BeforeValidator(lambda v: [w for w in v.split(",") if w] if isinstance(v, str) else v),
    ] = Field(default_factory=list)
    """What else of each page: `html`, `raw`, `links`, `summary`, `extracted`, `screenshot`."""
    include_errors: StrictBool = False
    """Also the URLs that could not or must not be fetched, with their fate and reason."""
    images: StrictBool = False
    """Also the images of the pages, downloaded now; for `zip`."""

    def to_request(self) -> ExportRequest:
        """Return the export that these arguments ask for.

        Raises:
            InvalidRequest: a word is not known.
        """
        return read_request(
            self.format, self.include, include_errors=self.include_errors, images=self.images
        )


class ListArguments(Arguments):
    """How many jobs to list."""

    limit: Limit = DEFAULT_LIMIT
    """How many to list, newest first."""


class PaginationArguments(ListArguments):
    """Which entries of a list to return."""

    offset: Offset = 0
    """How many to skip; `nextOffset` of the last answer."""
    limit: Limit = DEFAULT_LIMIT
    """How many to return; fewer come where they would be too long together."""

    def part(self, app: App) -> Pagination:
        """Return which entries the response may hold."""
        return Pagination(self.offset, self.limit, app.settings.server.result_max_chars)


class StatusArguments(PaginationArguments):
    """Which pages of a job to return."""

    include_content: StrictBool = False
    """Return the pages with what was saved of them, as far as there is room."""


class LedgerArguments(PaginationArguments):
    """Which URLs of a job's ledger to return."""

    fate: PageStatus | None = None
    """Only URLs with this fate; all by default."""


class WebhookEventsArguments(PaginationArguments):
    """Which events for a job's webhook to list."""

    state: EventState = EventState.DEAD
    """`waiting`, `delivered`, or `dead`: given up, which /retry tries again."""


OPERATIONS = {
    "/v1/scrape": Operation(
        "Scrape one page: its content and its metadata",
        PageArguments,
        {"url": "https://example.com/"},
        PAGE,
    ),
    "/v1/search": Operation(
        "Search the web and everything that is saved",
        SearchArguments,
        {"query": "how to bank a fire overnight", "numResults": 5},
        SEARCH,
        tag="searching",
    ),
    "/v1/search-and-scrape": Operation(
        "Search, and scrape the first results",
        SearchAndScrapeArguments,
        {"query": "how to bank a fire overnight", "numResults": 3},
        SEARCH,
        tag="searching",
    ),
    "/v1/extract": Operation(
        "Extract data from pages, by a prompt, a JSON Schema or both, each value with its proof",
        ExtractArguments,
        {
            "urls": ["https://example.com/"],
            "prompt": "The page's name, and the link for more information",
            "schema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "moreInformation": {"type": "string", "format": "uri"},
                },
            },
        },
        EXTRACTED,
        tag="extracting",
    ),
    "/v1/map": Operation(
        "List the URLs of a site, without scraping its pages",
        MapArguments,
        {"url": "https://example.com/", "search": "pricing", "limit": 100},
        MAP,
    ),
    "/v1/crawl": Operation(
        "Start to explore a site in the background",
        CrawlArguments,
        {"url": "https://example.com/", "maxDepth": 3, "excludePatterns": ["/archive/"]},
        CRAWL,
        tag="jobs",
        more_models={"webhook": WebhookArguments},
    ),
}


def _lookups_of(kind: JobKind) -> dict[tuple[str, str], Lookup]:
    """Return the descriptions of the routes about one kind of job."""
    is_crawl, one = kind is JobKind.CRAWL, f"/v1/{kind}/{{id}}"
    jobs, status = (CRAWLS, CRAWL_STATUS) if is_crawl else (BATCHES, BATCH_STATUS)
    urls = "Every URL that was seen" if is_crawl else "Every URL of a batch"
    return {
        ("get", f"/v1/{_PLURAL[kind]}"): Lookup(
            f"List your {_PLURAL[kind]}, newest first", json_content(jobs), ListArguments
        ),
        ("get", one): Lookup(
            f"How far a {kind} is, and its pages", json_content(status), StatusArguments
        ),
        ("delete", one): Lookup(f"Cancel a {kind}", json_content(CANCELLED)),
        ("get", f"{one}/errors"): Lookup(
            "URLs that could not be fetched", json_content(ERRORS), PaginationArguments
        ),
        ("get", f"{one}/ledger"): Lookup(
            f"{urls}, with its fate and the reason", json_content(LEDGER), LedgerArguments
        ),
        ("get", f"{one}/events"): Lookup(
            f"Watch a {kind}: server-sent events until it is over", EVENTS
        ),
        ("get", f"{one}/export"): Lookup(
            f"A {kind}'s pages as JSONL, WARC, Parquet, files of Markdown or one text",
            EXPORT,
            ExportArguments,
        ),
        ("get", f"{one}/webhooks"): Lookup(
            f"Events for a {kind}'s webhook, by default those given up",
            json_content(WEBHOOK_EVENTS),
            WebhookEventsArguments,
        ),
        ("post", f"{one}/webhooks/retry"): Lookup(
            "Try events again that were given up", json_content(RETRIED)
        ),
    }


LOOKUPS = _lookups_of(JobKind.CRAWL) | _lookups_of(JobKind.BATCH)


def build_routes(app: App) -> list[Route]:
    """Return the routes of the first REST version."""
    max_chars = app.settings.server.result_max_chars

    async def scrape(raw: object, caller: str) -> dict[str, Json]:
        arguments = read_body(PageArguments, raw, *PAGE_CHECKS)
        outcome = await app.scrape.scrape(arguments.to_request(caller=caller))
        return await answer_page(outcome, arguments, PageBudget(max_chars))

    async def search(raw: object, caller: str) -> dict[str, Json]:
        arguments = read_body(SearchArguments, raw)
        answer = await app.search.search(arguments.to_request(caller=caller))
        return describe_search(answer, arguments.offset, max_chars)

    async def search_and_scrape(raw: object, caller: str) -> dict[str, Json]:
        arguments = read_body(SearchAndScrapeArguments, raw)
        request = arguments.to_request(caller=caller)
        found = await app.search_and_scrape.run(request, arguments.render)
        return await describe_scraped(found, max_chars)

    async def extract(raw: object, caller: str) -> dict[str, Json]:
        arguments = read_body(ExtractArguments, raw, *EXTRACT_CHECKS)
        answer = await app.extract.extract(arguments.to_request(caller=caller))
        # A part of the data would be of no use, so it may be as long as the longest page.
        return await answer_extract(answer, app.settings.server.result_max_chars_ceiling)

    async def map_site(request: Request) -> Response | dict[str, Json]:
        caller = caller_with_scope(request, TokenScope.SCRAPE)
        raw = await read_json(request, app.settings.limits)
        wanted = read_body(MapArguments, raw).to_request(caller=caller)
        found = await cancel_on_disconnect(request, app.site_map.map(wanted))
        if len(found.urls) <= STREAMED_URLS:
            return describe_map(found, wanted)
        return StreamingResponse(stream_map(found, wanted), media_type="application/json")

    async def start_crawl(request: Request) -> dict[str, Json]:
        caller = caller_with_scope(request, TokenScope.CRAWL)
        secret = app.settings.webhooks.secret.get_secret_value()
        body = await read_json(request, app.settings.limits)
        raw, webhook = split_webhook(body, default_secret=secret)
        arguments = read_body(CrawlArguments, raw, *crawl_checks(app.settings.jobs.max_pages))
        require_domain(caller_of(request).policy, arguments.url)
        key = read_idempotency_key(request, arguments.idempotency_key)
        job = await app.jobs.start_crawl(arguments.to_spec(), caller, key, webhook)
        return with_webhook_secret(describe_crawl_start(await app.jobs.report(job)), job, webhook)

    return [
        _post_json(app, "/v1/scrape", scrape),
        _post_json(app, "/v1/search", search),
        _post_json(app, "/v1/search-and-scrape", search_and_scrape),
        _post_json(app, "/v1/extract", extract),
        _make_route(app, "/v1/map", "map", map_site, method="POST"),
        _make_route(app, "/v1/crawl", "crawl_start", start_crawl, method="POST"),
        *_job_routes(app, JobKind.CRAWL),
        *_job_routes(app, JobKind.BATCH),
        *_job_output_routes(app, JobKind.CRAWL),
        *_job_output_routes(app, JobKind.BATCH),
    ]


def _make_route(
    app: App, path: str, command: str, endpoint: Endpoint, *, method: str = "GET"
) -> Route:
    """Return a route that answers with an endpoint's JSON or error, and counts its requests."""

    async def answer(request: Request) -> Response:
        outcome = "INTERNAL_ERROR"
        try:
            answered = await endpoint(request)
            outcome = "ok"
            return answered if isinstance(answered, Response) else json_response(answered)
        except CinderError as error:
            outcome = error.code
            return failure_response(error, {"error": describe_error(error)})
        finally:
            app.metrics.requests.labels("rest_v1", command, outcome).inc()

    return Route(path, answer, methods=[method])


def _post_json(app: App, path: str, handler: JsonHandler) -> Route:
    """Return a route that needs the scope `scrape` and stops when the caller disconnects."""

    async def answer(request: Request) -> dict[str, Json]:
        caller = caller_with_scope(request, TokenScope.SCRAPE)
        raw = await read_json(request, app.settings.limits)
        return await cancel_on_disconnect(request, handler(raw, caller))

    command = path.removeprefix("/v1/").replace("-", "_")
    return _make_route(app, path, command, answer, method="POST")


def _job_routes(app: App, kind: JobKind) -> list[Route]:
    """Return the routes of the jobs of one kind and their pages."""

    def responses_to(request: Request, scope: TokenScope = TokenScope.READ) -> JobResponses:
        return JobResponses(app.jobs, app.archive, caller_with_scope(request, scope))

    async def list_jobs(request: Request) -> dict[str, Json]:
        arguments = _read_query(ListArguments, request)
        caller = caller_with_scope(request, TokenScope.READ)
        jobs = await app.jobs.list_jobs(caller, kind, limit=arguments.limit)
        return {_PLURAL[kind]: [describe_job(job) for job in jobs]}

    async def status(request: Request) -> dict[str, Json]:
        query = _read_query(StatusArguments, request)
        return await responses_to(request).status(
            _id(request), kind, query.part(app), include_content=query.include_content
        )

    async def cancel(request: Request) -> dict[str, Json]:
        return await responses_to(request, TokenScope.CRAWL).cancel(_id(request), kind)

    async def errors(request: Request) -> dict[str, Json]:
        part = _read_query(PaginationArguments, request).part(app)
        return await responses_to(request).errors(_id(request), kind, part)

    async def ledger(request: Request) -> dict[str, Json]:
        query = _read_query(LedgerArguments, request)
        part = query.part(app)
        return await responses_to(request).ledger(_id(request), kind, query.fate, part)

    one = f"/v1/{kind}/{{id}}"
    return [
        _make_route(app, f"/v1/{_PLURAL[kind]}", f"{kind}_list", list_jobs),
        _make_route(app, one, f"{kind}_status", status),
        _make_route(app, one, f"{kind}_cancel", cancel, method="DELETE"),
        _make_route(app, f"{one}/errors", f"{kind}_errors", errors),
        _make_route(app, f"{one}/ledger", f"{kind}_ledger", ledger),
    ]


def _job_output_routes(app: App, kind: JobKind) -> list[Route]:
    """Return the routes of the events, exports and webhooks of one kind of jobs."""

    async def events(request: Request) -> Response:
        job = await _find_job(app, kind, request)
        # Clients reconnect when a stream ends; 204 stops them.
        if request.headers.get("last-event-id") == LAST_EVENT_ID and job.status.is_over:
            return Response(status_code=204)
        if request.method == "HEAD":  # it would wait for the end of the stream
            return Response(media_type=EVENT_STREAM, headers=STREAM_HEADERS)
        state = request.app.state
        streams: OpenStreams = state.streams
        watched: WatchedJobs = state.watched_jobs
        return streams.answer(job.owner, stream_events(watched.watch(job), state.stopping))

    async def export(request: Request) -> Response:
        spec = _read_query(ExportArguments, request).to_request()
        scope = TokenScope.SCRAPE if spec.images else TokenScope.READ
        job = await _find_job(app, kind, request, scope)
        name, media_type = f"{job.id}{spec.format.suffix}", spec.format.media_type
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        if request.method == "HEAD":
            return Response(media_type=media_type, headers=headers)
        chunks = aiter(app.exporter.export(job, spec))
        # An error at the start can still be answered; later, the stream can only break off.
        first = await anext(chunks, b"")

        async def stream() -> AsyncIterator[bytes]:
            yield first
            async for chunk in chunks:
                yield chunk

        return StreamingResponse(stream(), media_type=media_type, headers=headers)

    async def webhooks(request: Request) -> dict[str, Json]:
        query = _read_query(WebhookEventsArguments, request)
        job = await _find_job(app, kind, request)
        found = await app.webhooks.list_events(
            job.owner, job.id, query.state, offset=query.offset, limit=query.limit
        )
        return {"events": [describe_webhook_event(event) for event in found]}

    async def retry_webhooks(request: Request) -> dict[str, Json]:
        job = await _find_job(app, kind, request, TokenScope.CRAWL)
        return {"retried": await app.webhooks.retry_dead(job.owner, job.id)}

    one, retry = f"/v1/{kind}/{{id}}", f"{kind}_retry_webhooks"
    return [
        _make_route(app, f"{one}/events", f"{kind}_events", events),
        _make_route(app, f"{one}/export", f"{kind}_export", export),
        _make_route(app, f"{one}/webhooks", f"{kind}_webhooks", webhooks),
        _make_route(app, f"{one}/webhooks/retry", retry, retry_webhooks, method="POST"),
    ]


async def _find_job(
    app: App, kind: JobKind, request: Request, scope: TokenScope = TokenScope.READ
) -> Job:
    return await app.jobs.find(_id(request), kind, caller_with_scope(request, scope))


def _id(request: Request) -> str:
    return str(request.path_params["id"])


def _read_query(model: type[A], request: Request) -> A:
    return read_arguments(model, dict(request.query_params))

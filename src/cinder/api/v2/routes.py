"""POST /api/v2/scrape: one page, answered from prepared bytes where possible, or a batch command.

A repeated request body is parsed once. A cached response is encoded once as well: as long as the
store returns the same content, only its age changes. The caller's scope and the newest document are
checked for each request, before anything in memory is used.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from weakref import ref

from pydantic_core import to_json
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cinder.api.arguments import read_body
from cinder.api.errors import describe_error
from cinder.api.openapi import SCRAPED, Operation
from cinder.api.requests import (
    caller_of,
    cancel_on_disconnect,
    failure_response,
    parse_json,
    read_idempotency_key,
    read_json_body,
    require_scope,
)
from cinder.api.schemas.jobs import (
    JobResponses,
    WebhookArguments,
    describe_batch_start,
    split_webhook,
    with_webhook_secret,
)
from cinder.api.schemas.page_parts import with_page_metadata
from cinder.api.schemas.scrape import SCRAPE_CHECKS, Command, ScrapeArguments, answer_outcome
from cinder.app.composition import App
from cinder.errors import CinderError, InvalidRequest
from cinder.lru_cache import LruCache
from cinder.models.caller import TokenScope
from cinder.models.document import Extraction, Json
from cinder.models.job import JobKind
from cinder.models.request import Format, ScrapeRequest
from cinder.services.excerpt import TextWindow
from cinder.services.scraping.outcome import ScrapeOutcome

DEFAULT_FORMATS = (Format.MARKDOWN, Format.HTML)

_AGE_MEMBER = "cacheAge"
# Longer bodies are not cached: they list actions, selectors or text.
_MAX_BODY_BYTES = 4 * 1024
# The memory of a parsed request, without its body.
_REQUEST_BYTES = 4 * 1024
# Requests may take this fraction of the memory of responses.
_REQUESTS_SHARE = 8

# A caller's id and the body of their request.
_Key: TypeAlias = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page to scrape, and which part of it the response may hold."""

    request: ScrapeRequest
    window: TextWindow


@dataclass(frozen=True, slots=True)
class PreparedResponse:
    """A cached response, split at its age."""

    content: "ref[Extraction]"
    scraped_at: datetime
    before: bytes
    after: bytes

    @classmethod
    def of(cls, outcome: ScrapeOutcome, data: Mapping[str, Json]) -> "PreparedResponse":
        """Encode a response that has an age."""
        members = list(data.items())
        index = list(data).index(_AGE_MEMBER)
        # Neither piece is empty: a response begins with its URL and ends with its verdict.
        head, tail = dict(members[:index]), dict(members[index + 1 :])
        before = to_json(_envelope(head)).removesuffix(b"}}") + b',"cacheAge":'
        after = b"," + to_json(tail).removeprefix(b"{") + b"}"
        document = outcome.document
        return cls(ref(document.content), document.scraped_at, before, after)

    def is_of(self, outcome: ScrapeOutcome) -> bool:
        """Whether this encodes the outcome, whatever its age."""
        document = outcome.document
        return (
            self.content() is document.content
            and self.scraped_at == document.scraped_at
            and _is_repeatable(outcome)
        )

    def at_age(self, age_ms: int) -> bytes:
        """Return the whole response."""
        return b"%b%d%b" % (self.before, age_ms, self.after)


class PageResponses:
    """Scrapes single pages and returns encoded responses."""

    def __init__(self, app: App) -> None:
        self._app = app
        limits = app.settings.server
        self._max_chars = (limits.result_max_chars, limits.result_max_chars_ceiling)
        room = limits.answer_memory_bytes
        self._requests: LruCache[_Key, PageRequest] = LruCache(room // _REQUESTS_SHARE)
        self._answers: LruCache[_Key, PreparedResponse] = LruCache(room)

    def recall(self, caller: str, body: bytes) -> PageRequest | None:
        """Return the parsed request of a body that this caller sent before, if it is cached."""
        return self._requests.get((caller, body))

    def read(self, arguments: ScrapeArguments, caller: str, body: bytes) -> PageRequest:
        """Return the request of valid arguments, and cache it unless it may hold secrets."""
        request = arguments.to_request(caller=caller, default_formats=DEFAULT_FORMATS)
        page = PageRequest(request, arguments.window(*self._max_chars))
        has_secrets = request.is_private or request.headers or request.render.actions
        if not has_secrets and len(body) <= _MAX_BODY_BYTES:
            self._requests.put((caller, body), page, len(body) + _REQUEST_BYTES)
        return page

    async def answer(self, page: PageRequest, body: bytes) -> bytes:
        """Scrape the page of a request body and return the response.

        Raises:
            CinderError: the page could not be scraped.
        """
        outcome = await self._app.scrape.scrape(page.request)
        key = (page.request.caller, body)
        prepared = self._answers.get(key)
        if prepared is None or not prepared.is_of(outcome):
            described = await answer_outcome(outcome, page.request, page.window)
            data = with_page_metadata(described, outcome.document)
            if not _is_repeatable(outcome) or self._requests.get(key) is not page:
                return to_json(_envelope(data))
            prepared = PreparedResponse.of(outcome, data)
            size = sys.getsizeof(prepared.before) + sys.getsizeof(prepared.after) + len(body)
            self._answers.put(key, prepared, size)
        return prepared.at_age(outcome.age_ms)


def _envelope(data: Mapping[str, Json]) -> dict[str, Json]:
    return {"success": True, "command": Command.START.value, "data": data}


def _is_repeatable(outcome: ScrapeOutcome) -> bool:
    """Whether the next response with the same content differs only in its age."""
    is_plain = outcome.change is None and outcome.summary is None
    return outcome.cached and is_plain and not outcome.diagnostics.attempts


OPERATIONS = {
    "/api/v2/scrape": Operation(
        "Scrape one URL and return it, save it, or both; or start and manage a batch",
        ScrapeArguments,
        {"url": "https://example.com/", "formats": ["markdown", "links"]},
        SCRAPED,
        more_models={"webhook": WebhookArguments},
    )
}


def build_routes(app: App) -> list[Route]:
    """Return the routes of the second REST version."""
    pages = PageResponses(app)

    async def scrape(request: Request) -> Response:
        command, outcome = Command.START.value, "INTERNAL_ERROR"
        try:
            body, caller = await read_json_body(request), caller_of(request)
            is_plain = "idempotency-key" not in request.headers
            page = pages.recall(caller.id, body) if is_plain else None
            if page is not None:
                require_scope(caller, TokenScope.SCRAPE)
                work = pages.answer(page, body)
            else:
                raw = await parse_json(body, app.settings.limits)
                # Shown in the response, even if the request is invalid.
                named = raw.get("command") if isinstance(raw, Mapping) else None
                command = named if named in list(Command) else command
                work = _answer(app, pages, request, raw, body)
            answer = await cancel_on_disconnect(request, work)
            outcome = "ok"
            return Response(answer, media_type="application/json")
        except CinderError as error:
            outcome = error.code
            content: dict[str, Json] = {
                "success": False,
                "command": command,
                "error": describe_error(error),
            }
            return failure_response(error, content)
        finally:
            app.metrics.requests.labels("rest_v2", command, outcome).inc()

    return [Route("/api/v2/scrape", scrape, methods=["POST"])]


async def _answer(
    app: App, pages: PageResponses, request: Request, raw: object, body: bytes
) -> bytes:
    secret = app.settings.webhooks.secret.get_secret_value()
    raw, webhook = split_webhook(raw, default_secret=secret)
    arguments = read_body(ScrapeArguments, raw, *SCRAPE_CHECKS)
    key, caller = read_idempotency_key(request, arguments.idempotency_key), caller_of(request)
    if webhook is not None and not arguments.urls:
        raise InvalidRequest.at("webhook", "Only a batch, started with urls, has a webhook")
    if arguments.command is not Command.START:
        scope = TokenScope.CRAWL if arguments.command is Command.CANCEL else TokenScope.READ
        responses = JobResponses(app.jobs, app.archive, require_scope(caller, scope))
        job_id, limits = arguments.job_id or "", app.settings.server
        part = arguments.part(limits.result_max_chars, limits.result_max_chars_ceiling)
        match arguments.command:
            case Command.CANCEL:
                data = await responses.cancel(job_id, JobKind.BATCH)
            case Command.ERRORS:
                data = await responses.errors(job_id, JobKind.BATCH, part)
            case _:
                with_content = arguments.include_content
                data = await responses.status(
                    job_id, JobKind.BATCH, part, include_content=with_content
                )
    elif urls := arguments.urls:
        owner = require_scope(caller, TokenScope.CRAWL)
        batch = arguments.to_batch_request(caller=owner, default_formats=DEFAULT_FORMATS)
        started = await app.jobs.start_batch(urls, batch, key, webhook)
        data = with_webhook_secret(describe_batch_start(started, urls), started.job, webhook)
    else:
        page = pages.read(arguments, require_scope(caller, TokenScope.SCRAPE), body)
        return await pages.answer(page, body)
    return to_json({"success": True, "command": arguments.command, "data": data})

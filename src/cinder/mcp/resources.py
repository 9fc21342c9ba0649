"""MCP resources: saved pages and crawls, listed, read and subscribed to."""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from urllib.parse import parse_qsl, urlencode

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from pydantic import ValidationError

from cinder.api.arguments import MAX_LIMIT, Pagination
from cinder.api.requests import require_scope
from cinder.api.schemas.jobs import JobResponses
from cinder.api.schemas.page_parts import ReadingArguments, check_size
from cinder.api.schemas.scrape import MARKDOWN
from cinder.app.composition import App
from cinder.background import BackgroundTasks
from cinder.errors import CinderError, CrawlExpired, CrawlNotFound, Forbidden, InvalidRequest
from cinder.fair_queue import FairScheduler
from cinder.mcp.request_context import Context, caller_in, connection_of
from cinder.mcp.results import UNTRUSTED_META_KEY, note_annotations
from cinder.mcp.schema import CRAWL_URI_TEMPLATE, SAVED_URI_TEMPLATE
from cinder.models.caller import TokenScope
from cinder.models.job import JobKind
from cinder.models.saved import SavedBody, SavedKind, format_timestamp, parse_latest_uri
from cinder.services.excerpt import take_excerpt
from cinder.services.reading import DocumentView, read_markdown

PAGE_SIZE = 100
MAX_SUBSCRIPTIONS = 1_000

# Results of resources/read have no annotations in the protocol, unlike listings: they go here.
ANNOTATIONS_KEY = "cinder/annotations"

# The URI of the part after the one that was read.
NEXT_URI_KEY = "cinder/nextUri"

# Clients store resources, compare them and cite from them: the text has no boundary lines in it,
# and its metadata declares it untrusted.
_UNTRUSTED_META: dict[str, object] = {UNTRUSTED_META_KEY: True}
_MAX_NAME_CHARS = 100
_POLL_SECONDS = 1.0
_SUBSCRIPTIONS_KEY = "cinder/subscriptions"
_NUMBERS = ("startIndex", "maxChars", "maxTokens")
# The parameters have no slash, which is percent-encoded: a page's own query ends with its kind.
_WINDOW_URI = re.compile(
    rf"(.*/(?:{'|'.join(SavedKind)})_[^/?]{{1,40}})\?([^/]{{1,5000}})", re.DOTALL
)
_CRAWL_URI = re.compile(r"crawl://([!-.0-~]{1,100})(?:\?offset=([0-9]{1,7}))?")

log = structlog.get_logger()

SAVED_TEMPLATE = types.ResourceTemplate(
    name="saved-page",
    title="Saved page",
    uri_template=SAVED_URI_TEMPLATE,
    description=(
        "A page as it was saved at one time. page: host[:port]/path[?query]; kind: cleaned "
        "(markdown), raw, extracted or screenshot; timestamp: as in the savedUris of a scrape, or "
        "latest for the newest version, which can be subscribed to. A part of a text: startIndex "
        "and maxChars or maxTokens; of markdown also section (id or title) or query (only matching "
        "passages; startIndex skips some)."
    ),
    annotations=note_annotations(),
)

CRAWL_TEMPLATE = types.ResourceTemplate(
    name="crawl",
    title="Crawl",
    uri_template=CRAWL_URI_TEMPLATE,
    description=(
        "The progress of a crawl, and its pages from offset on, as JSON. Subscribe to it without "
        "offset to be notified of new pages."
    ),
    mime_type="application/json",
    annotations=note_annotations(),
)


class Resources:
    """Answers the `resources/…` requests."""

    def __init__(self, app: App, max_chars: int) -> None:
        self._archive = app.archive
        self._jobs = app.jobs
        self._max_chars = max_chars

    async def list_saved(
        self, context: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List saved pages, newest first.

        Raises:
            MCPError: the cursor is not one of this list, or the pages cannot be listed.
        """
        cursor = params.cursor if params else None
        if cursor is not None and (not cursor.isdecimal() or len(cursor) > 18):
            message = "Not a cursor of this list"
            raise MCPError(types.INVALID_PARAMS, message, {"cursor": cursor[:100]})
        before_id = None if cursor is None else int(cursor)
        # One more than a page holds tells whether another follows.
        try:
            caller = require_scope(caller_in(context), TokenScope.READ)
            found = await self._archive.list_saved(caller, before_id=before_id, limit=PAGE_SIZE + 1)
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error
        page = found[:PAGE_SIZE]
        # The title of a page may be any text: it is shown in one line.
        names = [" ".join((listing.title or listing.url).split()) for listing in page]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=listing.uri,
                    name=name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}…",
                    description=f"Saved from {listing.url}",
                    meta=_UNTRUSTED_META,
                    mime_type=listing.mime,
                    size=listing.size,
                    annotations=note_annotations(listing.saved_at),
                )
                for listing, name in zip(page, names, strict=True)
            ],
            next_cursor=str(page[-1].id) if len(found) > PAGE_SIZE else None,
        )

    async def list_templates(
        self, _context: ServerRequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the URI templates of saved pages and crawls."""
        return types.ListResourceTemplatesResult(
            resource_templates=[SAVED_TEMPLATE, CRAWL_TEMPLATE]
        )

    async def read(
        self, context: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a saved page, or the progress of a crawl.

        Raises:
            MCPError: there is none under this URI, or the URI is of another kind.
        """
        uri = params.uri
        try:
            caller = require_scope(caller_in(context), TokenScope.READ)
            if crawl := parse_crawl_uri(uri):
                return await self._read_crawl(uri, *crawl, caller)
            page, part = parse_window(uri)
            body = await self._archive.read(page, caller)
        except (ValueError, CrawlNotFound, CrawlExpired) as error:
            raise MCPError(types.INVALID_PARAMS, str(error), {"uri": uri}) from None
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message, {"uri": uri}) from error
        if body is None:
            message = "Nothing is saved under this URI; it may have expired. Scrape the page again."
            raise MCPError(types.INVALID_PARAMS, message, {"uri": uri})
        contents: types.TextResourceContents | types.BlobResourceContents
        meta = _meta(note_annotations(body.saved_at))
        if body.data is not None:
            blob = base64.b64encode(body.data).decode()
            contents = types.BlobResourceContents(
                uri=body.uri, mime_type=body.mime, blob=blob, meta=meta
            )
        else:
            try:
                text, next_uri = read_part(body, part, self._max_chars)
            except InvalidRequest as error:
                raise MCPError(types.INVALID_PARAMS, error.message, {"uri": uri}) from None
            contents = types.TextResourceContents(
                # The part that was asked for, of the version that was found.
                uri=f"{body.uri}{uri.removeprefix(page)}",
                mime_type=body.mime,
                text=text,
                meta=meta | ({NEXT_URI_KEY: next_uri} if next_uri else {}),
            )
        if parse_latest_uri(page):
            return types.ReadResourceResult(contents=[contents], ttl_ms=0)
        return types.ReadResourceResult(contents=[contents])

    async def _read_crawl(
        self, uri: str, crawl_id: str, offset: int, caller: str
    ) -> types.ReadResourceResult:
        answers = JobResponses(self._jobs, self._archive, caller)
        part = Pagination(offset, MAX_LIMIT, self._max_chars)
        data = await answers.status(crawl_id, JobKind.CRAWL, part)
        # A running crawl may have changed just now.
        modified = data.get("completedAt", format_timestamp(datetime.now(UTC)))
        contents = types.TextResourceContents(
            uri=uri,
            mime_type="application/json",
            text=json.dumps(data, ensure_ascii=False),
            meta=_meta(note_annotations().model_copy(update={"last_modified": modified})),
        )
        # Unlike a saved version, it changes.
        return types.ReadResourceResult(contents=[contents], ttl_ms=0)


def parse_crawl_uri(uri: str) -> tuple[str, int] | None:
    """Return the crawl and the offset of a `crawl://` URI; None for other URIs."""
    found = _CRAWL_URI.fullmatch(uri)
    return (found[1], int(found[2] or 0)) if found else None


def parse_window(uri: str) -> tuple[str, ReadingArguments]:
    """Return the URI of a saved page, and the part of it that the parameters after it name.

    Raises:
        ValueError: there is no such parameter, or it has no such value.
    """
    found = _WINDOW_URI.fullmatch(uri)
    if found is None:
        return uri, ReadingArguments()
    given = dict(parse_qsl(found[2], keep_blank_values=True))
    numbers = {name: int(given[name]) for name in _NUMBERS if given.get(name, "").isdecimal()}
    try:
        part = ReadingArguments.model_validate(given | numbers)
    except ValidationError as error:
        names = sorted({str(problem["loc"][0]) for problem in error.errors()})
        raise ValueError(
            f"The parameters {', '.join(names)} do not name a part of a saved page: it takes "
            "startIndex, maxChars or maxTokens, section and query"
        ) from None
    if problem := next(iter(check_size(given)), None):
        raise ValueError(problem.message)
    return found[1], part


def read_part(body: SavedBody, part: ReadingArguments, max_chars: int) -> tuple[str, str | None]:
    """Return a part of a saved text, with a note where it is cut, and the URI of the next part.

    Raises:
        InvalidRequest: there is no such section, or the text is not markdown.
    """
    window = part.window(max_chars, max_chars)
    text = body.text or ""
    if body.mime == MARKDOWN:
        view = read_markdown(text, window)
    elif window.is_narrowed:
        raise InvalidRequest("Only markdown has sections and passages: leave section and query out")
    else:
        view = DocumentView(excerpt=take_excerpt(text, window))
    excerpt = view.excerpt
    notes = [] if view.passages is None else list(view.notices)
    if excerpt.was_truncated:
        notes.append(f"Characters {excerpt.start} to {excerpt.end} of {excerpt.total} are shown.")
    next_uri = None
    if view.next_start is not None:
        asked = part.model_dump(by_alias=True, exclude_none=True) | {"startIndex": view.next_start}
        next_uri = f"{body.uri}?{urlencode(asked)}"
        notes.append(f"resources/read of {next_uri} goes on.")
    return (f"{excerpt.text}\n\n[{' '.join(notes)}]" if notes else excerpt.text), next_uri


def _meta(annotations: types.Annotations) -> dict[str, object]:
    data = annotations.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {**_UNTRUSTED_META, ANNOTATIONS_KEY: data}


@dataclass(frozen=True, slots=True)
class _ResourceState:
    """The state of a resource at one time."""

    version: str
    content: str
    """Changes when there is something new to read; the version may change more often."""


@dataclass(slots=True, eq=False)
class _Subscription:
    """A caller's subscription to a resource."""

    uri: str
    caller: str
    notify: Callable[[], Awaitable[None]]
    seen: _ResourceState


class ResourceSubscriptions:
    """Answers subscriptions of handshake-era and modern clients, and polls for changes.

    Any process that shares the database may change a resource, so the database is polled, as long
    as there are subscriptions.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._subscriptions: set[_Subscription] = set()
        self._has_subscriptions = asyncio.Event()
        self._streams: set[InMemorySubscriptionBus] = set()
        self._shares = FairScheduler()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Poll for changes until the exit."""
        async with BackgroundTasks() as tasks:
            tasks.start(self._poll_forever())
            try:
                yield
            finally:
                tasks.cancel_all()

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Notify a handshake-era client until it unsubscribes or disconnects.

        Raises:
            MCPError: the resource cannot be subscribed to, or there are too many subscriptions.
        """
        connection, session = connection_of(context), context.session
        own: dict[str, _Subscription] = connection.state.setdefault(_SUBSCRIPTIONS_KEY, {})
        if params.uri not in own:
            notify = partial(session.send_resource_updated, params.uri)
            own[params.uri] = await self._add(context, params.uri, notify)
            connection.exit_stack.callback(self._drop, own[params.uri])
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Stop notifying a handshake-era client of a resource."""
        own: dict[str, _Subscription] = connection_of(context).state.get(_SUBSCRIPTIONS_KEY, {})
        if subscription := own.pop(params.uri, None):
            self._drop(subscription)
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Notify a modern client as long as its request is open.

        Raises:
            MCPError: a resource cannot be subscribed to, or there are too many subscriptions.
        """
        # Each request has a bus of its own: events of other callers must not reach it.
        bus = InMemorySubscriptionBus()
        added: list[_Subscription] = []
        self._streams.add(bus)
        try:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                notify = partial(bus.publish, ResourceUpdated(uri=uri))
                added += [await self._add(context, uri, notify)]
            return await ListenHandler(bus)(context, params)
        finally:
            self._streams.discard(bus)
            for subscription in added:
                self._drop(subscription)

    async def publish(self, event: ServerEvent) -> None:
        """Send an event to every modern client that listens for its kind."""
        for bus in tuple(self._streams):
            await bus.publish(event)

    async def _add(
        self, context: Context, uri: str, notify: Callable[[], Awaitable[None]]
    ) -> _Subscription:
        try:
            caller = require_scope(caller_in(context), TokenScope.READ)
            self._require_room(caller)
            seen = await self.look(uri, caller)
        except CinderError as error:
            raise MCPError(types.INVALID_PARAMS, error.message, {"uri": uri}) from None
        # Others may have been added meanwhile.
        self._require_room(caller)
        subscription = _Subscription(uri, caller, notify, seen)
        self._subscriptions.add(subscription)
        self._has_subscriptions.set()
        return subscription

    def _require_room(self, caller: str) -> None:
        self._shares.note_asking(caller)
        limit = self._shares.most_for_one(MAX_SUBSCRIPTIONS)
        if sum(other.caller == caller for other in self._subscriptions) >= limit:
            message = f"{limit} resources are subscribed to by you, as many as one caller may have"
            raise MCPError(types.INTERNAL_ERROR, f"{message}. Unsubscribe from some first")
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            raise MCPError(types.INTERNAL_ERROR, "Too many resources are subscribed to; try later")

    def _drop(self, subscription: _Subscription) -> None:
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._has_subscriptions.clear()

    async def _poll_forever(self) -> None:
        while True:
            await self._has_subscriptions.wait()
            await asyncio.sleep(_POLL_SECONDS)
            for subscription in tuple(self._subscriptions):
                before = subscription.seen
                try:
                    seen = await self.look(subscription.uri, subscription.caller, before)
                    subscription.seen = seen
                    if seen.content != before.content:
                        await subscription.notify()
                except Forbidden:
                    self._drop(subscription)  # its token was revoked
                except CinderError as error:
                    log.warning("a subscription was not checked", reason=error.message)
                except Exception:
                    log.exception("a subscriber could not be notified", uri=subscription.uri)
                    self._drop(subscription)

    async def look(
        self, uri: str, caller: str, before: _ResourceState | None = None
    ) -> _ResourceState:
        """Return the current state of a resource; an unchanged page is not read again.

        Raises:
            CinderError: there is no such crawl, or the database failed.
            MCPError: it is not a resource that changes.
        """
        if crawl := parse_crawl_uri(uri):
            job = await self._app.jobs.find(crawl[0], JobKind.CRAWL, caller)
            report = await self._app.jobs.report(job)
            return _ResourceState(job.status, f"{job.status} {report.finished}")
        latest = parse_latest_uri(uri)
        if latest is None:
            message = (
                "Only what changes can be subscribed to: a crawl as crawl://id, or a page's newest "
                "version as scrape://host/path/cleaned_latest"
            )
            raise MCPError(types.INVALID_PARAMS, message, {"uri": uri})
        newest = await self._app.archive.find_latest(latest[0], caller)
        version = format_timestamp(newest.saved_at) if newest else ""
        if before is not None and before.version == version:
            return before
        body = await self._app.archive.read(uri, caller)
        content = (body.data or (body.text or "").encode()) if body else b""
        return _ResourceState(version, hashlib.sha256(content).hexdigest())

"""MCP resources: saved pages and crawls, listed, read and subscribed to.

Work is done by any process that shares the database, so that is where news are looked for.
"""

import asyncio
import base64
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from cinder.api.requests import require_scope
from cinder.api.schemas.jobs import MAX_LIMIT, JobResponses, Pagination
from cinder.app import App
from cinder.background import BackgroundTasks
from cinder.errors import CinderError, CrawlExpired, CrawlNotFound, Forbidden
from cinder.fair_queue import FairScheduler
from cinder.mcp.request_context import caller_in, connection_of
from cinder.mcp.results import UNTRUSTED_META_KEY, note_annotations
from cinder.models.caller import TokenScope
from cinder.models.job import JobKind
from cinder.models.saved import SavedBody, SavedListing, format_timestamp, parse_latest_uri
from cinder.services.excerpt import TextWindow, take_excerpt

PAGE_SIZE = 100

# A resource is what was saved, to the letter: clients store it, compare it and cite from it. So its
# text has no marks in it, and is declared untrusted beside it.
_UNTRUSTED_META: dict[str, object] = {UNTRUSTED_META_KEY: True}
# What was read has no annotations in the protocol, unlike what is listed: they go here.
ANNOTATIONS_KEY = "cinder/annotations"
_MAX_NAME_CHARS = 100

SAVED_TEMPLATE = types.ResourceTemplate(
    name="saved-page",
    title="Saved page",
    uri_template="scrape://{+page}/{kind}_{timestamp}",
    description=(
        "A page as it was saved at a moment. page: host[:port]/path[?query]; kind: cleaned "
        "(markdown), raw, extracted or screenshot; timestamp: as in the savedUris of a scrape, or "
        "latest for the newest version, which can be subscribed to."
    ),
    annotations=note_annotations(),
)

CRAWL_TEMPLATE = types.ResourceTemplate(
    name="crawl",
    title="Crawl",
    uri_template="crawl://{id}{?offset}",
    description=(
        "How far a crawl is, and its pages from offset on, as JSON. Subscribe to it without offset "
        "to be told of new pages."
    ),
    mime_type="application/json",
    annotations=note_annotations(),
)

_CRAWL_URI = re.compile(r"crawl://([!-.0-~]{1,100})(?:\?offset=([0-9]{1,7}))?")


class Resources:
    """Answers the `resources/…` requests."""

    def __init__(self, app: App, max_chars: int) -> None:
        self._archive = app.archive
        self._jobs = app.jobs
        self._max_chars = max_chars

    async def list_saved(
        self, context: ServerRequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List saved pages, newest first."""
        before_id = _read_cursor(params.cursor if params else None)
        # One more than a page holds tells whether another follows.
        try:
            caller = require_scope(caller_in(context), TokenScope.READ)
            found = await self._archive.list_saved(caller, before_id=before_id, limit=PAGE_SIZE + 1)
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message) from error
        page = found[:PAGE_SIZE]
        return types.ListResourcesResult(
            resources=[_describe_listing(listing) for listing in page],
            next_cursor=str(page[-1].id) if len(found) > PAGE_SIZE else None,
        )

    async def list_templates(
        self, _context: ServerRequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """List the forms that URIs of saved pages and of crawls have."""
        return types.ListResourceTemplatesResult(
            resource_templates=[SAVED_TEMPLATE, CRAWL_TEMPLATE]
        )

    async def read(
        self, context: ServerRequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a saved body whole, or how far a crawl is.

        Raises:
            MCPError: there is none under this URI, or it is not a URI of this kind.
        """
        try:
            caller = require_scope(caller_in(context), TokenScope.READ)
            if crawl := parse_crawl_uri(params.uri):
                return await self._read_crawl(params.uri, *crawl, caller)
            body = await self._archive.read(params.uri, caller)
        except ValueError as error:
            raise _not_found(params.uri, str(error)) from None
        except (CrawlNotFound, CrawlExpired) as error:
            raise _not_found(params.uri, error.message) from None
        except CinderError as error:
            raise MCPError(types.INTERNAL_ERROR, error.message, {"uri": params.uri}) from error
        if body is None:
            message = "Nothing is saved under this URI; it may have expired. Scrape the page again."
            raise _not_found(params.uri, message)
        contents = [self._contents(body)]
        if parse_latest_uri(params.uri):
            return types.ReadResourceResult(contents=contents, ttl_ms=0)
        return types.ReadResourceResult(contents=contents)

    async def _read_crawl(
        self, uri: str, crawl_id: str, offset: int, caller: str
    ) -> types.ReadResourceResult:
        answers = JobResponses(self._jobs, self._archive, caller)
        data = await answers.crawl_status(crawl_id, Pagination(offset, MAX_LIMIT, self._max_chars))
        text = json.dumps(data, ensure_ascii=False)
        # While it goes on, it is as it is now.
        modified = data.get("completedAt", format_timestamp(datetime.now(UTC)))
        meta = _meta(note_annotations().model_copy(update={"last_modified": modified}))
        contents = types.TextResourceContents(
            uri=uri, mime_type="application/json", text=text, meta=meta
        )
        # Unlike a saved version, it goes on.
        return types.ReadResourceResult(contents=[contents], ttl_ms=0)

    def _contents(self, body: SavedBody) -> types.TextResourceContents | types.BlobResourceContents:
        meta = _meta(note_annotations(body.saved_at))
        if body.data is not None:
            blob = base64.b64encode(body.data).decode()
            return types.BlobResourceContents(
                uri=body.uri, mime_type=body.mime, blob=blob, meta=meta
            )
        text = self._fit(body.text or "", body.url)
        return types.TextResourceContents(uri=body.uri, mime_type=body.mime, text=text, meta=meta)

    def _fit(self, text: str, url: str) -> str:
        excerpt = take_excerpt(text, TextWindow(0, self._max_chars))
        if not excerpt.was_truncated:
            return text
        return (
            f"{excerpt.text}\n\n[Cut after {excerpt.end} of {excerpt.total} characters. For the "
            f"rest call the tool scrape with url {url} and startIndex {excerpt.end}.]"
        )


def parse_crawl_uri(uri: str) -> tuple[str, int] | None:
    """Return the crawl and the offset that a `crawl://` URI names; None for other URIs."""
    found = _CRAWL_URI.fullmatch(uri)
    return (found[1], int(found[2] or 0)) if found else None


def _meta(annotations: types.Annotations) -> dict[str, object]:
    told = annotations.model_dump(by_alias=True, mode="json", exclude_none=True)
    return {**_UNTRUSTED_META, ANNOTATIONS_KEY: told}


def _describe_listing(listing: SavedListing) -> types.Resource:
    return types.Resource(
        uri=listing.uri,
        name=_shorten_name(listing.title or listing.url),
        description=f"Saved from {listing.url}",
        meta=_UNTRUSTED_META,
        mime_type=listing.mime,
        size=listing.size,
        annotations=note_annotations(listing.saved_at),
    )


def _shorten_name(name: str) -> str:
    """Return a name in one line; a page may have written anything into its title."""
    line = " ".join(name.split())
    return line if len(line) <= _MAX_NAME_CHARS else f"{line[:_MAX_NAME_CHARS]}…"


def _read_cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not cursor.isdecimal() or len(cursor) > 18:
        raise MCPError(types.INVALID_PARAMS, "Not a cursor of this list", {"cursor": cursor[:100]})
    return int(cursor)


def _not_found(uri: str, message: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, message, {"uri": uri})


MAX_SUBSCRIPTIONS = 1_000

_POLL_SECONDS = 1.0
_SUBSCRIPTIONS_KEY = "cinder/subscriptions"

log = structlog.get_logger()

Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it


@dataclass(frozen=True, slots=True)
class _ResourceState:
    """What a resource is at a moment."""

    version: str
    content: str
    """Changes when there is something new to read; the version may do so more often."""


@dataclass(slots=True, eq=False)
class _Subscription:
    """Somebody who wants to be told of a resource."""

    uri: str
    caller: str
    tell: Callable[[], Awaitable[None]]
    seen: _ResourceState = field(default_factory=lambda: _ResourceState("", ""))


class ResourceSubscriptions:
    """Answers subscriptions of both eras, and looks for news for as long as there are any."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._subscriptions: set[_Subscription] = set()
        self._is_wanted = asyncio.Event()
        self._streams: set[InMemorySubscriptionBus] = set()
        self._shares = FairScheduler()

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Look for news until the exit."""
        async with BackgroundTasks() as tasks:
            tasks.start(self._look_forever())
            try:
                yield
            finally:
                tasks.cancel_all()

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell a client of the older era from now on, until it unsubscribes or is gone.

        Raises:
            MCPError: this cannot be subscribed to, or too much is already.
        """
        connection, session = connection_of(context), context.session
        own: dict[str, _Subscription] = connection.state.setdefault(_SUBSCRIPTIONS_KEY, {})
        if params.uri not in own:
            own[params.uri] = await self._add(
                context, params.uri, lambda: session.send_resource_updated(params.uri)
            )
            connection.exit_stack.callback(self._drop, own[params.uri])
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Tell a client of the older era no longer."""
        own: dict[str, _Subscription] = connection_of(context).state.get(_SUBSCRIPTIONS_KEY, {})
        if subscription := own.pop(params.uri, None):
            self._drop(subscription)
        return types.EmptyResult()

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Tell a client of the newer era for as long as its request is open.

        Raises:
            MCPError: something of it cannot be subscribed to, or too much is already.
        """
        # One for each request: nobody is told of what another caller may see.
        bus = InMemorySubscriptionBus()
        added: list[_Subscription] = []
        self._streams.add(bus)
        try:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                added += [await self._add(context, uri, _publisher(bus, uri))]
            return await ListenHandler(bus)(context, params)
        finally:
            self._streams.discard(bus)
            for subscription in added:
                self._drop(subscription)

    async def publish(self, event: ServerEvent) -> None:
        """Tell every client of the newer era that listens for events of this kind."""
        for bus in tuple(self._streams):
            await bus.publish(event)

    async def _add(
        self, context: Context, uri: str, tell: Callable[[], Awaitable[None]]
    ) -> _Subscription:
        try:
            caller = require_scope(caller_in(context), TokenScope.READ)
            self._require_room(caller)
            seen = await self.look(uri, caller)
        except CinderError as error:
            raise MCPError(types.INVALID_PARAMS, error.message, {"uri": uri}) from None
        # Others may have come while it was looked at.
        self._require_room(caller)
        subscription = _Subscription(uri, caller, tell, seen)
        self._subscriptions.add(subscription)
        self._is_wanted.set()
        return subscription

    def _require_room(self, caller: str) -> None:
        self._shares.note_asking(caller)
        most = self._shares.most_for_one(MAX_SUBSCRIPTIONS)
        if sum(each.caller == caller for each in self._subscriptions) >= most:
            message = f"{most} resources are subscribed to by you, as many as one caller may have"
            raise MCPError(types.INTERNAL_ERROR, f"{message}. Unsubscribe from some first")
        if len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            raise MCPError(types.INTERNAL_ERROR, "Too many resources are subscribed to; try later")

    def _drop(self, subscription: _Subscription) -> None:
        self._subscriptions.discard(subscription)
        if not self._subscriptions:
            self._is_wanted.clear()

    async def _look_forever(self) -> None:
        while True:
            await self._is_wanted.wait()
            await asyncio.sleep(_POLL_SECONDS)
            for subscription in tuple(self._subscriptions):
                try:
                    await self._look_at(subscription)
                except Forbidden:
                    self._drop(subscription)  # its token was revoked
                except CinderError as error:
                    log.warning("a subscription was not looked at", reason=error.message)
                except Exception:
                    log.exception("a subscriber could not be told", uri=subscription.uri)
                    self._drop(subscription)

    async def _look_at(self, subscription: _Subscription) -> None:
        before = subscription.seen
        subscription.seen = await self.look(subscription.uri, subscription.caller, before)
        if subscription.seen.content != before.content:
            await subscription.tell()

    async def look(
        self, uri: str, caller: str, before: _ResourceState | None = None
    ) -> _ResourceState:
        """Return what a resource is now, reading no more than its changes since before need.

        Raises:
            CinderError: there is no such crawl, or the database failed.
            MCPError: it is nothing that changes.
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


def _publisher(bus: InMemorySubscriptionBus, uri: str) -> Callable[[], Awaitable[None]]:
    return lambda: bus.publish(ResourceUpdated(uri=uri))

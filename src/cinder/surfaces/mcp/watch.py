"""Subscriptions: clients are told when a crawl has new pages or a saved page has changed.

Work is done by any process that shares the database, so that is where news are looked for.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types as types
import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ServerEvent
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated

from cinder.app import App
from cinder.background import BackgroundTasks
from cinder.errors import CinderError, Forbidden
from cinder.model.caller import Scope
from cinder.model.job import JobKind
from cinder.model.saved import format_timestamp, parse_latest_uri
from cinder.shares import Shares
from cinder.surfaces.caller import require_scope
from cinder.surfaces.mcp.caller import caller_in
from cinder.surfaces.mcp.connection import connection_of
from cinder.surfaces.mcp.resources import parse_crawl_uri

MAX_SUBSCRIPTIONS = 1_000

_LOOK_SECONDS = 1.0
_STATE_KEY = "cinder/subscriptions"

log = structlog.get_logger()

Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it


@dataclass(frozen=True, slots=True)
class _State:
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
    seen: _State = field(default_factory=lambda: _State("", ""))


class Watch:
    """Answers subscriptions of both eras, and looks for news for as long as there are any."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._subscriptions: set[_Subscription] = set()
        self._is_wanted = asyncio.Event()
        self._streams: set[InMemorySubscriptionBus] = set()
        self._shares = Shares()

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
        own: dict[str, _Subscription] = connection.state.setdefault(_STATE_KEY, {})
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
        own: dict[str, _Subscription] = connection_of(context).state.get(_STATE_KEY, {})
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
                added += [await self._add(context, uri, _publishing(bus, uri))]
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
            caller = require_scope(caller_in(context), Scope.READ)
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
            await asyncio.sleep(_LOOK_SECONDS)
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

    async def look(self, uri: str, caller: str, before: _State | None = None) -> _State:
        """Return what a resource is now, reading no more than its changes since before need.

        Raises:
            CinderError: there is no such crawl, or the database failed.
            MCPError: it is nothing that changes.
        """
        if crawl := parse_crawl_uri(uri):
            job = await self._app.jobs.find(crawl[0], JobKind.CRAWL, caller)
            report = await self._app.jobs.report(job)
            return _State(job.status, f"{job.status} {report.finished}")
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
        return _State(version, hashlib.sha256(content).hexdigest())


def _publishing(bus: InMemorySubscriptionBus, uri: str) -> Callable[[], Awaitable[None]]:
    return lambda: bus.publish(ResourceUpdated(uri=uri))

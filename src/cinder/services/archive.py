"""The archive: saved pages read by URI or listed, and deleted when they expire."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import structlog

from cinder.models.caller import CallerPolicy, is_place_within, is_url_within
from cinder.models.document import Document
from cinder.models.job import Job
from cinder.models.saved import (
    SavedBody,
    SavedKind,
    SavedListing,
    Version,
    parse_latest_uri,
    parse_saved_uri,
)
from cinder.store.document_reads import EntrySummary
from cinder.store.documents import Store
from cinder.store.ledger.outbox import EventEmitter

_LATEST_TRIED = 10
_LOOK = 1_000
_MAX_LOOKS = 50


class ReadRights:
    """Which saved pages a caller may read: a token for some domains reads only their pages."""

    def __init__(self, store: Store, policy_of: Callable[[str], Awaitable[CallerPolicy]]) -> None:
        """Take the store, and a lookup of the policy of a caller's token."""
        self._store = store
        self._policy_of = policy_of

    async def domains_of(self, caller: str) -> tuple[str, ...]:
        """Return the only domains whose pages a caller may read; empty for all.

        Raises:
            Forbidden: the caller's token was revoked.
        """
        return (await self._policy_of(caller)).domains

    async def may_read(self, version: Version, caller: str) -> bool:
        """Whether a caller may read a version: by its requested and its final URL.

        Raises:
            Forbidden: the caller's token was revoked.
        """
        domains = await self.domains_of(caller)
        if not domains:
            return True
        if not is_place_within(version.place, domains):
            return False
        (saved,) = await self._store.find_versions([version], caller, with_raw=False)
        return saved is not None and is_url_within(saved.document.final_url, domains)


class Archive:
    """Reads saved pages for a caller, as far as the caller's token allows."""

    def __init__(self, store: Store, rights: ReadRights) -> None:
        self._store = store
        self._rights = rights

    async def read(self, uri: str, caller: str) -> SavedBody | None:
        """Return the saved body of a `scrape://` URI; None if there is none.

        The URI of the latest version selects the newest of the last few that has such a body,
        without versions that a caller's own headers, selectors, actions or prompt shaped.

        Raises:
            ValueError: it is not such a URI.
        """
        if latest := parse_latest_uri(uri):
            place, kind = latest
            newest = await self._store.list_versions(
                place, caller, limit=_LATEST_TRIED, plain_only=True
            )
            for version in newest:
                if body := await self._read(version, kind, caller):
                    return body
            return None
        version, kind = parse_saved_uri(uri)
        return await self._read(version, kind, caller)

    async def read_document(self, uri: str, caller: str, *, with_raw: bool) -> Document | None:
        """Return the saved version that a URI names; None if there is none."""
        version, _ = parse_saved_uri(uri)
        if not await self._rights.may_read(version, caller):
            return None
        (saved,) = await self._store.find_versions([version], caller, with_raw=with_raw)
        return None if saved is None else saved.document

    async def _read(self, version: Version, kind: SavedKind, caller: str) -> SavedBody | None:
        if not await self._rights.may_read(version, caller):
            return None
        return await self._store.read(version, kind, caller)

    async def list_saved(
        self, caller: str, *, before_id: int | None = None, limit: int = 100
    ) -> list[SavedListing]:
        """Return saved pages, newest first, with ids below one.

        For a token with domains the search covers a limited number of pages.
        """
        domains = await self._rights.domains_of(caller)
        if not domains:
            return await self._store.list_saved(caller, before_id=before_id, limit=limit)
        found: list[SavedListing] = []
        for _ in range(_MAX_LOOKS):
            listed = await self._store.list_saved(caller, before_id=before_id, limit=_LOOK)
            found += [listing for listing in listed if is_url_within(listing.url, domains)]
            if len(found) >= limit or len(listed) < _LOOK:
                break
            before_id = listed[-1].id
        return found[:limit]

    async def list_versions(self, place: str, caller: str, *, limit: int) -> list[Version]:
        """Return the versions of one page, newest first."""
        if not is_place_within(place, await self._rights.domains_of(caller)):
            return []
        return await self._store.list_versions(place, caller, limit=limit)

    async def find_latest(self, place: str, caller: str) -> Version | None:
        """Return the newest version that no caller's own options shaped; None if there is none."""
        if not is_place_within(place, await self._rights.domains_of(caller)):
            return None
        found = await self._store.list_versions(place, caller, limit=1, plain_only=True)
        return found[0] if found else None

    async def list_places(self, beginning: str, caller: str, *, limit: int) -> list[str]:
        """Return recently saved pages whose paths begin so, the newest first."""
        domains = await self._rights.domains_of(caller)
        places = await self._store.list_places(beginning, caller, limit=limit)
        return [place for place in places if is_place_within(place, domains)]

    async def list_entries(self, url: str) -> list[EntrySummary]:
        """Return the cache entries of a URL."""
        return await self._store.list_entries(url)

    async def forget(self, url: str) -> int:
        """Delete everything saved of a URL; return the number of cache entries."""
        return await self._store.invalidate_url(url)


log = structlog.get_logger()


async def expire_forever(
    store: Store,
    interval_seconds: float,
    emitter_of: Callable[[Job], EventEmitter | None],
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:
    """Delete expired data in regular intervals, until cancelled."""
    while True:
        try:
            if deleted := await store.delete_expired(clock()):
                log.info("expired versions deleted", count=deleted)
            if dropped := await store.ledger.drop_expired(clock(), emitter_of=emitter_of):
                log.info("the pages of expired jobs are no longer listed", jobs=dropped)
            await store.counts.drop_old()
        # A worker's outermost loop: the next round may succeed.
        except Exception:
            log.exception("expired data could not be deleted")
        await asyncio.sleep(interval_seconds)

"""The archive: everything saved, read back by its URI or listed."""

from cinder.model.saved import (
    SavedBody,
    SavedKind,
    SavedListing,
    Version,
    parse_latest_uri,
    parse_saved_uri,
)
from cinder.store.base import EntrySummary, Store

_LATEST_TRIED = 10


class Archive:
    """Reads saved pages for a caller."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, uri: str, caller: str) -> SavedBody | None:
        """Return the saved body that a `scrape://` URI names; None where there is none.

        Raises:
            ValueError: it is not such a URI.
        """
        if latest := parse_latest_uri(uri):
            return await self._read_latest(*latest, caller)
        version, kind = parse_saved_uri(uri)
        return await self._store.read(version, kind, caller)

    async def list_saved(
        self, caller: str, *, before_id: int | None = None, limit: int = 100
    ) -> list[SavedListing]:
        """Return saved pages, newest first, from below an id."""
        return await self._store.list_saved(caller, before_id=before_id, limit=limit)

    async def list_versions(self, place: str, caller: str, *, limit: int) -> list[Version]:
        """Return the versions of one page, newest first."""
        return await self._store.list_versions(place, caller, limit=limit)

    async def find_latest(self, place: str, caller: str) -> Version | None:
        """Return the newest version of a page as anybody would get it; None where there is none."""
        found = await self._store.list_versions(place, caller, limit=1, plain_only=True)
        return found[0] if found else None

    async def list_places(self, beginning: str, caller: str, *, limit: int) -> list[str]:
        """Return the pages lately saved whose places begin so, the newest first."""
        return await self._store.list_places(beginning, caller, limit=limit)

    async def _read_latest(self, place: str, kind: SavedKind, caller: str) -> SavedBody | None:
        """Return the body of the newest version that has one of this kind, among the last few.

        What a caller's own headers, selectors, actions or prompt shaped is not what the page is.
        """
        newest = await self._store.list_versions(
            place, caller, limit=_LATEST_TRIED, plain_only=True
        )
        for version in newest:
            if body := await self._store.read(version, kind, caller):
                return body
        return None

    async def list_entries(self, url: str) -> list[EntrySummary]:
        """Return what the cache holds for a URL."""
        return await self._store.list_entries(url)

    async def forget(self, url: str) -> int:
        """Delete everything kept of a URL; return how many cache entries went."""
        return await self._store.invalidate_url(url)

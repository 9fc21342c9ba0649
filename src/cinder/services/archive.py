"""The archive: everything saved, read back by its URI or listed."""

from cinder.model.saved import SavedBody, SavedListing, parse_saved_uri
from cinder.store.base import EntrySummary, Store


class Archive:
    """Reads saved pages for a caller."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def read(self, uri: str, caller: str) -> SavedBody | None:
        """Return the saved body that a `scrape://` URI names; None where there is none.

        Raises:
            ValueError: it is not such a URI.
        """
        version, kind = parse_saved_uri(uri)
        return await self._store.read(version, kind, caller)

    async def list_saved(
        self, caller: str, *, before_id: int | None = None, limit: int = 100
    ) -> list[SavedListing]:
        """Return saved pages, newest first, from below an id."""
        return await self._store.list_saved(caller, before_id=before_id, limit=limit)

    async def list_entries(self, url: str) -> list[EntrySummary]:
        """Return what the cache holds for a URL."""
        return await self._store.list_entries(url)

    async def forget(self, url: str) -> int:
        """Delete everything kept of a URL; return how many cache entries went."""
        return await self._store.invalidate_url(url)

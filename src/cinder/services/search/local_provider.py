"""The local provider: cinder's own memory, searched like any other."""

from typing import Protocol

from cinder.model.saved import Version
from cinder.model.search import LOCAL, SearchHit
from cinder.search.base import ProviderQuery
from cinder.store.index_base import IndexQuery, PageIndex


class Rights(Protocol):
    """Which of the pages that are kept a caller may see; `ReadRights` tells."""

    async def domains_of(self, caller: str) -> tuple[str, ...]:
        """Return the only domains whose pages a caller may read; none where all may be read."""
        ...

    async def may_read(self, version: Version, caller: str) -> bool:
        """Whether a caller may read a version."""
        ...


class LocalProvider:
    """Finds pages that are kept."""

    name = LOCAL

    def __init__(self, index: PageIndex, rights: Rights) -> None:
        self._index = index
        self._rights = rights

    async def search(self, query: ProviderQuery) -> list[SearchHit]:
        """Return what it finds, the best first.

        Raises:
            CacheFailed: the index could not be read.
            Forbidden: the caller's token was revoked.
        """
        pages = await self._index.search(
            IndexQuery(
                text=query.text,
                caller=query.caller,
                offset=query.page * query.count,
                limit=query.count,
                filters=query.filters,
                domains=await self._rights.domains_of(query.caller),
            )
        )
        return [
            SearchHit(
                url=page.url,
                title=page.title,
                summary=page.passage,
                published_at=page.published_at,
                first_seen_at=page.first_seen_at,
                score=page.score,
            )
            for page in pages
            if await self._rights.may_read(page.version, query.caller)
        ]

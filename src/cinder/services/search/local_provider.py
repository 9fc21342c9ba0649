"""The local provider: cinder's own memory, searched like any other."""

from cinder.model.search import LOCAL, SearchHit
from cinder.search.base import ProviderQuery
from cinder.store.index_base import IndexQuery, PageIndex


class LocalProvider:
    """Finds pages that are kept."""

    name = LOCAL

    def __init__(self, index: PageIndex) -> None:
        self._index = index

    async def search(self, query: ProviderQuery) -> list[SearchHit]:
        """Return what it finds, the best first.

        Raises:
            CacheFailed: the index could not be read.
        """
        pages = await self._index.search(
            IndexQuery(
                text=query.text,
                caller=query.caller,
                offset=query.page * query.count,
                limit=query.count,
                filters=query.filters,
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
        ]

"""Pages to look for."""

from dataclasses import replace
from datetime import datetime

from cinder.models.document import PageMetadata, Verdict, VerdictKind
from cinder.models.saved import SavedDocument
from cinder.models.search import SearchFilters
from cinder.store.documents import Store
from cinder.store.index.page_index import IndexedPage, IndexQuery
from tests.store.samples import NOW, a_document, a_key

FIRES = "How fires spread through dry grass, and how fast the flames travel uphill in the wind."
GLASS = "Blowing glass by the fire of an open furnace: tools, colours, and how to cool the pieces."
TIDES = "The moon pulls the water of the sea, and the tides follow it around the earth."


async def save_page(
    store: Store,
    path: str,
    text: str,
    *,
    title: str = "",
    site: str = "https://example.com",
    owner: str | None = None,
    published: str | None = None,
    verdict: VerdictKind = VerdictKind.OK,
    scraped_at: datetime = NOW,
    expires_at: datetime | None = None,
) -> SavedDocument:
    document = a_document(url=f"{site}/{path}", scraped_at=scraped_at)
    metadata = PageMetadata(title=title, published=published)
    content = replace(document.content, markdown=text, metadata=metadata)
    document = replace(document, content=content, verdict=Verdict(verdict))
    key = a_key(f"{site}/{path} {owner}", owner=owner, expires_at=expires_at)
    return await store.save(document, key)


async def find(
    store: Store,
    text: str,
    filters: SearchFilters | None = None,
    *,
    caller: str = "anyone",
    offset: int = 0,
    limit: int = 20,
) -> list[IndexedPage]:
    query = IndexQuery(
        text=text,
        caller=caller,
        offset=offset,
        limit=limit,
        filters=filters or SearchFilters(),
    )
    return await store.index.search(query)


async def find_paths(
    store: Store,
    text: str,
    filters: SearchFilters | None = None,
    *,
    caller: str = "anyone",
    offset: int = 0,
    limit: int = 20,
) -> list[str]:
    found = await find(store, text, filters, caller=caller, offset=offset, limit=limit)
    return [page.url.split("/", 3)[3] for page in found]

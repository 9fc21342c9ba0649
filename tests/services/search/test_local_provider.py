from cinder.model.request import OWNER
from cinder.search.base import ProviderQuery
from cinder.services.search.local_provider import LocalProvider
from tests.services.search.doubles import NOW, AllRights, MemoryIndex


async def test_saved_pages_are_hits_page_by_page() -> None:
    index = MemoryIndex()
    for number in range(5):
        index.add(f"https://a.example/{number}", f"Coals {number}", "Of coals.")
    provider = LocalProvider(index, AllRights())
    query = ProviderQuery(text="coals", caller=OWNER, page=1, count=2)
    found = await provider.search(query)
    assert [hit.url for hit in found] == ["https://a.example/2", "https://a.example/3"]
    assert (found[0].title, found[0].summary) == ("Coals 2", "Of coals.")
    assert found[0].first_seen_at == NOW

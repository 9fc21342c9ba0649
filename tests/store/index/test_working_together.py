"""Pages are saved while others search: nobody is locked out, and no page is lost."""

from cinder.store import Store
from tests.store.index.searching import save_while_searching


async def test_pages_are_saved_while_searches_run(store: Store) -> None:
    outcome = await save_while_searching(store, pages=300, searches_per_second=50)
    assert outcome.problems == []
    assert outcome.searches > 0

"""Ordering: meaning moves pages that match by their words."""

from collections import Counter
from collections.abc import Sequence

import pytest

from cinder.store import Store, open_store
from cinder.store.index.ordering import MAX_COMPARED, Meaning, Ranked, order_by_meaning
from tests.store.index.samples import find_paths, save_page
from tests.store.samples import Clock

SEA = ("ocean", "sea", "tide", "water")
FIRE = ("fire", "flame", "furnace", "heat")


class Subjects:
    """An embedder that knows two subjects by their words."""

    def embed(self, title: str, text: str) -> bytes:
        counts = Counter(f"{title} {text}".lower().replace(".", "").split())
        return bytes(min(255, sum(counts[word] for word in words)) for words in (SEA, FIRE))

    def compare(self, query: bytes, pages: Sequence[bytes]) -> list[float]:
        return [
            float(sum(a * b for a, b in zip(query, page, strict=True))) / (sum(page) or 1)
            for page in pages
        ]


def test_without_a_meaning_the_order_stays() -> None:
    ranked = [Ranked(1, 9.0), Ranked(2, 3.0)]
    assert order_by_meaning(ranked, None) == ranked
    assert order_by_meaning(ranked, Meaning(b"\x01\x00", Subjects())) == ranked
    assert order_by_meaning([], Meaning(b"\x01\x00", Subjects())) == []


def test_a_page_that_means_the_same_moves_up() -> None:
    ranked = [Ranked(1, 10.0, b"\x00\x05"), Ranked(2, 9.5, b"\x05\x00"), Ranked(3, 2.0)]
    ordered = order_by_meaning(ranked, Meaning(b"\x01\x00", Subjects()))
    assert [page.id for page in ordered] == [2, 1, 3]
    assert 10.0 >= ordered[0].score > ordered[1].score > ordered[2].score >= 2.0


def test_pages_far_down_keep_their_place() -> None:
    ranked = [Ranked(number, 1000.0 - number, b"\x01\x01") for number in range(MAX_COMPARED)]
    last = Ranked(MAX_COMPARED, 1.0, b"\x09\x00")
    assert order_by_meaning([*ranked, last], Meaning(b"\x01\x00", Subjects()))[-1] == last


@pytest.mark.parametrize("is_rebuilt", [False, True])
async def test_an_index_with_an_embedder_ranks_by_meaning(
    store_url: str, *, is_rebuilt: bool
) -> None:
    observe = lambda _name, _seconds: None  # noqa: E731
    async with open_store(store_url, pool_size=2, observe=observe, clock=Clock()) as plain:
        assert not plain.index.has_embeddings
        if is_rebuilt:
            await save_pages(plain)
    with_meaning = open_store(
        store_url, pool_size=2, observe=observe, clock=Clock(), embedder=Subjects()
    )
    async with with_meaning as store:
        assert store.index.has_embeddings
        if not is_rebuilt:
            await save_pages(store)
        else:
            assert await find_paths(store, "glass ocean") == ["furnace", "bottle", "vase"]
            await store.index.rebuild()
        assert await find_paths(store, "glass ocean") == ["bottle", "furnace", "vase"]


async def save_pages(store: Store) -> None:
    await save_page(store, "furnace", "Glass glass glass in the fire of the furnace.")
    await save_page(store, "bottle", "Glass glass on the tide of the sea water.")
    await save_page(store, "vase", f"A vase of glass. {'Nothing of the kind is told. ' * 20}")

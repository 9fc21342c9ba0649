"""The cache that is bounded in bytes."""

from cinder.lru_cache import LruCache, bytes_in_memory
from cinder.models.document import Extraction, PageMetadata


def test_the_least_recently_used_goes_first() -> None:
    recent: LruCache[str, int] = LruCache(80)
    for number, key in enumerate("abcdefgh"):
        recent.put(key, number, 10)
    assert recent.get("a") == 0
    recent.put("i", 8, 10)
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (0, None, 2)
    assert len(recent) == 8


def test_a_value_that_is_put_again_counts_once() -> None:
    recent: LruCache[str, int] = LruCache(80)
    for number in range(20):
        recent.put("a", number, 10)
    recent.put("b", 1, 10)
    assert (recent.get("a"), recent.get("b")) == (19, 1)


def test_a_large_value_evicts_nothing_and_takes_the_place_of_none() -> None:
    recent: LruCache[str, int] = LruCache(80)
    recent.put("a", 1, 10)
    recent.put("b", 1, 10)
    recent.put("b", 2, 11)
    assert (recent.get("a"), recent.get("b")) == (1, None)


def test_without_room_nothing_is_kept() -> None:
    recent: LruCache[str, int] = LruCache(0)
    recent.put("a", 1, 1)
    assert recent.get("a") is None


def test_a_value_takes_what_all_its_parts_take() -> None:
    deep: object = "x" * 1_000
    for _ in range(10_000):
        deep = [deep]
    empty = bytes_in_memory(Extraction())
    full = Extraction(
        text="x" * 10_000,
        links=("https://a.example/" + "y" * 5_000,),
        metadata=PageMetadata(json_ld=({"deep": "z" * 2_000},)),
    )
    assert empty + 17_000 < bytes_in_memory(full) < empty + 18_000
    assert bytes_in_memory(deep) > 10_000 * 56

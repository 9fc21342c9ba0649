"""Kept maps: which answer the next part, and how many are kept."""

from cinder.models.request import OWNER
from cinder.models.site_map import MAX_URLS, MappedUrl, MapSource
from cinder.services.jobs.specs import MapRequest
from cinder.services.kept_maps import (
    KEPT_SECONDS,
    MAP_WEIGHT,
    MAX_KEPT_WEIGHT,
    KeptMaps,
    MadeMap,
)

URL = MappedUrl("https://site.test/", MapSource.PAGE)
EMPTY = MadeMap([], ("None of the URLs has a word of the search.",), is_whole=True)
LARGEST = MadeMap([URL] * MAX_URLS, (), is_whole=True)


def a_search(words: str, offset: int = 0) -> MapRequest:
    return MapRequest(url=URL.url, caller=OWNER, search=words, offset=offset)


def test_searches_that_find_nothing_do_not_add_up_without_end() -> None:
    maps = KeptMaps(lambda: 0.0)
    most = MAX_KEPT_WEIGHT // MAP_WEIGHT
    for number in range(most + 10):
        maps.keep(a_search(str(number)), EMPTY)

    assert len(maps) == most
    assert maps.find(a_search("9", offset=1)) is None
    assert maps.find(a_search("10", offset=1)) is EMPTY


def test_maps_that_are_too_old_are_dropped_when_one_is_added() -> None:
    now = 0.0
    maps = KeptMaps(lambda: now)
    maps.keep(a_search("first"), LARGEST)
    now = KEPT_SECONDS
    maps.keep(a_search("second"), EMPTY)
    assert len(maps) == 2

    now += 1
    maps.keep(a_search("third"), EMPTY)
    assert len(maps) == 2
    assert maps.find(a_search("first", offset=1)) is None
    assert maps.find(a_search("second", offset=1)) is EMPTY


def test_a_map_that_is_made_again_replaces_the_one_before() -> None:
    maps = KeptMaps(lambda: 0.0)
    for _ in range(10):
        maps.keep(a_search("ash"), LARGEST)
    maps.keep(a_search("embers"), LARGEST)

    assert len(maps) == 2
    assert maps.find(a_search("ash", offset=1)) is LARGEST


def test_of_large_maps_the_last_are_kept() -> None:
    maps = KeptMaps(lambda: 0.0)
    for words in ("ash", "embers", "soot"):
        maps.keep(a_search(words), LARGEST)

    assert len(maps) == 2
    assert maps.find(a_search("ash", offset=1)) is None

"""Bounds on endless spaces."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.addresses import read_address
from cinder.crawl.templates import TemplateKind
from cinder.crawl.traps import TrapBounds, TrapCounter, find_shape_trap
from tests.crawl.reading import address_at

BOUNDS = TrapBounds()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/a/b/a/b/a/b", "trap: the path repeats itself"),
        ("/x/en/en/en/y", "trap: the path repeats itself"),
        ("/a/1/a/2/a/3/a/4", "trap: the path repeats itself"),
        ("/".join(map(str, range(30))), "trap: more than 25 path segments"),
        ("/" + "x" * 2_000, "trap: longer than 2000 characters"),
        ("/?" + "&".join(f"p{n}" for n in range(13)), "trap: more than 12 query parameters"),
    ],
)
def test_some_addresses_are_traps_by_their_shape(path: str, reason: str) -> None:
    assert find_shape_trap(address_at(f"https://e.com/{path.lstrip('/')}"), BOUNDS) == reason


@pytest.mark.parametrize(
    "path",
    [
        "/a/b/a/b",
        "/2024/01/01/01/01",
        "/src/main/java/com/e/main/Main.java",
        "/a/ab/abc/a",
        "/?" + "&".join(f"p{n}" for n in range(12)),
    ],
)
def test_ordinary_shapes_pass(path: str) -> None:
    assert find_shape_trap(address_at(f"https://e.com{path}"), BOUNDS) is None


def taken(urls: list[str], counter: TrapCounter) -> list[str]:
    return [url for url in urls if counter.judge(address_at(url)) is None]


def test_a_large_shop_and_its_journal_pass_whole() -> None:
    urls = [f"https://e.com/product/{number}" for number in range(10_000)]
    urls += [f"https://e.com/p/oak-{number}-logs?variant={number}" for number in range(5_000)]
    urls += [f"https://e.com/2024/05/title-{number}" for number in range(2_000)]
    urls += [f"https://e.com/viewtopic.php?t={number}" for number in range(5_000)]
    urls += [f"https://e.com/all?page={number}" for number in range(500)]
    assert taken(urls, TrapCounter(BOUNDS)) == urls


def test_a_calendar_ends() -> None:
    counter = TrapCounter(BOUNDS)
    urls = [f"https://e.com/calendar?month={year}-5" for year in range(1000, 1100)]
    assert taken(urls, counter) == urls[:50]
    reason = counter.judge(address_at("https://e.com/calendar?month=1&view=week"))
    assert reason == "trap: more than 50 URLs like /calendar?month=*"


def test_combinations_of_facets_end_whichever_are_set() -> None:
    names = ("color", "size", "brand", "price", "rating")
    urls = [
        f"https://e.com/shoes?{one}={value}&{other}={value}"
        for value in range(100)
        for one in names
        for other in names
        if one < other
    ]
    assert len(taken(urls, TrapCounter(BOUNDS))) == 200


def test_a_counter_goes_on_where_another_stopped() -> None:
    first = TrapCounter(replace(BOUNDS, parameters=3))
    urls = [f"https://e.com/?id={number}" for number in range(5)]
    assert taken(urls[:2], first) == urls[:2]
    assert list(first.counts.values()) == [2]
    second = TrapCounter(replace(BOUNDS, parameters=3), first.counts)
    assert taken(urls[2:], second) == urls[2:3]


@pytest.mark.parametrize("kind", TemplateKind)
def test_every_kind_of_template_has_a_bound(kind: TemplateKind) -> None:
    assert BOUNDS.limit_of(kind) > 0


@given(st.text(alphabet="ab1/-&=?%2024.", max_size=80))
def test_any_address_is_judged(rest: str) -> None:
    address = read_address(f"https://e.com/{rest}")
    assert address is not None
    reason = TrapCounter(BOUNDS).judge(address)
    assert reason is None or reason.startswith("trap: ")

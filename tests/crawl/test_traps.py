"""Crawler traps and URL templates."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.traps import TemplateKind, TrapCounter, TrapLimits, find_shape_trap, template_of
from cinder.crawl.urls import canonicalize_url
from tests.crawl.samples import canonical

BOUNDS = TrapLimits()


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
    assert find_shape_trap(canonical(f"https://e.com/{path.lstrip('/')}"), BOUNDS) == reason


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
    assert find_shape_trap(canonical(f"https://e.com{path}"), BOUNDS) is None


def taken(urls: list[str], counter: TrapCounter) -> list[str]:
    return [url for url in urls if counter.judge(canonical(url)) is None]


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
    reason = counter.judge(canonical("https://e.com/calendar?month=1&view=week"))
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
    address = canonicalize_url(f"https://e.com/{rest}")
    assert address is not None
    reason = TrapCounter(BOUNDS).judge(address)
    assert reason is None or reason.startswith("trap: ")


@pytest.mark.parametrize(
    ("path", "kind", "shown"),
    [
        ("/calendar?month=2024-05", "calendar", "/calendar?month=*"),
        ("/calendar?month=5&view=list", "calendar", "/calendar?month=*"),
        ("/x?from=2024-05-01&a=b", "calendar", "/x?from=*"),
        ("/events/2024/05", "calendar", "/events/*/*"),
        ("/2024/05/?attendees=3", "calendar", "/*/*/?attendees=*"),
        ("/journal/2024-05-12", "dated path", "/journal/*"),
        ("/2024/may/12/", "dated path", "/*/may/*/"),
        ("/shoes?color=red&size=9", "facets", "/shoes?*"),
        ("/shoes?size=9&sort=price&page=2", "facets", "/shoes?*"),
        ("/shoes?f%5B0%5D=a", "facets", "/shoes?*"),
        ("/x?a=1&b=2&c=3&d=4&e=5&f=6", "facets", "/x?*"),
        ("/index.php?option=a&view=b&id=5", "combinations", "/index.php?*"),
        ("/list?page=7", "page numbers", "/list?page=*"),
        ("/blog/page/7", "page numbers", "/blog/page/*"),
        ("/viewtopic.php?t=12", "parameters", "/viewtopic.php?t=*"),
        ("/product/17?variant=3", "parameters", "/product/*?variant=*"),
        ("/a/5f2b8c1d-77aa-4c1e/?x2=1", "parameters", "/a/*/?x*=*"),
    ],
)
def test_what_is_made_by_one_rule_has_one_template(path: str, kind: str, shown: str) -> None:
    found = template_of(canonical(f"https://e.com{path}"))
    assert found is not None
    assert (found.kind, found.shown) == (TemplateKind(kind), shown)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/product/12345",
        "/p/red-shoes-12345",
        "/2024/05/how-to-burn-oak",
        "/2024/05/12/how-to-burn-oak",
        "/2024/marathon",
        "/reports/2024",
        "/docs/v2/api",
    ],
)
def test_paths_that_lead_to_pages_need_no_template(path: str) -> None:
    assert template_of(canonical(f"https://e.com{path}")) is None


def test_each_host_has_templates_of_its_own() -> None:
    one, other = (template_of(canonical(f"https://{host}/?id=1")) for host in ("a.com", "b.com"))
    assert one is not None
    assert other is not None
    assert one.key != other.key

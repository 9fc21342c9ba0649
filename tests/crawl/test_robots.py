"""Robots rules, robots directives, and the links of a page."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protego import Protego

from cinder.crawl.robots import (
    MAX_BYTES,
    MAX_CRAWL_DELAY_SECONDS,
    MAX_LINKS,
    MAX_SITEMAPS,
    USER_AGENT,
    RobotsAccess,
    RobotsFile,
    RobotsRules,
    choose_links,
    may_follow_links,
    retry_delay,
)
from tests.crawl.samples import canonical

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def robots(body: bytes, status_code: int | None = 200) -> RobotsFile:
    url = "https://e.com/robots.txt"
    return RobotsFile(url=url, status_code=status_code, fetched_at=NOW, body=body)


def allowed(body: bytes, *paths: str) -> list[bool]:
    rules = RobotsRules(robots(body))
    return [rules.judge(f"https://e.com{path}") is None for path in paths]


def test_the_longest_rule_counts_and_allow_wins_a_tie() -> None:
    body = b"\xef\xbb\xbfUser-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /*.pdf$\nAllow: /a\n"
    assert allowed(body, "/a", "/a/b", "/x.pdf", "/x.pdf?1", "/") == [True, True, False, True, True]


@pytest.mark.parametrize("name", ["cinder", "Cinder", "cinder/1.0", "CINDER*"])
def test_rules_for_cinder_stand_in_for_those_for_all(name: str) -> None:
    body = f"User-agent: *\nDisallow: /\n\nUser-agent: x\nUser-agent: {name}\nDisallow: /c\n"
    assert allowed(body.encode(), "/", "/c") == [True, False]


@pytest.mark.parametrize("name", ["cin", "cinderella", "others", "c"])
def test_rules_for_others_are_not_for_cinder(name: str) -> None:
    assert allowed(f"User-agent: {name}\nDisallow: /".encode(), "/") == [True]


@pytest.mark.parametrize(
    ("status_code", "access"),
    [
        (200, RobotsAccess.BY_RULES),
        (204, RobotsAccess.BY_RULES),
        (301, RobotsAccess.ALL),
        (401, RobotsAccess.ALL),
        (404, RobotsAccess.ALL),
        (429, RobotsAccess.WAIT),
        (500, RobotsAccess.WAIT),
        (503, RobotsAccess.WAIT),
        (None, RobotsAccess.WAIT),
    ],
)
def test_the_status_tells_what_may_be_fetched(
    status_code: int | None, access: RobotsAccess
) -> None:
    file = robots(b"User-agent: *\nDisallow: /", status_code)
    assert file.access is access
    rules = RobotsRules(file)
    assert rules.must_wait == (access is RobotsAccess.WAIT)
    assert (rules.judge("https://e.com/") is None) == (access is RobotsAccess.ALL)


def test_a_refusal_says_why() -> None:
    reasons = [
        RobotsRules(robots(b"User-agent: *\nDisallow: /", status)).judge("https://e.com/x")
        for status in (200, 503, None)
    ]
    assert reasons == [
        "disallowed by robots.txt",
        "disallowed by robots.txt for now: it answered 503",
        "disallowed by robots.txt for now: it could not be reached",
    ]


def test_the_crawl_delay_is_bounded() -> None:
    def delay(value: str) -> float | None:
        body = f"User-agent: *\nCrawl-delay: {value}".encode()
        return RobotsRules(robots(body)).crawl_delay_seconds

    assert delay("2.5") == 2.5
    assert delay("86400") == MAX_CRAWL_DELAY_SECONDS
    assert [delay(value) for value in ("-1", "nan", "inf", "soon")] == [None] * 4


def test_sitemaps_are_web_addresses_and_few() -> None:
    body = b"Sitemap: https://cdn.com/s.xml\nSitemap: /local.xml\nSitemap: ftp://x/\n"
    rules = RobotsRules(robots(body))
    assert rules.sitemaps == ("https://cdn.com/s.xml", "https://e.com/local.xml")
    many = b"".join(b"Sitemap: /%d.xml\n" % number for number in range(500))
    assert len(RobotsRules(robots(many)).sitemaps) == MAX_SITEMAPS


def test_what_is_beyond_the_limit_is_not_read() -> None:
    start = b"User-agent: *\nDisallow: /a\n"
    body = start + b"#" * (MAX_BYTES - len(start)) + b"\nDisallow: /b\n"
    assert allowed(body, "/a", "/b") == [False, True]


def test_thousands_of_agents_with_thousands_of_rules_are_read() -> None:
    agents = b"".join(b"User-agent: bot%d\n" % number for number in range(10_000))
    body = agents + b"User-agent: *\n" + b"Disallow:/x\n" * 20_000
    assert allowed(body, "/x", "/y") == [False, True]


def test_rules_are_fresh_for_a_day() -> None:
    file = robots(b"")
    assert file.is_fresh(NOW + timedelta(hours=23))
    assert not file.is_fresh(NOW + timedelta(hours=24))


def test_the_wait_for_robots_grows_to_an_hour() -> None:
    waits = [retry_delay(failures).total_seconds() for failures in (0, 1, 2, 3, 8, 1_000)]
    assert waits == [30, 30, 60, 120, 3_600, 3_600]


@given(st.binary(max_size=300), st.text(alphabet="/a*$%?#1", max_size=20))
def test_any_file_gives_rules(body: bytes, path: str) -> None:
    for prefix in (b"", b"User-agent: *\nDisallow: "):
        reason = RobotsRules(robots(prefix + body)).judge(f"https://e.com/{path}")
        assert reason in (None, "disallowed by robots.txt")


PAGE = canonical("https://e.com/page")


def test_links_are_addresses_each_once_without_the_page_itself() -> None:
    links = [
        "https://e.com/a?utm_source=x",
        "https://e.com/a",
        "https://e.com/page?gclid=1",
        "mailto:a@e.com",
        "https://b.com/",
    ]
    chosen = [address.url for address in choose_links(links, PAGE)]
    assert chosen == ["https://e.com/a", "https://b.com/"]


def test_no_more_links_than_the_limit_are_looked_at() -> None:
    links = (f"https://e.com/{number}" for number in range(MAX_LINKS + 10))
    assert len(choose_links(links, PAGE)) == MAX_LINKS


@pytest.mark.parametrize(
    ("directives", "may_follow"),
    [
        (None, True),
        ("", True),
        ("index, follow, max-snippet:-1", True),
        ("NoIndex", True),
        ("noindex; NoFollow", False),
        ("none", False),
        ("otherbot: noindex, nofollow", True),
        ("otherbot: noindex, cinder: nofollow", False),
        ("unavailable_after: Wed, 25 Jun 2030 15:00:00 PST, nofollow", False),
    ],
)
def test_a_page_says_whether_its_links_may_be_followed(
    directives: str | None, *, may_follow: bool
) -> None:
    assert may_follow_links(directives) is may_follow


_PATHS = st.text(alphabet="ab/*$%4?=", max_size=8).map(lambda rest: f"/{rest}")


@given(
    st.lists(st.tuples(st.sampled_from(["Disallow", "Allow", "disalow"]), _PATHS), max_size=6),
    st.lists(st.text(alphabet="ab/%4?=", max_size=8), min_size=1, max_size=4),
)
def test_the_quick_answer_is_that_of_the_rules(
    lines: list[tuple[str, str]], paths: list[str]
) -> None:
    body = "User-agent: *\n" + "".join(f"{name}: {path}\n" for name, path in lines)
    rules, slow = RobotsRules(robots(body.encode())), Protego.parse(body)
    for path in paths:
        url = f"https://e.com/{path}"
        assert (rules.judge(url) is None) == slow.can_fetch(url, USER_AGENT)


def test_allowed_pages_without_wildcards_are_named() -> None:
    body = b"User-agent: *\nAllow: /a\nallow: /b$\nAllow: /*.css\nDisallow: /c\nAllow: x\n"
    assert RobotsRules(robots(body)).named_pages == ("https://e.com/a", "https://e.com/b")
    assert RobotsRules(robots(body, 404)).named_pages == ()

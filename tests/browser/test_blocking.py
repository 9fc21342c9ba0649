import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.browser.blocking import (
    CURATED_LIST,
    Blocklist,
    FilterRule,
    ListLimits,
    PageBlocking,
    SkipReason,
    parse_rule,
    read_lists,
    resource_patterns,
)
from cinder.browser.tab import Tab
from tests.browser.bare_chromium import open_tab, show

LIMITS = ListLimits()


def blocklist(*lines: str, limits: ListLimits = LIMITS) -> Blocklist:
    parsed = [parse_rule(line) for line in lines]
    rules = [rule for rule in parsed if isinstance(rule, FilterRule)]
    assert len(rules) == len(lines)
    return Blocklist(rules, limits)


def test_lists_are_read_together_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text("[Adblock Plus 2.0]\n! a\n||a.example^\n##.ad\n###ad\n")
    two.write_text("||a.example^\n||b.example^$popup\n/x[0-9]/\n||b.example/x\n")
    lists = read_lists([one, two], LIMITS)
    assert lists.rules == (
        FilterRule(host="a.example", path="/"),
        FilterRule(host="b.example", path="/x"),
    )
    assert lists.skipped == Counter(
        {SkipReason.COSMETIC: 2, SkipReason.OPTION: 1, SkipReason.SYNTAX: 1}
    )


def test_a_list_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"absent\.txt"):
        read_lists([tmp_path / "absent.txt"], LIMITS)


def test_a_list_that_is_too_large_is_named(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("||a.example^\n")
    with pytest.raises(ValueError, match=r"large\.txt"):
        read_lists([tmp_path / "large.txt"], ListLimits(max_file_bytes=5))


def test_past_the_limit_hosts_are_for_the_proxy_and_the_rest_is_counted() -> None:
    lines = ("/adserver/x", "||a.example^", "||b.example/x", "||c.example^", "||d.example^")
    limits = ListLimits(max_hosts_in_page=1, max_rules_in_page=1)
    listed = blocklist(*lines, "@@||d.example^", limits=limits)
    assert [rule.host for rule in listed.rules] == ["a.example", ""]
    assert (listed.hosts, listed.left_out) == (frozenset({"c.example"}), 1)
    assert listed.has_host("x.c.example", "news.example")
    assert not listed.has_host("x.c.example", "c.example")
    assert not listed.has_host("cc.example", "news.example")


def test_a_rule_that_a_wider_one_covers_is_left_out() -> None:
    listed = blocklist("||x.a.example^", "||a.example^", "||a.example/x", "||b.example^$3p")
    assert [rule.host for rule in listed.rules] == ["a.example", "b.example"]


def test_a_narrower_rule_stays_where_the_wider_one_does_not_hold() -> None:
    listed = blocklist("||a.example^$third-party", "||track.a.example^")
    assert listed.texts_for("www.a.example") == ("//track.a.example/", ".track.a.example/")


@pytest.mark.parametrize("host", ["ads.example", "www.ads.example", "docs.help.ads.example"])
def test_a_page_may_load_what_lies_on_its_own_blocked_host(host: str) -> None:
    listed = blocklist("||ads.example^", "||other.example^")
    assert listed.texts_for(host) == ("//other.example/", ".other.example/")


def test_a_rule_for_other_sites_spares_what_lies_below_the_page() -> None:
    listed = blocklist("||pixel.shop.example^$third-party", "||count.shop.example^")
    assert listed.texts_for("www.shop.example") == ("//count.shop.example/", ".count.shop.example/")


def test_a_rule_on_a_path_holds_on_the_page_that_it_was_written_for() -> None:
    listed = blocklist("||news.example/ads/")
    assert listed.texts_for("news.example") == ("//news.example/ads/", ".news.example/ads/")


def test_only_exceptions_from_something_that_is_blocked_are_kept() -> None:
    listed = blocklist("||a.example^", "@@||ok.a.example^", "@@||b.example^")
    assert [rule.host for rule in listed.exceptions] == ["ok.a.example"]
    assert len(blocklist("/adserver/x", "@@||b.example^").exceptions) == 1


def test_the_command_says_what_is_let_through_before_what_is_blocked() -> None:
    blocking = PageBlocking(blocklist("||a.example^", "@@||a.example/ok"))
    told = blocking.parameters("https://page.example/", block_ads=True, block_pictures=True)
    assert told["urlPatterns"][0] == {"urlPattern": "*://{*.}?a.example:*/ok*", "block": False}
    assert {"urlPattern": "*://*:*/*.jpg", "block": True} in told["urlPatterns"]
    assert told["urls"] == ["//a.example/", ".a.example/"]


def test_nothing_is_blocked_that_was_not_asked_for() -> None:
    blocking = PageBlocking.read([], LIMITS)
    told = blocking.parameters("https://page.example/", block_ads=False, block_pictures=False)
    assert told == {"urlPatterns": [], "urls": []}


def test_every_line_of_the_list_that_comes_with_cinder_is_of_use() -> None:
    lists = read_lists([CURATED_LIST], LIMITS)
    assert lists.skipped == Counter()
    listed = Blocklist(lists.rules, LIMITS)
    assert len(listed.rules) + len(listed.hosts) == len(lists.rules)
    lines = CURATED_LIST.read_text().splitlines()
    assert len([line for line in lines if line and line[0] != "!"]) == len(lists.rules)
    # Each tab is told this much of it.
    assert len(json.dumps(listed.texts_for("page.example"))) < 8_192


async def refused_urls(tab: Tab, *urls: str) -> set[str]:
    """Fetch from a tab and return what the browser itself refused."""
    sent: dict[str, str] = {}
    refused: set[str] = set()

    def note_refusal(event: dict[str, str]) -> None:
        if event.get("blockedReason") == "inspector":
            refused.add(sent[event["requestId"]])

    tab.session.on(
        "Network.requestWillBeSent",
        lambda event: sent.update({event["requestId"]: event["request"]["url"]}),
    )
    tab.session.on("Network.loadingFailed", note_refusal)
    await tab.evaluate(
        f"Promise.allSettled({json.dumps(urls)}.map(url => fetch(url, {{mode: 'no-cors'}})))"
    )
    assert len(sent) == len(urls)
    return refused


async def test_chromium_blocks_by_the_rules(tmp_path: Path) -> None:
    listed = blocklist("||ads.test^", "||site.test/ban*.js", "&ad_slot=", "@@||ads.test/ok/")
    told = PageBlocking(listed).parameters(
        "https://page.test/", block_ads=True, block_pictures=False
    )
    blocked = {
        "http://ads.test/x.js",
        "https://cdn.ads.test/y?z",
        "http://site.test/ban/1.js",
        "http://c.test/?x=1&ad_slot=2",
    }
    free = {
        "http://loads.test/",
        "http://ads.test.example.test/",
        "http://ads.test/ok/x.js",
        "http://site.test/other.js",
    }
    async with open_tab(tmp_path) as tab:
        await show(tab, "<p>page</p>")
        await tab.session.send("Network.setBlockedURLs", **told)
        assert await refused_urls(tab, *blocked, *free) == blocked


async def test_chromium_takes_the_list_that_comes_with_cinder(tmp_path: Path) -> None:
    blocking = PageBlocking.read([], LIMITS)
    told = blocking.parameters("https://page.test/", block_ads=True, block_pictures=True)
    is_unwanted = blocking.unwanted_hosts("https://page.test/", block_ads=True)
    assert (is_unwanted("cdn.cookielaw.org"), is_unwanted("page.test")) == (True, False)
    blocked = {
        "https://www.googletagmanager.com/gtm.js?id=1",
        "https://connect.facebook.net/en_US/fbevents.js",
        "https://page.test/a.webp?w=1",
    }
    async with open_tab(tmp_path) as tab:
        await show(tab, "<p>page</p>")
        await tab.session.send("Network.setBlockedURLs", **told)
        assert await refused_urls(tab, *blocked, "https://page.test/app.js") == blocked


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("||ads.example^", FilterRule(host="ads.example", path="/")),
        ("||Ads.Example/", FilterRule(host="ads.example", path="/")),
        ("||ads.example^*", FilterRule(host="ads.example", path="/")),
        ("||ads.example:8080^", FilterRule(host="ads.example:8080", path="/")),
        ("||a.example/x/*.js", FilterRule(host="a.example", path="/x/*.js")),
        ("||a.example^*/pixel.gif?", FilterRule(host="a.example", path="/*/pixel.gif?")),
        ("||a.example^$third-party", FilterRule(host="a.example", path="/", is_third_party=True)),
        ("||a.example^$3p,match-case", FilterRule(host="a.example", path="/", is_third_party=True)),
        ("|https://a.example/ad", FilterRule(host="", path="https://a.example/ad")),
        ("*/adserver/*.js", FilterRule(host="", path="/adserver/*.js")),
        ("&ad_slot=", FilterRule(host="", path="&ad_slot=")),
        ("@@||a.example/ok.js", FilterRule(host="a.example", path="/ok.js", is_exception=True)),
    ],
)
def test_a_rule_is_read(line: str, rule: FilterRule) -> None:
    assert parse_rule(line) == rule


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", SkipReason.COMMENT),
        ("! Title: a list", SkipReason.COMMENT),
        ("[Adblock Plus 2.0]", SkipReason.COMMENT),
        ("##.banner", SkipReason.COSMETIC),
        ("a.example#@##ad", SkipReason.COSMETIC),
        ("||a.example^$domain=b.example", SkipReason.OPTION),
        ("||a.example^$script,third-party", SkipReason.OPTION),
        ("||a.example^$~third-party", SkipReason.OPTION),
        ("/adframe.$third-party", SkipReason.OPTION),
        ("@@||a.example^$document", SkipReason.OPTION),
        ("/ads[0-9]+/", SkipReason.SYNTAX),
        ("||a.example/x^y", SkipReason.SYNTAX),
        ("||a.example/x.gif|", SkipReason.SYNTAX),
        ("||a.exam", SkipReason.SYNTAX),
        ("@@||a.example/x?(y)", SkipReason.SYNTAX),
        ("@@/advert.js", SkipReason.SYNTAX),
        ("*", SkipReason.TOO_BROAD),
        ("ad*ds", SkipReason.TOO_BROAD),
        ("|http*", SkipReason.TOO_BROAD),
        ("|https://", SkipReason.TOO_BROAD),
        ("://*/*", SkipReason.TOO_BROAD),
    ],
)
def test_what_cannot_be_expressed_is_left_out(line: str, reason: SkipReason) -> None:
    assert parse_rule(line) is reason


def test_a_rule_becomes_texts_that_end_where_the_host_does() -> None:
    rule = FilterRule(host="ads.example", path="/")
    assert rule.blocked_texts() == ("//ads.example/", ".ads.example/")
    assert FilterRule(host="", path="/ads/*.js").blocked_texts() == ("/ads/*.js",)


def test_an_exception_becomes_a_pattern() -> None:
    rule = FilterRule(host="a.example", path="/ok", is_exception=True)
    assert rule.url_pattern() == "*://{*.}?a.example:*/ok*"
    assert FilterRule(host="a.example:81", path="/").url_pattern() == "*://{*.}?a.example:81/*"


@given(st.text(alphabet="@|*^$/~.,=#!ahtps:?-", max_size=30))
def test_any_line_is_read_or_left_out(line: str) -> None:
    rule = parse_rule(line)
    if isinstance(rule, FilterRule):
        assert all(len(text) >= 4 for text in rule.blocked_texts())


async def test_pictures_fonts_and_media_are_blocked_by_their_extension(tmp_path: Path) -> None:
    patterns = [{"urlPattern": pattern, "block": True} for pattern in resource_patterns()]
    blocked = {
        "https://a.test/x/y.jpg",
        "https://a.test:8443/y.png?width=1&z",
        "https://a.test/IMG_1.JPG",
        "https://a.test/f.woff2",
        "https://a.test/m.mp4",
    }
    free = {
        "https://a.test/app.js",
        "https://a.test/photo?file=x.jpg",
        "https://x.pngs.test/a.png.js",
        "https://a.test/icons.svg",
    }
    async with open_tab(tmp_path) as tab:
        await show(tab, "<p>page</p>")
        await tab.session.send("Network.setBlockedURLs", urlPatterns=patterns)
        assert await refused_urls(tab, *blocked, *free) == blocked

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.fetch.browser.filter_syntax import Rule, Skip, parse_rule


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("||ads.example^", Rule(host="ads.example", path="/")),
        ("||Ads.Example/", Rule(host="ads.example", path="/")),
        ("||ads.example^*", Rule(host="ads.example", path="/")),
        ("||ads.example:8080^", Rule(host="ads.example:8080", path="/")),
        ("||a.example/x/*.js", Rule(host="a.example", path="/x/*.js")),
        ("||a.example^*/pixel.gif?", Rule(host="a.example", path="/*/pixel.gif?")),
        ("||a.example^$third-party", Rule(host="a.example", path="/", is_third_party=True)),
        ("||a.example^$3p,match-case", Rule(host="a.example", path="/", is_third_party=True)),
        ("|https://a.example/ad", Rule(host="", path="https://a.example/ad")),
        ("*/adserver/*.js", Rule(host="", path="/adserver/*.js")),
        ("&ad_slot=", Rule(host="", path="&ad_slot=")),
        ("@@||a.example/ok.js", Rule(host="a.example", path="/ok.js", is_exception=True)),
    ],
)
def test_a_rule_is_read(line: str, rule: Rule) -> None:
    assert parse_rule(line) == rule


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", Skip.COMMENT),
        ("! Title: a list", Skip.COMMENT),
        ("[Adblock Plus 2.0]", Skip.COMMENT),
        ("##.banner", Skip.COSMETIC),
        ("a.example#@##ad", Skip.COSMETIC),
        ("||a.example^$domain=b.example", Skip.OPTION),
        ("||a.example^$script,third-party", Skip.OPTION),
        ("||a.example^$~third-party", Skip.OPTION),
        ("/adframe.$third-party", Skip.OPTION),
        ("@@||a.example^$document", Skip.OPTION),
        ("/ads[0-9]+/", Skip.SYNTAX),
        ("||a.example/x^y", Skip.SYNTAX),
        ("||a.example/x.gif|", Skip.SYNTAX),
        ("||a.exam", Skip.SYNTAX),
        ("@@||a.example/x?(y)", Skip.SYNTAX),
        ("@@/advert.js", Skip.SYNTAX),
        ("*", Skip.TOO_BROAD),
        ("ad*ds", Skip.TOO_BROAD),
        ("|http*", Skip.TOO_BROAD),
        ("|https://", Skip.TOO_BROAD),
        ("://*/*", Skip.TOO_BROAD),
    ],
)
def test_what_cannot_be_expressed_is_left_out(line: str, reason: Skip) -> None:
    assert parse_rule(line) is reason


def test_a_rule_becomes_texts_that_end_where_the_host_does() -> None:
    rule = Rule(host="ads.example", path="/")
    assert rule.blocked_texts() == ("//ads.example/", ".ads.example/")
    assert Rule(host="", path="/ads/*.js").blocked_texts() == ("/ads/*.js",)


def test_an_exception_becomes_a_pattern() -> None:
    rule = Rule(host="a.example", path="/ok", is_exception=True)
    assert rule.url_pattern() == "*://{*.}?a.example:*/ok*"
    assert Rule(host="a.example:81", path="/").url_pattern() == "*://{*.}?a.example:81/*"


@given(st.text(alphabet="@|*^$/~.,=#!ahtps:?-", max_size=30))
def test_any_line_is_read_or_left_out(line: str) -> None:
    rule = parse_rule(line)
    if isinstance(rule, Rule):
        assert all(len(text) >= 4 for text in rule.blocked_texts())

"""Style sheets as rules."""

import pytest

from cinder.html.css.sheet import CssRule, Declaration, parse_declarations, parse_stylesheet


def test_rules_come_in_order_with_their_selectors_and_declarations() -> None:
    sheet = """
    /* { comment } */ :root { --Brand: #f50; --pic: url(data:a;b) }
    h1, .a > b { COLOR: red !important; background: url("x;}y") ; }
    """
    assert parse_stylesheet(sheet) == [
        CssRule(
            (":root",), (Declaration("--Brand", "#f50"), Declaration("--pic", "url(data:a;b)"))
        ),
        CssRule(
            ("h1", ".a > b"),
            (
                Declaration("color", "red", is_important=True),
                Declaration("background", 'url("x;}y")'),
            ),
        ),
    ]


@pytest.mark.parametrize(
    "around",
    ["%s", "@media screen { %s }", "@layer base { %s }", "@supports (color: red) { %s }", "%s } }"],
)
def test_what_holds_for_the_page_counts(around: str) -> None:
    assert parse_stylesheet(around % "a{b:c}") == [CssRule(("a",), (Declaration("b", "c"),))]


@pytest.mark.parametrize(
    "sheet",
    [
        "@media print { a{b:c} }",
        "@media (prefers-color-scheme: dark) { a{b:c} }",
        "@media (max-width: 1px) { @layer x { a{b:c} } }",
        "@font-face { font-family: x }",
        "@keyframes k { from { color: red } }",
        "a { & b { c: d } }",
        "a {}",
        "a { b: c",
    ],
)
def test_what_holds_at_times_alone_does_not(sheet: str) -> None:
    assert parse_stylesheet(sheet) == []


def test_what_follows_a_nested_rule_is_still_the_outer_ones() -> None:
    rules = parse_stylesheet("a { b: 1; &:hover { c: 2 } d: 3 }")
    assert rules == [CssRule(("a",), (Declaration("b", "1"), Declaration("d", "3")))]


def test_an_attribute_is_declarations_alone() -> None:
    found = parse_declarations("color: red; background: url('a;b')")
    assert found == (Declaration("color", "red"), Declaration("background", "url('a;b')"))
    assert parse_declarations("") == ()


@pytest.mark.parametrize("text", ["a{", "/*", '"\\', "url(", "'", ",", "}", "@media{", "a:b;"])
def test_a_sheet_made_to_take_long_does_not(text: str) -> None:
    # Seconds where a scanner that starts over takes hours: the test's own time is the limit.
    assert parse_stylesheet(text * 500_000) == []

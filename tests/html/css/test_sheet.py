"""tests.html.css.test_sheet"""

import pytest

from cinder.html.css.declarations import parse_declarations
from cinder.html.css.sheet import StyleElement, StyleRule, read_style_sheets


def read(sheet: str) -> list[StyleRule]:
    rules = read_style_sheets([StyleElement(sheet, holds_for_all=True)]).rules
    return [
        StyleRule(" ".join(rule.selectors.split()), rule.style.strip(), rule.holds_for_all)
        for rule in rules
    ]


def test_rules_come_in_order_with_their_selectors_and_declarations() -> None:
    sheet = """
    /* { comment } */ :root { --Brand: #f50; --pic: url(data:a;b) }
    h1, .a > b { COLOR: red !important; background: url("x;}y") }
    """
    assert read(sheet) == [
        StyleRule(":root", "--Brand: #f50; --pic: url(data:a;b)", holds_for_all=True),
        StyleRule("h1, .a > b", 'COLOR: red !important; background: url("")', holds_for_all=True),
    ]


@pytest.mark.parametrize(
    "around",
    [
        *("%s", "@media screen { %s }", "@layer base { %s }", "@supports (color: red) { %s }"),
        *("@media (min-width: 200px) { %s }", "%s } }", "@import 'x;y'; %s", "%s /* { not closed"),
        *("@media not print { %s }", "@media (width >= 1px) and (height > 1px) { %s }"),
        *("@container (min-width: 1px) { %s }", "@container card (10px < inline-size) { %s }"),
        "@media (max-width: 99999px) { %s }",
    ],
)
def test_what_holds_for_the_page_counts(around: str) -> None:
    assert read(around % "a{b:c}") == [StyleRule("a", "b:c", holds_for_all=True)]


@pytest.mark.parametrize(
    "sheet",
    [
        "@media print { a{b:c} }",
        "@media (prefers-color-scheme: dark) { a{b:c} }",
        "@media (max-width: 1px) { @layer x { a{b:c} } }",
        "@container (min-width: 600px) { a{b:c} }",
        "@container style(--x: 1) { a{b:c} }",
        "@font-face { font-family: x }",
        "@keyframes k { from { color: red } }",
        "a {}",
        "/* a { b: c }",
    ],
)
def test_what_holds_at_times_alone_does_not(sheet: str) -> None:
    assert [rule for rule in read(sheet) if rule.holds_for_all and rule.style] == []


def test_nested_rules_have_the_selectors_of_those_around_them() -> None:
    rules = read("a { b: 1; &:hover { c: 2 } d: 3 } e, f { g { h: 4 } }")
    assert [(rule.selectors, rule.style) for rule in rules] == [
        ("a", "b: 1"),
        ("a:hover", "c: 2"),
        ("a", "d: 3"),
        (":is(e, f) g", "h: 4"),
    ]


def test_a_rule_that_is_open_at_the_end_is_closed_there() -> None:
    assert read("a { b: c") == [StyleRule("a", "b: c", holds_for_all=True)]


def test_rules_below_too_many_blocks_are_ignored_and_those_after_them_are_not() -> None:
    deep = "a{" * 100 + "b:c" + "}" * 100
    assert read(f"{deep} d{{e:f}}") == [StyleRule("d", "e:f", holds_for_all=True)]


@pytest.mark.parametrize(
    "text", ["a{", "/*", '"\\', "url(", "'", ",", "}", "@media{", "a:b;", "@import ", "/*a", "a,&"]
)
def test_a_sheet_made_to_take_long_does_not(text: str) -> None:
    # Seconds where a scanner that starts over takes hours: the test's own time is the limit.
    rules = read_style_sheets([StyleElement(text * 500_000, holds_for_all=True)]).rules
    assert all(not parse_declarations(rule.style) for rule in rules)

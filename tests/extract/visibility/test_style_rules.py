"""What the style sheets of a page hide."""

import pytest

from cinder.extract.html_tree import parse_html
from cinder.extract.visibility.style_rules import HidingRules, read_hiding_rules


def _found(styles: str) -> tuple[set[str], set[str]]:
    rules = read_hiding_rules(parse_html(styles))
    return set(rules.classes - HidingRules().classes), set(rules.ids)


def test_classes_and_ids_are_found() -> None:
    styles = (
        "<style>/* .c{display:none} */ .a, p.b { color: red; display : none } #i{visibility:hidden}"
    )
    assert _found(styles) == ({"a", "b"}, {"i"})


@pytest.mark.parametrize(
    "styles",
    [
        "<style>.a .b{display:none}</style>",
        "<style>.a.b{display:none}</style>",
        "<style>.a:hover{display:none}</style>",
        "<style>@media print{.a{display:none}}</style>",
        "<style>@import 'x'; @media print{.b{x:y} .a{display:none}}</style>",
        "<style media=print>.a{display:none}</style>",
        "<style>.a{display:none}.open .a{display:block}</style>",
        "<style>.a{display:none}</style><style media='(width: 1px)'>.a{display:flex}</style>",
        "<style>.a{display:none}@media screen{.a{display:flex}}</style>",
        "<style>.a{overflow:hidden}</style>",
    ],
)
def test_what_some_visitor_sees_is_not_hidden(styles: str) -> None:
    assert _found(styles) == (set(), set())


def test_a_page_with_many_see_through_elements_fades_in() -> None:
    few, many = ("<p style='opacity:0'>x</p>" * count for count in (5, 6))
    assert not read_hiding_rules(parse_html(few)).fades_in
    assert read_hiding_rules(parse_html(many)).fades_in


@pytest.mark.parametrize(
    "text", ["@media{" * 50_000, "/*" * 100_000, "{" * 100_000, ".a{" * 99_999]
)
def test_broken_styles_end(text: str) -> None:
    assert _found(f"<style>{text}display:none</style>")[1] == set()

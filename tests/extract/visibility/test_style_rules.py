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


@pytest.mark.parametrize(
    "declared",
    [
        "font-size:0",
        "opacity:0",
        "text-indent:-9999px",
        "position:absolute;left:-9999px",
        "color:#fff;background:#FFFFFF",
        "height:0;overflow:hidden",
        "width:0;height:0;overflow:hidden",
        "position:absolute;clip:rect(0,0,0,0)",
        "clip-path:inset(100%)",
        "clip-path:polygon(0 0, 0 0, 0 0)",
        "transform:scale(0)",
    ],
)
def test_tricks_that_put_text_out_of_sight_are_found(declared: str) -> None:
    assert _found(f"<style>p.a, #i {{{declared}}}</style>") == ({"a"}, {"i"})


@pytest.mark.parametrize(
    "styles",
    [
        "<style>.a{opacity:0;transition:opacity 1s}</style>",
        "<style>.a{opacity:0}.a.in{opacity:1}</style>",
        "<style>.a{position:absolute;left:-9999px}.a:focus{left:0}</style>",
        "<style>.a{height:0;overflow:hidden}.open .a{height:auto}</style>",
        "<style>.a{height:0;overflow:hidden;padding-bottom:56%}</style>",
        "<style>.a{text-indent:-9999px;background:url(logo.png)}</style>",
        "<style>.a{color:inherit;background:inherit}</style>",
        "<style>.a{transform:scale(0);animation:pop 1s}</style>",
        "<style>.a{opacity:0}</style>" + "<p class=a>x</p>" * 6,
    ],
)
def test_what_fades_in_or_waits_for_a_click_is_not_taken_for_a_trick(styles: str) -> None:
    assert _found(styles) == (set(), set())


def test_a_selector_with_ancestors_hides_what_it_selects_throughout() -> None:
    styles = "<style>article .k6, .x > p.k7{visibility:hidden} .y .k8{display:none}</style>"
    page = "<article><p class=k6>a</p></article><div class=x><p class=k7>b</p></div>"
    elsewhere = "<div class=y><p class=k8>c</p></div><p class=k8>d</p>"
    assert _found(styles + page + elsewhere) == ({"k6", "k7"}, set())


def test_many_selectors_with_ancestors_end() -> None:
    rules = "".join(f"article .k{index}{{opacity:0}}" for index in range(10_000))
    page = "<article>" + "<p class=k1>x</p>" * 5_000
    assert len(_found(f"<style>{rules}</style>{page}")[0]) < 2

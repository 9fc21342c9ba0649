"""What the style sheets of a page hide."""

import pytest

from cinder.html.cleaning import remove_invisible
from cinder.html.tree import Elements, parse_html
from cinder.html.visibility.hiding_rules import HidingRules, read_hiding_rules


def _found(styles: str) -> tuple[set[str], set[str]]:
    rules = read_hiding_rules(Elements.of_page(parse_html(styles)))
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
    assert not read_hiding_rules(Elements.of_page(parse_html(few))).fades_in
    assert read_hiding_rules(Elements.of_page(parse_html(many))).fades_in


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
        "-webkit-text-security:disc",
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


def _hidden_texts(page: str) -> list[str]:
    """Return what is in paragraphs and no more there when the hidden is taken out."""
    tree = parse_html(f"<body>{page}</body>")
    body = tree.css("body")[0]
    before = [node.text() for node in body.css("p")]
    rules = read_hiding_rules(Elements.of_page(tree))
    remove_invisible(Elements(body), rules)
    assert "cinder" not in (body.html or "")
    after = {node.text() for node in body.css("p")}
    return [text for text in before if text not in after]


def test_a_selector_with_ancestors_hides_what_it_selects_alone() -> None:
    styles = "<style>article .k6, .x > p.k7{visibility:hidden} .y .k8{display:none}</style>"
    page = "<article><p class=k6>a</p></article><div class=x><p class=k7>b</p></div>"
    elsewhere = "<div class=y><p class=k8>c</p></div><p class=k8>d</p>"
    assert _hidden_texts(styles + page + elsewhere) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "rules",
    [
        "@media screen{.h{display:none}}",
        "@media only screen and (min-width: 0px) {.h{display:none}}",
        "@supports (display:grid){.h{opacity:0}}",
        "@media screen{@supports (display:grid){.h{font-size:0}}}",
        "@layer a,b; @layer a{.h{display:none}}",
        ".o{.h{font-size:1px}}",
        ".o{color:red;& > .h{left:-9999px;position:absolute}}",
        "p:not(.x):not(:empty)[data-hide]{text-indent:-9999px}",
        "p[data-hide]{left:-9999px;position:absolute}",
        "b+p{font-size:0}",
        "section.o > b ~ p, i{font-size:1px}",
        "p{font-size:16px}section p[title='t']{font-size:1px}",
        "@keyframes k{to{opacity:0}}.h{animation:k 1s forwards}",
        ":root{--n:none}.h{display:var(--n)}",
        ".h{disp\\6c ay:none}",
        ".h{display/*x*/:none}",
        ".z::after{content:'}'}.h{display:none}",
        "<!-- .h{display:none} -->",
        ".h{color:#fff}",
        "body{background:#111;color:#eee}.h{color:#121212}",
        ".h{color:var(--c);background:var(--c)}:root{--c:#123}",
        ".h{display:none",
        ".h{margin:0 0 0 -9999px}",
        ".h{content-visibility:hidden}",
    ],
)
def test_rules_hide_under_whatever_selector_and_for_everybody(rules: str) -> None:
    page = "<p>seen</p><section class=o><b>x</b><p class=h data-hide=1 title=t>gone</p></section>"
    assert _hidden_texts(f"<style>{rules}</style>{page}") == ["gone"]


@pytest.mark.parametrize(
    "rules",
    [
        "@media (min-width:700px){.h{display:none}}",
        "@supports not (display:grid){.h{display:none}}",
        "@keyframes k{from{opacity:0}}.h{animation:k 1s}",
        "@keyframes k{to{opacity:0}}.h{animation:k 1s infinite}",
        "@starting-style{.h{opacity:0}}",
        ".o p{display:none}.o.open p{display:block}",
        "section p{display:none}section:hover p{display:block}",
        "p:first-line{display:none}p:hover{opacity:0}",
        ".h{color:#fff}.o{background:#000}",
        ".h{color:#fff}.o{background:url(dark.jpg)}",
        ".h{color:#fff}.o::before{background:#000}",
        ".h{color:#fff}@media (prefers-color-scheme:dark){body{background:#000}}",
        ".h{color:var(--c);background:var(--c)}:root{--c:#123}.dark{--c:#456}",
        ".h{left:-9999px}",
        "body *{color:#000}.h{margin-left:-100%}",
    ],
)
def test_rules_for_some_moments_or_on_other_grounds_hide_nothing(rules: str) -> None:
    page = "<p>seen</p><section class=o><p class=h>stays</p></section>"
    assert _hidden_texts(f"<style>{rules}</style>{page}") == []


def test_colours_are_not_judged_where_sheets_are_elsewhere() -> None:
    page = "<style>.h{color:#fff}</style><p class=h>white</p>"
    assert _hidden_texts(page) == ["white"]
    assert _hidden_texts(f"<link rel=stylesheet href=/a.css>{page}") == []
    assert _hidden_texts(f"<style>@import 'a.css';</style>{page}") == []


@pytest.mark.parametrize(
    "rules",
    [
        "a{" * 50_000 + "display:none",
        "section p," * 9_000 + "i{display:none}",
        "".join(f"section p:not(.k{index}){{opacity:0}}" for index in range(3_000)),
        "".join(f"section .k{index}{{color:#fff;background:#fff}}" for index in range(3_000)),
        "p{display:none;" + "left:calc((((((((((" * 5_000,
        ":root{--a:var(--b);--b:var(--a)}p{display:var(--a)}",
        "p{" + "\\" * 90_000,
        "p{color:" + "rgba(0,0,0,0" * 8_000,
    ],
)
def test_hostile_sheets_end(rules: str) -> None:
    page = f"<style>{rules}</style><section>{'<p>x</p>' * 500}</section>"
    assert isinstance(_hidden_texts(page), list)


def test_many_selectors_with_ancestors_end() -> None:
    rules = "".join(f"article .k{index}{{opacity:0}}" for index in range(10_000))
    page = "<article>" + "<p class=k1>x</p>" * 5_000
    assert len(_found(f"<style>{rules}</style>{page}")[0]) < 2

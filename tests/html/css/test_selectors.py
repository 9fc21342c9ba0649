"""Selectors matched against single elements."""

import pytest

from cinder.html.css.selectors import CssElement, parse_selector
from cinder.html.tree import parse_html

TREE = parse_html(
    "<html><body class='home dark'><main id=top><p class='lead big'><a href=/x class=btn "
    "data-kind=cta>x</a></p></main></body></html>"
)


def element(selector: str) -> CssElement:
    node = TREE.css_first(selector)
    assert node is not None
    return CssElement.of(node)


@pytest.mark.parametrize(
    ("selector", "specificity"),
    [
        ("a", (0, 0, 1)),
        ("*", (0, 0, 0)),
        (".btn", (0, 1, 0)),
        ("A.btn[data-kind='cta']", (0, 2, 1)),
        ("a:link", (0, 1, 1)),
        ("#top a", (1, 0, 1)),
        (".home main > p>a", (0, 1, 3)),
        ("body a[href]", (0, 1, 2)),
        (":root a", (0, 1, 1)),
    ],
)
def test_what_a_selector_means_is_matched(selector: str, specificity: tuple[int, int, int]) -> None:
    parsed = parse_selector(selector)
    assert parsed is not None
    assert parsed.matches(element("a"))
    assert parsed.specificity == specificity


@pytest.mark.parametrize(
    "selector",
    ["p", ".btn.primary", "main > a", "#other a", "a[data-kind=x]", "a[title]", "p:root", "p:link"],
)
def test_what_a_selector_does_not_mean_is_not(selector: str) -> None:
    parsed = parse_selector(selector)
    assert parsed is not None
    assert not parsed.matches(element("a"))


@pytest.mark.parametrize(
    "selector",
    ["a:hover", "p + a", "p ~ a", "a::before", ":is(a)", "a:not(.b)", "", "> a", "a >", "a" * 201],
)
def test_what_says_more_is_left_alone(selector: str) -> None:
    assert parse_selector(selector) is None


def test_an_element_is_called_by_its_id_or_its_classes() -> None:
    assert [element(tag).name for tag in ("main", "p", "a")] == ["main#top", "p.big.lead", "a.btn"]

"""Styles as a browser computed them."""

import pytest

from cinder.html.branding_styles import (
    BrandStyles,
    SourcedValue,
    StyledElement,
    styles_from_browser,
    styles_from_css,
)
from cinder.html.tree import parse_html
from cinder.models.document import Json


def styled(html: str, *sheets: str) -> BrandStyles:
    return styles_from_css(parse_html(html), sheets)


def test_the_more_specific_the_later_and_the_important_rule_wins() -> None:
    css = "p.a { color: red } p { color: blue } h1 { color: red } h1 { color: blue }"
    css += "h2 { color: red !important } #x { color: blue } h3 { color: blue }"
    html = "<p class=a>x</p><h1>x</h1><h2 id=x>x</h2><h3 style='color: red'>x</h3>"
    styles = styled(html, css)
    assert [styles.of(role, "color") for role in ("text", "h1", "h2", "h3")] == [
        SourcedValue("red", "css:p.a"),
        SourcedValue("blue", "css:h1"),
        SourcedValue("red", "css:h2"),
        SourcedValue("red", "style:h3"),
    ]


def test_the_pages_own_styles_come_after_those_it_links_to() -> None:
    styles = styled("<style>body { color: blue }</style><p>x</p>", "body { color: red }")
    assert styles.of("text", "color") == SourcedValue("blue", "css:body")


def test_a_shorthand_sets_what_it_is_short_for() -> None:
    styles = styled(
        "<h1>x</h1>", "h1 { font: bold 2rem/1.2 'A B', serif; background: #fff url(x) }"
    )
    names = ("font-weight", "font-size", "line-height", "font-family", "background-color")
    found = [styles.of("h1", name) for name in names]
    assert [value and value.value for value in found] == [
        *("bold", "2rem", "1.2", "'A B', serif", "#fff url(x)"),
    ]


def test_a_background_is_not_inherited_and_a_font_is() -> None:
    styles = styled("<h1>x</h1>", "body { background: red; font-family: A }")
    assert styles.of("h1", "background-color") is None
    assert styles.of("h1", "font-family") == SourcedValue("A", "css:body")


def test_colours_and_spaces_are_counted() -> None:
    css = ":root { --c: #f50 } a { color: var(--c); padding: 8px 1rem } b { color: #f50; gap: 3px }"
    styles = styled("<a href=x>x</a>", css)
    assert styles.colours == {"#f50": 2}
    assert styles.spaces == {8: 1, 16: 1, 3: 1}


def test_samples_become_styles_with_the_element_as_source() -> None:
    samples: dict[str, Json] = {
        "elements": [
            {"role": "body", "name": "body.a", "styles": {"color": "red", "canvas": "white"}},
            {"role": "h1", "name": "h1", "styles": {"color": "blue", "cursor": "none"}},
        ],
        "colours": {"red": 3},
        "spaces": {"8px 16px": 2},
        "properties": {"--brand": "red"},
    }
    assert styles_from_browser(samples) == BrandStyles(
        is_computed=True,
        elements=(
            StyledElement(
                role="body",
                name="body.a",
                styles={
                    "color": SourcedValue("red", "computed:body.a"),
                    "background-color": SourcedValue("white", "computed:canvas"),
                },
            ),
            StyledElement(
                role="h1", name="h1", styles={"color": SourcedValue("blue", "computed:h1")}
            ),
        ),
        custom_properties={"--brand": "red"},
        colours={"red": 3},
        spaces={8: 2, 16: 2},
    )


@pytest.mark.parametrize(
    "samples",
    [
        {},
        {"elements": "x", "colours": [], "spaces": 1, "properties": None},
        {"elements": [1, {}, {"role": "spy", "name": "x"}, {"role": "h1"}]},
        {"colours": {"red": "many"}, "spaces": {"8px": -1}, "properties": {"--a": 1}},
    ],
)
def test_samples_of_another_shape_are_left_out(samples: dict[str, Json]) -> None:
    assert styles_from_browser(samples) == BrandStyles(is_computed=True)

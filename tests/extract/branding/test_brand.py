"""A page's branding, whole."""

from typing import Any

import pytest

from cinder.extract.branding.brand import find_stylesheets, read_branding
from tests.site.brand import BRAND, BRAND_CSS

URL = "https://example.com/dir/page"


def branding_of(html: str, *sheets: str, **given: Any) -> dict[str, Any]:
    given = {"content_type": "text/html; charset=utf-8", "url": URL} | given
    return read_branding(html.encode(), sheets=sheets, **given)


def test_a_pages_css_tells_its_branding_and_where_each_value_stands() -> None:
    branding = branding_of(BRAND, BRAND_CSS)
    sources = branding.pop("sources")
    assert branding == {
        "brandName": "Hearth & Co.",
        "logo": "https://example.com/hearth.svg",
        "colorScheme": "light",
        "colors": {
            "background": "#fffaf5",
            "textPrimary": "#1f2933",
            "link": "#0055ff",
            "primary": "#d9480f",
            "secondary": "#334e68",
            "accent": "#0055ff",
        },
        "fonts": [
            {"family": "Source Serif 4", "role": "body"},
            {"family": "Sora", "role": "heading"},
        ],
        "typography": {
            "fontFamilies": {"primary": "Source Serif 4", "heading": "Sora"},
            "fontStacks": {
                "primary": ["Source Serif 4", "Georgia", "serif"],
                "heading": ["Sora", "sans-serif"],
            },
            "fontSizes": {"h1": "48px", "body": "18px"},
            "fontWeights": {"heading": "700"},
            "lineHeights": {"heading": "1.1", "body": "1.6"},
        },
        "spacing": {"baseUnit": 8, "borderRadius": "6px"},
        "components": {
            "buttonPrimary": {
                "background": "#d9480f",
                "textColor": "#ffffff",
                "borderRadius": "6px",
            },
            "buttonSecondary": {
                "background": "#334e68",
                "textColor": "#ffffff",
                "borderRadius": "6px",
            },
        },
        "images": {
            "logo": "https://example.com/hearth.svg",
            "favicon": "https://example.com/icon.svg",
            "ogImage": "https://example.com/preview.jpg",
        },
    }
    assert sources["colors.primary"] == "css:--hearth-primary"
    assert sources["colors.background"] == sources["colorScheme"] == "css:body"
    assert sources["fonts.1"] == "css:h1"
    assert sources["images.favicon"] == "link:icon"


def leaves(value: Any, path: str = "") -> set[str]:
    if isinstance(value, dict):
        inner = (leaves(v, f"{path}.{k}".lstrip(".")) for k, v in value.items())
        return {leaf for found in inner for leaf in found}
    return {f"fonts.{n}" for n in range(len(value))} if path == "fonts" else {path}


def test_every_value_has_a_source_and_every_source_a_value() -> None:
    branding = branding_of(BRAND, BRAND_CSS)
    assert leaves({k: v for k, v in branding.items() if k != "sources"}) == set(branding["sources"])


def test_a_dark_page_is_dark() -> None:
    assert branding_of("<p>x", "body { background: #111 }")["colorScheme"] == "dark"
    assert branding_of("<meta name=color-scheme content='dark light'>")["colorScheme"] == "dark"


def test_samples_of_a_browser_come_before_css() -> None:
    body = {"role": "body", "name": "body", "styles": {"background-color": "rgb(1, 2, 3)"}}
    branding = branding_of(BRAND, BRAND_CSS, samples={"elements": [body]})
    assert branding["colors"]["background"] == "#010203"
    assert branding["sources"]["colors.background"] == "computed:body"
    assert "typography" not in branding


@pytest.mark.parametrize(
    ("html", "content_type"),
    [("", "text/html"), ("<p>plain", "text/html"), ("{}", "application/json"), ("x", "text/css")],
)
def test_a_page_without_a_look_has_no_branding(html: str, content_type: str) -> None:
    assert branding_of(html, content_type=content_type) == {}


def test_the_sheets_for_the_screen_are_listed_in_order_each_once() -> None:
    html = """<base href=/b/><link rel=StyleSheet href=x.css><link rel=stylesheet href=/y.css>
    <link rel=stylesheet href=x.css><link rel='alternate stylesheet' href=z.css>
    <link rel=stylesheet media=print href=p.css><link rel=preload href=q.css>
    <link rel=stylesheet href='data:text/css,a{}'>"""
    found = find_stylesheets(html.encode(), content_type="text/html", url=URL)
    assert found == ("https://example.com/b/x.css", "https://example.com/y.css")
    assert find_stylesheets(b"{}", content_type="application/json", url=URL) == ()


def test_sheets_and_pages_made_to_take_long_do_not() -> None:
    # Seconds at most; the test's own time is the limit.
    variables = "".join(f"--a{n}: var(--a{n + 1}) var(--a{n + 1});" for n in range(900))
    sheet = f":root{{{variables}}} p{{color:var(--a0)}}" + "body p,a,p a{color:red}" * 30_000
    assert branding_of(BRAND, sheet)["brandName"] == "Hearth & Co."
    assert branding_of("<header>" + "<svg class=logo>" * 3_000) == {}

"""The sheet on which a branding is put together."""

import base64
from typing import Any

import pytest

from cinder.html.branding import (
    MAX_SVG_CHARS,
    BrandProfile,
    choose_colours,
    find_icon,
    find_logo,
    find_stylesheets,
    read_branding,
)
from cinder.html.branding_styles import BrandStyles, SourcedValue, StyledElement
from cinder.html.tree import parse_html, parse_http_url
from cinder.models.document import Json
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


BASE = parse_http_url("https://example.com/dir/page")
LOGO = "https://example.com/l.png"


def logo_of(html: str, *json_ld: dict[str, Json]) -> SourcedValue | None:
    return find_logo(parse_html(html), BASE, json_ld)


@pytest.mark.parametrize(
    ("html", "source"),
    [
        ("<header><a class=site-logo href=/><img src=/l.png></a></header>", "img:a.site-logo"),
        ("<header><img src=/x.png><img alt='Our Logo' src=/l.png></header>", "img:header"),
        ("<nav><div id=brand><img data-src=/l.png></div></nav>", "img:div#brand"),
        ("<p><img itemprop=logo src=/l.png></p>", "itemprop:logo"),
        ("<p><img class=logo src=/l.png></p>", "img:p"),
    ],
)
def test_a_picture_called_a_logo_is_found(html: str, source: str) -> None:
    assert logo_of(html) == SourcedValue(LOGO, source)


@pytest.mark.parametrize(
    "thing",
    [
        {"@type": "Organization", "logo": "/l.png"},
        {"@type": "Organization", "logo": {"@type": "ImageObject", "url": "/l.png"}},
        {"@type": "Article", "publisher": {"name": "x", "logo": {"contentUrl": "/l.png"}}},
    ],
)
def test_a_declared_logo_is_taken(thing: dict[str, Json]) -> None:
    assert logo_of("<p><img class=partner-logo src=/p.png></p>", thing) == SourcedValue(
        LOGO, "json-ld:logo"
    )


def test_a_drawing_becomes_an_address_that_holds_it() -> None:
    found = logo_of("<header><a class=logo href=/><svg><path d='M0 0'></path></svg></a></header>")
    assert found is not None
    assert found.source == "svg:svg"
    kind, _, data = found.value.partition(";base64,")
    assert kind == "data:image/svg+xml"
    assert base64.b64decode(data).startswith(b'<svg xmlns="http://www.w3.org/2000/svg"><path')


@pytest.mark.parametrize(
    "inside",
    [
        "<script>x</script>",
        "<path onload=x></path>",
        "<a href='javascript:x'></a>",
        "<use href='#l'></use>",
        f"<path d='{'0' * MAX_SVG_CHARS}'></path>",
    ],
)
def test_a_drawing_that_might_do_more_or_shows_nothing_is_not_taken(inside: str) -> None:
    assert logo_of(f"<header class=logo><svg class=logo>{inside}</svg></header>") is None


def test_a_page_without_a_logo_has_none() -> None:
    assert logo_of("<header><img src=/photo.png></header><img src='data:image/png,logo'>") is None


def test_the_icon_is_a_drawing_or_the_largest() -> None:
    icons = "<link rel=icon href=/16.png sizes=16x16><link rel='shortcut icon' href=/32.png "
    icons += "sizes=32x32><link rel=apple-touch-icon href=/180.png sizes=180x180>"
    largest = SourcedValue("https://example.com/180.png", "link:apple-touch-icon")
    assert find_icon(parse_html(icons), BASE) == largest
    drawn = SourcedValue("https://example.com/i.svg", "link:icon")
    assert find_icon(parse_html(icons + "<link rel=icon href=/i.svg>"), BASE) == drawn
    assert find_icon(parse_html("<link rel=icon href='data:,x'>"), BASE) is None


def chosen(styles: BrandStyles, **meta: str) -> dict[str, tuple[Json, Json]]:
    sheet = BrandProfile()
    choose_colours(sheet, styles, {name.replace("_", "-"): value for name, value in meta.items()})
    whole = sheet.as_json()
    colours, sources = whole.get("colors", {}), whole.get("sources", {})
    assert isinstance(colours, dict)
    assert isinstance(sources, dict)
    return {name: (value, sources[f"colors.{name}"]) for name, value in colours.items()}


def a_button(background: str) -> StyledElement:
    styles = {"background-color": SourcedValue(background, f"css:{background}")}
    return StyledElement(role="button", name="button", styles=styles)


def test_what_a_theme_calls_primary_comes_first() -> None:
    styles = BrandStyles(
        is_computed=False,
        elements=(a_button("#00ff00"),),
        custom_properties={
            "--text-primary": "#111111",
            "--primary-hover": "#222222",
            "--color-primary": "255 85 0",
            "--bs-secondary": "210 40% 50%",
            "--accent": "red",
        },
    )
    assert chosen(styles) == {
        "primary": ("#ff5500", "css:--color-primary"),
        "secondary": ("#4d80b3", "css:--bs-secondary"),
        "accent": ("#ff0000", "css:--accent"),
    }


def test_without_a_theme_buttons_the_meta_tag_and_what_is_frequent_tell() -> None:
    styles = BrandStyles(
        is_computed=True,
        elements=(a_button("#eeeeee"), a_button("#ff5500")),
        colours={"rgb(0, 85, 255)": 9, "rgb(120, 120, 120)": 99, "rgb(255, 85, 0)": 1},
    )
    assert chosen(styles, theme_color="#00aa00") == {
        "primary": ("#ff5500", "css:#ff5500"),
        "secondary": ("#00aa00", "meta:theme-color"),
        "accent": ("#0055ff", "computed:used 9 times"),
    }


def test_a_page_of_greys_has_no_brand_colour() -> None:
    styles = BrandStyles(
        is_computed=False, elements=(a_button("#ccc"),), colours={"#333": 5, "#0000ee": 9}
    )
    assert chosen(styles, theme_color="#ffffff") == {}


def test_the_first_value_of_a_place_stays_and_places_are_nested() -> None:
    sheet = BrandProfile()
    sheet.put("colors.primary", SourcedValue("#ff5500", "css:a"))
    sheet.put("colors.primary", SourcedValue("#000000", "css:b"))
    sheet.put("logo", None)
    sheet.put_value("typography.fontStacks.primary", ["A", "serif"], "css:body")
    sheet.put_value("spacing.baseUnit", 8)
    sheet.note_source("spacing.baseUnit", "css:counted")
    assert sheet.get("colors.primary") == SourcedValue("#ff5500", "css:a")
    assert sheet.get("logo") is None
    assert sheet.as_json() == {
        "colors": {"primary": "#ff5500"},
        "typography": {"fontStacks": {"primary": ["A", "serif"]}},
        "spacing": {"baseUnit": 8},
        "sources": {
            "colors.primary": "css:a",
            "typography.fontStacks.primary": "css:body",
            "spacing.baseUnit": "css:counted",
        },
    }


def test_an_empty_sheet_is_empty() -> None:
    assert BrandProfile().as_json() == {}

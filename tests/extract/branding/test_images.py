"""The pictures that a brand is known by."""

import base64

import pytest

from cinder.extract.branding.images import MAX_DRAWING_CHARS, find_icon, find_logo
from cinder.extract.branding.styles import Styled
from cinder.extract.html_tree import parse_address, parse_html
from cinder.model.document import Json

BASE = parse_address("https://example.com/dir/page")
LOGO = "https://example.com/l.png"


def logo_of(html: str, *json_ld: dict[str, Json]) -> Styled | None:
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
    assert logo_of(html) == Styled(LOGO, source)


@pytest.mark.parametrize(
    "thing",
    [
        {"@type": "Organization", "logo": "/l.png"},
        {"@type": "Organization", "logo": {"@type": "ImageObject", "url": "/l.png"}},
        {"@type": "Article", "publisher": {"name": "x", "logo": {"contentUrl": "/l.png"}}},
    ],
)
def test_a_declared_logo_is_taken(thing: dict[str, Json]) -> None:
    assert logo_of("<p><img class=partner-logo src=/p.png></p>", thing) == Styled(
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
        f"<path d='{'0' * MAX_DRAWING_CHARS}'></path>",
    ],
)
def test_a_drawing_that_might_do_more_or_shows_nothing_is_not_taken(inside: str) -> None:
    assert logo_of(f"<header class=logo><svg class=logo>{inside}</svg></header>") is None


def test_a_page_without_a_logo_has_none() -> None:
    assert logo_of("<header><img src=/photo.png></header><img src='data:image/png,logo'>") is None


def test_the_icon_is_a_drawing_or_the_largest() -> None:
    icons = "<link rel=icon href=/16.png sizes=16x16><link rel='shortcut icon' href=/32.png "
    icons += "sizes=32x32><link rel=apple-touch-icon href=/180.png sizes=180x180>"
    largest = Styled("https://example.com/180.png", "link:apple-touch-icon")
    assert find_icon(parse_html(icons), BASE) == largest
    drawn = Styled("https://example.com/i.svg", "link:icon")
    assert find_icon(parse_html(icons + "<link rel=icon href=/i.svg>"), BASE) == drawn
    assert find_icon(parse_html("<link rel=icon href='data:,x'>"), BASE) is None

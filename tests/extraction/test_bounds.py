"""Hostile pages and schemas: extraction ends, and says what was left out."""

import json

import pytest

from cinder.extraction.filling import MAX_RECORDS, extract_fields
from cinder.extraction.flat_page import MAX_ELEMENTS
from cinder.models.document import Json

ITEMS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "price": {"type": "number"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "price": {"type": "number"}},
            },
        },
    },
}
ROWS = "".join(f"<tr><td>Thing {n}</td><td>${n}</td></tr>" for n in range(20_000))
CARDS = "".join(f"<div class=card><h3>Thing {n}</h3><p>${n}</p></div>" for n in range(15_000))


@pytest.mark.parametrize(
    "html", [f"<table><tr><th>Name</th><th>Price</th></tr>{ROWS}</table>", CARDS]
)
def test_a_list_of_thousands_is_cut_and_says_so(html: str) -> None:
    found = extract_fields(html, None, url="https://a.example/", schema=ITEMS)
    assert isinstance(found.data, dict)
    items = found.data["items"]
    assert isinstance(items, list)
    assert 0 < len(items) <= MAX_RECORDS
    assert items[0] == {"name": "Thing 0", "price": 0}
    told = " ".join(found.warnings)
    assert str(MAX_ELEMENTS) in told
    assert str(MAX_RECORDS) in told


@pytest.mark.parametrize(
    "html",
    [
        "<div class='price name'>" * 4_000 + "$12",
        "<span class='price name'>" * 4_000 + "$12",
        "<table><tr><td>" * 1_000 + "Price: 12",
        "<ul><li>" * 90 + "<p>Price: 12</p>" * 2_000,
        "<p>" + "Price: 12 | " * 100_000,
        "<p class=price>" + "1," * 300_000,
        "<p>" + "a@" * 200_000 + "</p><p>" + "+1 " * 100_000,
        "<dl><dt>Price</dt>" + "<dd>1</dd>" * 30_000,
        "<div itemscope><b itemprop=price>1</b>" * 3_000,
        "<div>" + "<b class=l>Price</b><i class=v>12</i>" * 15_000,
        "<h3>Name</h3><p>Price: 3</p>" * 10_000,
        '<script type="application/ld+json">'
        + json.dumps({"@graph": [{"@id": "a", "b": [{"@id": "a"}] * 400}]})
        + "</script>",
        "",
        "\x00<",
    ],
)
def test_a_page_made_to_hurt_is_read_to_an_end(html: str) -> None:
    found = extract_fields(html, html[:100_000], url="https://a.example/", schema=ITEMS)
    assert isinstance(found.data, dict)


def test_a_bomb_is_read_by_its_text_alone() -> None:
    html = "<b>" * 20_000
    found = extract_fields(html, "Price: $12", url="https://a.example/", schema=ITEMS)
    assert found.data == {"price": 12}
    assert "markup was not read" in found.warnings[0]


def test_a_giant_schema_ends() -> None:
    properties: dict[str, Json] = {
        f"price name {n}": {"type": "string", "description": "price name " * 50}
        for n in range(3_000)
    }
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    rows = "".join(f"<tr><th>price {n}</th><td>{n}</td></tr>" for n in range(300))
    found = extract_fields(f"<table>{rows}</table>", None, url="https://a.example/", schema=schema)
    assert len(found.warnings) == 1

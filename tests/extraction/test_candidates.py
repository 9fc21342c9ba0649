"""Postal addresses split into their parts."""

import pytest

from cinder.extraction.candidates import split_address
from cinder.extraction.filling import extract_fields
from cinder.models.document import Json


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "12 High Street, Springfield, IL 62701, USA",
            {
                "street": "12 High Street",
                "city": "Springfield",
                "region": "IL",
                "postal code": "62701",
                "country": "USA",
            },
        ),
        (
            "Hauptstraße 5, 80331 München",
            {"street": "Hauptstraße 5", "city": "München", "postal code": "80331"},
        ),
        (
            "4 Mill Lane, Leeds, LS1 4AB",
            {"street": "4 Mill Lane", "city": "Leeds", "postal code": "LS1 4AB"},
        ),
    ],
)
def test_an_address_in_one_line_is_taken_apart(text: str, parts: dict[str, str]) -> None:
    assert dict(split_address(text)) == parts


@pytest.mark.parametrize("text", ["", "Leeds", "On the hill, near the church", "5, 6, 7"])
def test_what_cannot_be_told_is_left_alone(text: str) -> None:
    assert split_address(text) == []


@pytest.mark.parametrize(
    "markup",
    [
        "<p>Address: 4 Mill Lane, Leeds, LS1 4AB</p>",
        "<address>4 Mill Lane<br>Leeds<br>LS1 4AB</address>",
        "<footer><div class=address>4 Mill Lane, Leeds LS1 4AB</div></footer>",
    ],
)
def test_a_page_that_writes_an_address_in_one_text_fills_its_fields(markup: str) -> None:
    text: Json = {"type": "string"}
    schema: dict[str, Json] = {
        "properties": {
            "address": {
                "type": "object",
                "properties": {"street": text, "city": text, "postalCode": text},
            }
        }
    }
    found = extract_fields(f"<h1>Shop</h1>{markup}", None, url="https://a.example/", schema=schema)
    assert found.data == {
        "address": {"street": "4 Mill Lane", "city": "Leeds", "postalCode": "LS1 4AB"}
    }
    assert all(value.is_grounded for value in found.values)

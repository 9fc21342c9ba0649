"""Values that a caller claims are looked up in the pages."""

import pytest

from cinder.models.document import Json
from cinder.models.extraction import ClaimedValue, Grounding
from cinder.services.extraction.service import schema_of_claims, verify_claims
from cinder.services.extraction.stages import LoadedPage, make_extraction_spec

KETTLE = "# Kettle\n\nForged by old Tobias Flint on 5 March 2024. You pay 49.50 euros."
LANTERN = "# Lantern\n\nForged by Berta Wick, who is in stock of nothing else."
PAGES = {
    url: LoadedPage(url=url, markdown=markdown, text=None, content_type="text/html")
    for url, markdown in (("https://a/1", KETTLE), ("https://a/2", LANTERN))
}
WISH = make_extraction_spec(
    "",
    {
        "type": "object",
        "properties": {
            "smith": {"type": "string"},
            "price": {"type": "number"},
            "forged": {"type": "string", "format": "date"},
            "wares": {
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
        },
    },
)


async def test_quotes_are_found_in_any_page_unless_one_is_named() -> None:
    claim = ClaimedValue(path=("smith",), value="Berta Wick", quote="Forged by Berta Wick")
    found = await verify_claims([claim], PAGES, WISH)
    (smith,) = found.values
    assert (smith.evidence[0].url, smith.is_grounded) == ("https://a/2", True)
    elsewhere = ClaimedValue(
        path=claim.path, value=claim.value, quote=claim.quote, url="https://a/1"
    )
    (smith,) = (await verify_claims([elsewhere], PAGES, WISH)).values
    assert smith.evidence[0].grounding is Grounding.UNVERIFIED


async def test_a_quote_that_does_not_say_the_value_proves_nothing() -> None:
    claim = ClaimedValue(path=("price",), value=12, quote="You pay 49.50 euros")
    (price,) = (await verify_claims([claim], PAGES, WISH)).values
    assert price.evidence[0].grounding is Grounding.UNVERIFIED


async def test_dates_are_brought_into_the_form_of_the_schema() -> None:
    claim = ClaimedValue(path=("forged",), value="5 March 2024", quote="on 5 March 2024")
    (forged,) = (await verify_claims([claim], PAGES, WISH)).values
    assert forged.value == "2024-03-05"
    assert forged.evidence[0].grounding is Grounding.NORMALIZED


@pytest.mark.parametrize(
    ("said", "value", "grounding"),
    [
        ("49.50", 49.5, Grounding.VERIFIED),
        ("1e999", "1e999", Grounding.UNVERIFIED),
        ("true", "true", Grounding.UNVERIFIED),
    ],
)
async def test_a_number_may_be_claimed_as_text(
    said: str, value: Json, grounding: Grounding
) -> None:
    claim = ClaimedValue(path=("price",), value=said, quote="You pay 49.50 euros")
    (price,) = (await verify_claims([claim], PAGES, WISH)).values
    assert (price.value, price.evidence[0].grounding) == (value, grounding)


async def test_objects_and_arrays_are_checked_value_by_value() -> None:
    wares = [{"name": "Kettle"}, {"name": "Poker"}]
    claim = ClaimedValue(path=("wares",), value=wares, quote="# Kettle")
    found = await verify_claims([claim], PAGES, WISH)
    assert found.data == {"wares": wares}
    assert [each.is_grounded for each in found.values] == [True, False]


async def test_arrays_close_up_where_places_were_left_out() -> None:
    claims = [
        ClaimedValue(path=("wares", place, "name"), value=name, quote=name)
        for place, name in ((4, "Lantern"), (1, "Kettle"))
    ]
    found = await verify_claims(claims, PAGES, WISH)
    assert found.data == {"wares": [{"name": "Kettle"}, {"name": "Lantern"}]}
    assert {each.path: each.value for each in found.values} == {
        ("wares", 0, "name"): "Kettle",
        ("wares", 1, "name"): "Lantern",
    }


async def test_the_whole_may_be_claimed_at_once() -> None:
    data: dict[str, Json] = {"smith": "Tobias Flint", "wares": [{"name": "Kettle"}]}
    claim = ClaimedValue(path=(), value=data, quote="Forged by old Tobias Flint")
    found = await verify_claims([claim], PAGES, WISH)
    assert found.data == data
    assert [each.is_grounded for each in found.values] == [True, False]


async def test_what_is_no_field_of_the_schema_is_left_out_and_said() -> None:
    claim = ClaimedValue(path=("colour",), value="red", quote="red")
    found = await verify_claims([claim], PAGES, WISH)
    assert found.values == ()
    assert found.warnings == ("colour is not a field of the schema, so that it was left out.",)


def test_claims_have_a_schema_of_their_own() -> None:
    claims = [
        ClaimedValue(path=("name",), value="Kettle", quote="Kettle"),
        ClaimedValue(path=("offers", 0), value={"price": 1.5, "isNew": True}, quote="1.5"),
    ]
    offer = {
        "type": "object",
        "properties": {"price": {"type": "number"}, "isNew": {"type": "boolean"}},
    }
    assert schema_of_claims(claims) == {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "offers": {"type": "array", "items": offer},
        },
    }
    assert schema_of_claims([]) == {"type": "object"}

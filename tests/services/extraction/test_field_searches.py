from collections.abc import Mapping

from cinder.models.document import Json
from cinder.services.extraction.field_searches import plan_searches

SCHEMA: Mapping[str, Json] = {
    "properties": {
        "price": {"type": "number"},
        "address": {"properties": {"city": {"type": "string"}, "zip": {"type": "string"}}},
        "address_city": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "offers": {
            "type": "array",
            "items": {
                "properties": {
                    "quote": {"type": "string"},
                    "seller": {"properties": {"name": {"type": "string"}}},
                    "colours": {"type": "array", "items": {"type": "string"}},
                }
            },
        },
        "Größe": {"type": "string"},
    }
}


def names(*asked: str) -> dict[str, str]:
    searches, _ = plan_searches(SCHEMA, asked)
    return {each.name: each.key for each in searches}


def test_each_named_field_has_a_search_of_its_own() -> None:
    assert names("price", "address.city") == {"price": "price", "address.city": "address_city"}


def test_the_name_of_an_object_means_all_its_fields() -> None:
    assert set(names("address")) == {"address.city", "address.zip"}


def test_what_stands_in_an_array_means_the_whole_array() -> None:
    assert set(names("offers[].seller.name", "tags[]")) == {"offers", "tags"}


def test_keys_are_such_as_servers_take_and_never_the_same() -> None:
    assert names("address.city", "address_city") == {
        "address.city": "address_city",
        "address_city": "address_city_2",
    }
    assert names("Größe") == {"Größe": "Gr_e"}


def test_items_have_flat_columns_beside_their_quote() -> None:
    (search,), _ = plan_searches(SCHEMA, ("offers",))
    item = search.wire["items"]
    assert isinstance(item, dict)
    assert item["properties"] == {
        "quote": {"type": "string"},
        "quote_2": {"type": "string"},
        "seller_name": {"type": "string"},
    }


def test_what_is_not_in_the_schema_is_named() -> None:
    assert plan_searches(SCHEMA, ("weight", "price"))[1] == ("weight",)


def test_a_schema_of_one_value_and_one_of_an_array_are_asked_for_as_a_whole() -> None:
    (value,), _ = plan_searches({"type": "string"}, ("",))
    (items,), _ = plan_searches({"type": "array", "items": {"type": "number"}}, ("[]",))
    assert (value.key, items.key) == ("field", "field")

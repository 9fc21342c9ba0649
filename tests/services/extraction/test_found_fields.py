"""Which fields of a schema are open."""

from collections.abc import Mapping

from cinder.models.document import Json
from cinder.services.extraction.found_fields import (
    field_of,
    list_fields,
    open_fields,
    still_missing,
)
from tests.services.extraction.findings import findings, value

SCHEMA: Mapping[str, Json] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "maker": {"type": "object", "properties": {"city": {"type": "string"}}},
        "offers": {
            "type": "array",
            "items": {"type": "object", "properties": {"price": {"type": "number"}}},
        },
    },
}


def test_fields_are_single_values_and_whole_arrays() -> None:
    fields = list_fields(SCHEMA)
    assert fields.names == ("name", "maker.city", "offers")
    assert (fields.arrays, fields.nothing) == (frozenset(("offers",)), {})
    whole = list_fields({"type": "array", "items": {"type": "string"}})
    assert (whole.names, whole.arrays, whole.nothing) == (("",), frozenset(("",)), [])


def test_a_value_belongs_to_the_field_above_the_first_array() -> None:
    assert field_of(("offers", 2, "price")) == "offers"
    assert field_of(("maker", "city")) == "maker.city"
    assert field_of((0,)) == ""


def test_what_is_weak_or_not_proved_is_still_open_but_not_missing() -> None:
    names = list_fields(SCHEMA).names
    found = findings(
        value(("name",), "Kettle", score=0.66),
        value(("maker", "city"), "Leeds", is_grounded=False),
        value(("offers", 0, "price"), 3),
    )
    assert open_fields(names, found) == ("name", "maker.city")
    assert still_missing(names, found) == ()
    assert still_missing(names, findings()) == names

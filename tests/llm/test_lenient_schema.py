"""Schemas in which whatever is not known may be missing."""

import pytest

from cinder.llm.lenient_schema import make_lenient, make_nullable
from cinder.llm.schema_check import SchemaCheck
from cinder.model.document import Json


def test_every_value_but_the_whole_one_may_be_null_and_none_is_required() -> None:
    lenient = make_lenient(
        {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string", "minLength": 2},
                "kind": {"enum": ["tea", "coffee"]},
                "unit": {"const": "kg"},
                "tags": {"type": "array", "minItems": 1, "items": {"type": ["string", "null"]}},
                "maker": {"$ref": "#/$defs/maker"},
            },
            "$defs": {"maker": {"type": "object", "required": ["city"]}},
        }
    )
    assert lenient == {
        "type": "object",
        "properties": {
            "name": {"type": ["string", "null"], "minLength": 2},
            "kind": {"enum": ["tea", "coffee", None]},
            "unit": {"enum": ["kg", None]},
            "tags": {"type": ["array", "null"], "items": {"type": ["string", "null"]}},
            "maker": {"$ref": "#/$defs/maker"},
        },
        "$defs": {"maker": {"type": ["object", "null"]}},
    }
    assert make_nullable({"type": "number"}) == {"type": ["number", "null"]}


@pytest.mark.parametrize(
    ("value", "is_valid"),
    [({"a": None}, True), ({"a": 1}, True), ({"a": "x"}, True), ({"a": []}, False), ({}, True)],
)
def test_null_may_match_several_of_one(value: Json, is_valid: bool) -> None:
    one: dict[str, Json] = {"oneOf": [{"type": "number"}, {"type": "string"}]}
    lenient = make_lenient({"properties": {"a": one, "b": {"$ref": "#/properties/a/oneOf/0"}}})
    assert (SchemaCheck(lenient).problems(value) == ()) is is_valid

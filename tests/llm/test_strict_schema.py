"""Schemas in the narrow dialect that servers hold models to."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.llm.schema_check import SchemaCheck
from cinder.llm.strict_schema import NotStrict, make_strict
from cinder.model.document import Json


def strict_of(part: Json) -> Json:
    """The narrow form of one property."""
    properties = make_strict({"type": "object", "properties": {"a": part}})["properties"]
    assert isinstance(properties, Mapping)
    return properties["a"]


def test_objects_list_all_they_have_and_leaves_may_be_null() -> None:
    assert make_strict(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Product",
            "properties": {
                "name": {"type": "string", "minLength": 1, "description": "as written"},
                "offers": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": "object", "properties": {"price": {"type": "number"}}},
                },
            },
        }
    ) == {
        "type": "object",
        "properties": {
            "name": {"type": ["string", "null"], "description": "as written"},
            "offers": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"price": {"type": ["number", "null"]}},
                    "required": ["price"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["name", "offers"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("part", "strict"),
    [
        ({}, {"type": ["string", "number", "integer", "boolean", "null"]}),
        (True, {"type": ["string", "number", "integer", "boolean", "null"]}),
        ({"type": ["integer", "null"]}, {"type": ["integer", "null"]}),
        ({"enum": ["a", 1, None]}, {"type": ["string", "integer", "null"], "enum": ["a", 1, None]}),
        ({"const": True}, {"type": ["boolean", "null"], "enum": [True, None]}),
        ({"items": {"type": "string"}}, {"type": "array", "items": {"type": ["string", "null"]}}),
        (
            {"oneOf": [{"type": "number"}, {"type": "string", "format": "date"}]},
            {"anyOf": [{"type": ["number", "null"]}, {"type": ["string", "null"]}]},
        ),
        (
            {"type": ["string", "array"], "items": {"type": "string"}},
            {
                "anyOf": [
                    {"type": ["string", "null"]},
                    {"type": "array", "items": {"type": ["string", "null"]}},
                ]
            },
        ),
        ({"allOf": [{"type": "string"}]}, {"type": ["string", "null"]}),
    ],
)
def test_each_kind_of_value_has_its_form(part: Json, strict: Json) -> None:
    assert strict_of(part) == strict


def test_definitions_come_along_even_if_they_name_themselves() -> None:
    strict = make_strict(
        {
            "type": "object",
            "properties": {"top": {"$ref": "#/definitions/node"}},
            "definitions": {
                "node": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string"},
                        "below": {"type": "array", "items": {"$ref": "#/definitions/node"}},
                    },
                }
            },
        }
    )
    assert strict["properties"] == {"top": {"$ref": "#/$defs/node"}}
    assert SchemaCheck(strict).problems({"top": {"text": "a", "below": []}}) == ()
    assert len(SchemaCheck(strict).problems({"top": {"text": 5}})) == 2


@pytest.mark.parametrize(
    ("part", "words"),
    [
        ({"type": "object"}, "a: its properties may have any names"),
        ({"properties": {"b": {}}, "additionalProperties": {"type": "string"}}, "any names"),
        ({"type": "array", "items": {"patternProperties": {"x": {}}, "type": "object"}}, r"a\[\]"),
        ({"prefixItems": [{}], "type": "array"}, "by their places"),
        ({"allOf": [{}, {}]}, "several schemas"),
        ({"$ref": "#/properties/b"}, "none of its"),
        ({"enum": [[1]]}, "objects or arrays"),
        (False, "nothing is allowed"),
    ],
)
def test_what_cannot_be_said_is_told_with_its_place(part: Json, words: str) -> None:
    with pytest.raises(NotStrict, match=words):
        strict_of(part)


scalars = st.sampled_from(["string", "number", "integer", "boolean"])
schemas: st.SearchStrategy[dict[str, Json]] = st.recursive(
    st.builds(lambda kind: {"type": kind}, scalars),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda properties: {"type": "object", "properties": properties},
            st.dictionaries(st.text("ab$", min_size=1, max_size=3), inner, min_size=1, max_size=3),
        ),
    ),
    max_leaves=8,
)


@given(schemas)
def test_the_narrow_form_is_valid_and_takes_only_what_is_whole(schema: dict[str, Json]) -> None:
    strict = make_strict({"type": "object", "properties": {"a": schema}})
    check = SchemaCheck(strict)
    assert check.problems({}) != ()
    assert check.problems({"a": _blank(strict_of(schema)), "b": 1}) != ()
    assert check.problems({"a": _blank(strict_of(schema))}) == ()


def _blank(strict: Json) -> Json:
    """A value that knows nothing."""
    assert isinstance(strict, Mapping)
    properties = strict.get("properties")
    if isinstance(properties, Mapping):
        return {name: _blank(part) for name, part in properties.items()}
    return [] if strict["type"] == "array" else None

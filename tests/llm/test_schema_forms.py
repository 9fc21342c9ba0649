"""Schemas in strict and relaxed form."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.llm.schema_check import SchemaCheck
from cinder.llm.schema_forms import (
    NotStrict,
    build_schema_forms,
    make_nullable,
    make_strict,
    relax_schema,
)
from cinder.llm.wire_format import ResponseFormat
from cinder.models.document import Json


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


def test_an_object_is_asked_for_as_it_is() -> None:
    forms = build_schema_forms({"properties": {"name": {"type": "string", "maxLength": 3}}})
    assert not forms.is_wrapped
    assert forms.strict == {
        "type": "object",
        "properties": {"name": {"type": ["string", "null"]}},
        "required": ["name"],
        "additionalProperties": False,
    }
    assert forms.shown == {
        "type": "object",
        "properties": {"name": {"type": ["string", "null"], "maxLength": 3}},
    }
    assert forms.check.problems({"name": "four"}) == ('name: "four" is longer than 3 characters',)


def test_all_else_is_asked_for_in_an_object_that_has_it() -> None:
    forms = build_schema_forms(
        {"$ref": "#/$defs/price", "$defs": {"price": {"type": "number", "minimum": 0}}}
    )
    assert forms.shown == {
        "$defs": {"price": {"type": ["number", "null"], "minimum": 0}},
        "type": "object",
        "properties": {"answer": {"$ref": "#/$defs/price"}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    assert forms.unwrap({"answer": 5}) == 5
    assert forms.check.problems(None) == ()
    with pytest.raises(ValueError, match="'answer'"):
        forms.unwrap({"price": 5})


def test_what_servers_cannot_hold_a_model_to_begins_lower() -> None:
    free = build_schema_forms({"type": "object"})
    fixed = build_schema_forms({"properties": {"a": {}}})
    assert free.strict is None
    assert [free.fitting(format_) for format_ in ResponseFormat] == [
        ResponseFormat.JSON_OBJECT,
        ResponseFormat.JSON_OBJECT,
        ResponseFormat.PROMPT,
    ]
    assert [fixed.fitting(format_) for format_ in ResponseFormat] == list(ResponseFormat)


def test_schemas_are_told_apart_whatever_the_order_of_their_words() -> None:
    first = build_schema_forms({"properties": {"a": {"type": "string"}}, "type": "object"})
    same = build_schema_forms({"type": "object", "properties": {"a": {"type": "string"}}})
    other = build_schema_forms({"type": "object", "properties": {"a": {"type": "number"}}})
    assert first.digest == same.digest != other.digest


def test_every_value_but_the_whole_one_may_be_null_and_none_is_required() -> None:
    lenient = relax_schema(
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
    lenient = relax_schema({"properties": {"a": one, "b": {"$ref": "#/properties/a/oneOf/0"}}})
    assert (SchemaCheck(lenient).problems(value) == ()) is is_valid

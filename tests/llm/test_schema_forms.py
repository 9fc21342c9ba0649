"""The forms of one schema."""

import pytest

from cinder.llm.schema_forms import read_schema
from cinder.llm.wire import Rung


def test_an_object_is_asked_for_as_it_is() -> None:
    forms = read_schema({"properties": {"name": {"type": "string", "maxLength": 3}}})
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
    forms = read_schema(
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
    free = read_schema({"type": "object"})
    fixed = read_schema({"properties": {"a": {}}})
    assert free.strict is None
    assert [free.fitting(rung) for rung in Rung] == [
        Rung.JSON_OBJECT,
        Rung.JSON_OBJECT,
        Rung.PROMPT,
    ]
    assert [fixed.fitting(rung) for rung in Rung] == list(Rung)


def test_schemas_are_told_apart_whatever_the_order_of_their_words() -> None:
    first = read_schema({"properties": {"a": {"type": "string"}}, "type": "object"})
    same = read_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    other = read_schema({"type": "object", "properties": {"a": {"type": "number"}}})
    assert first.digest == same.digest != other.digest

"""The schemas of arguments and results."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field

from cinder.mcp.schema import Parameter, input_schema, output_schema


class Inner(BaseModel):
    name: str | None = None
    kind: Literal["only"]


class Outer(BaseModel):
    count: int = Field(3, ge=1, le=9)
    inner: Inner | None = None
    many: list[Inner] = Field(default_factory=list)
    headers: dict[str, str] = Field(default_factory=dict)
    free: dict[str, Any] | None = None
    choice: Literal["a", "b"] = "a"
    required: str


class Union(BaseModel):
    either: int | str


def test_optional_nested_and_single_valued_fields_become_plain_types() -> None:
    inner = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "kind": {"type": "string", "enum": ["only"]}},
        "required": ["kind"],
    }
    assert output_schema(Outer) == {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "inner": inner,
            "many": {"type": "array", "items": inner},
            "headers": {"type": "object", "additionalProperties": {"type": "string"}},
            "free": {"type": "object"},
            "choice": {"type": "string", "enum": ["a", "b"]},
            "required": {"type": "string"},
        },
        "required": ["required"],
    }


def test_input_schema_shows_only_what_is_offered_of_it() -> None:
    parameters = {
        "choice": Parameter(description="Which", choices=("a",)),
        "count": Parameter(is_required=True),
        "required": Parameter(),
    }
    assert input_schema(Outer, parameters) == {
        "type": "object",
        "properties": {
            "choice": {
                "type": "string",
                "enum": ["a"],
                "description": "Which",
                "default": "a",
            },
            "count": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9},
            "required": {"type": "string"},
        },
        "required": ["count", "required"],
        "additionalProperties": False,
    }


def test_a_free_object_names_what_it_may_hold_or_is_a_text() -> None:
    named = {"type": "object", "properties": {"Cookie": {"type": "string"}}}
    parameters = {
        "headers": Parameter(keys=("Cookie",), description="Any"),
        "many": Parameter(keys=("Cookie",)),
        "free": Parameter(is_text=True),
    }
    assert input_schema(Outer, parameters)["properties"] == {
        "headers": named | {"description": "Any"},
        "many": {"type": "array", "items": named},
        "free": {"type": "string"},
    }


def test_a_union_cannot_be_offered() -> None:
    with pytest.raises(TypeError, match="no single plain type"):
        output_schema(Union)

"""The forms of a caller's schema: for servers to hold a model to, to read, and to check by."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from cinder.llm.lenient_schema import make_lenient, make_nullable
from cinder.llm.schema_check import SchemaCheck
from cinder.llm.strict_schema import NotStrict, make_strict
from cinder.llm.wire import ANSWER_NAME, Rung, WantedJson
from cinder.model.document import Json

_ROOT_ONLY = ("$schema", "$id", "$defs", "definitions")
_ELSEWHERE = ("$ref", "allOf", "anyOf", "enum", "oneOf")


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaForms:
    """One schema, in all its forms."""

    strict: Mapping[str, Json] | None
    """None where servers cannot hold a model to it."""
    shown: Mapping[str, Json]
    check: SchemaCheck
    is_wrapped: bool
    """Whether the model is asked for an object that has the value in it, as all servers take
    objects alone."""

    @property
    def digest(self) -> bytes:
        """What tells it from other schemas."""
        return sha256(json.dumps(self.shown, sort_keys=True).encode()).digest()

    def fitting(self, rung: Rung) -> Rung:
        """Return the rung, or the one below if that one cannot serve."""
        is_too_high = self.strict is None and rung is Rung.JSON_SCHEMA
        return Rung.JSON_OBJECT if is_too_high else rung

    def wanted(self, rung: Rung) -> WantedJson:
        """Return what to ask for on a rung."""
        return WantedJson(rung=rung, strict=self.strict or {}, shown=self.shown)

    def unwrap(self, value: Json) -> Json:
        """Return the value of an answer.

        Raises:
            ValueError: it has none.
        """
        if not self.is_wrapped:
            return value
        if not isinstance(value, Mapping) or ANSWER_NAME not in value:
            raise ValueError(f"it is no object with the property {ANSWER_NAME!r}")
        return value[ANSWER_NAME]


def read_schema(schema: Mapping[str, Json]) -> SchemaForms:
    """Return the forms of a schema.

    Raises:
        InvalidRequest: it is not valid JSON Schema, or too large; names where.
    """
    SchemaCheck(schema)
    if _is_plain_object(schema):
        lenient = {**make_lenient(schema), "type": "object"}
        return SchemaForms(
            strict=_strict_or_none(schema),
            shown=lenient,
            check=SchemaCheck(lenient),
            is_wrapped=False,
        )
    nullable = make_nullable(schema)
    return SchemaForms(
        strict=_strict_or_none(_wrap(schema)),
        shown=_wrap(nullable),
        check=SchemaCheck(nullable),
        is_wrapped=True,
    )


def _strict_or_none(schema: Mapping[str, Json]) -> Mapping[str, Json] | None:
    try:
        return make_strict(schema)
    except NotStrict:
        return None


def _is_plain_object(schema: Mapping[str, Json]) -> bool:
    is_object = schema.get("type") == "object" or ("type" not in schema and "properties" in schema)
    return is_object and not any(key in schema for key in _ELSEWHERE)


def _wrap(schema: Mapping[str, Json]) -> dict[str, Json]:
    inner = {key: value for key, value in schema.items() if key not in _ROOT_ONLY}
    outer = {key: schema[key] for key in _ROOT_ONLY if key in schema}
    return {
        **outer,
        "type": "object",
        "properties": {ANSWER_NAME: inner},
        "required": [ANSWER_NAME],
        "additionalProperties": False,
    }

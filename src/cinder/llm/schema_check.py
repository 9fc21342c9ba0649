"""Checking values against a JSON Schema that a caller wrote, and the schema itself."""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Never

import jsonschema_rs

from cinder.errors import FieldProblem, InvalidRequest
from cinder.llm.schema_cost import TooCostly, check_cost
from cinder.model.document import Json

MAX_SCHEMA_CHARS = 100_000
MAX_SCHEMA_DEPTH = 64
MAX_SCHEMA_PARTS = 10_000
MAX_VALUE_DEPTH = 64

_MAX_PATTERN_BYTES = 1_000_000
_MAX_PROBLEMS = 10
_MAX_PROBLEM_CHARS = 300


class SchemaCheck:
    """A schema that values can be checked against.

    A check takes a time that can be foreseen: references stay within the schema and do not
    multiply, and patterns are regular expressions of linear time, so without look-around. Nothing
    is ever asked of the network.

    Raises:
        InvalidRequest: it is not valid JSON Schema, or too large; names where.
    """

    def __init__(self, schema: Mapping[str, Json], field: str = "schema") -> None:
        if problem := _find_excess(schema):
            _refuse(field, problem)
        try:
            check_cost(schema)
            self._validator = jsonschema_rs.validator_for(
                dict(schema),
                pattern_options=jsonschema_rs.RegexOptions(size_limit=_MAX_PATTERN_BYTES),
                offline=True,
            )
        except TooCostly as error:
            _refuse(field, str(error))
        except jsonschema_rs.ValidationError as error:
            _refuse(_join(field, error.instance_path), _cut(error.message))
        except ValueError as error:
            _refuse(field, _cut(str(error)))

    def problems(self, value: Json) -> tuple[str, ...]:
        """Return what is wrong with a value, up to ten sentences; nothing where it is valid."""
        return tuple(f"{_join('', place)}: {message}" for place, message in self.violations(value))

    def violations(
        self, value: Json, most: int = _MAX_PROBLEMS
    ) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Return what is wrong, each sentence with the place in the value that it is about."""
        if _is_deeper(value, MAX_VALUE_DEPTH):
            return (((), f"It is nested more than {MAX_VALUE_DEPTH} levels deep"),)
        try:
            errors = list(islice(self._validator.iter_errors(value), most))
        except ValueError as error:
            # Half of a surrogate pair, or a number beyond all measure.
            return (((), _cut(str(error))),)
        return tuple((tuple(error.instance_path), _cut(error.message)) for error in errors)


def _find_excess(schema: Json) -> str | None:
    """Return in which way a schema is too large, if so; without recursion."""
    level: list[Json] = [schema]
    parts = 0
    for _ in range(MAX_SCHEMA_DEPTH):
        parts += len(level)
        if not level or parts > MAX_SCHEMA_PARTS:
            break
        level = [child for value in level for child in _children(value)]
    if parts > MAX_SCHEMA_PARTS:
        return f"It has more than {MAX_SCHEMA_PARTS} parts"
    if level:
        return f"It is nested more than {MAX_SCHEMA_DEPTH} levels deep"
    if len(json.dumps(schema)) > MAX_SCHEMA_CHARS:
        return f"It has more than {MAX_SCHEMA_CHARS} characters"
    return None


def _is_deeper(value: Json, levels: int) -> bool:
    level: list[Json] = [value]
    for _ in range(levels):
        level = [child for parent in level for child in _children(parent)]
    return bool(level)


def _children(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _refuse(field: str, message: str) -> Never:
    raise InvalidRequest(problems=(FieldProblem(field, message),))


def _join(start: str, path: Iterable[str | int]) -> str:
    return ".".join(part for part in (start, *map(str, path)) if part) or "the answer"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_PROBLEM_CHARS else f"{text[:_MAX_PROBLEM_CHARS]}…"

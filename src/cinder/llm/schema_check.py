"""Checks values against a caller's JSON Schema, and limits the cost of such a check.

The cost is computed on the graph of a schema's subschemas. A subschema checks a part of the value,
or the same value again (`anyOf`, `$ref`). If two of the latter lead back to their start, the work
doubles with each level of the value; if many follow one another, it doubles with each of them.
"""

import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import islice
from urllib.parse import unquote

import jsonschema_rs

from cinder.errors import InvalidRequest
from cinder.models.document import Json

MAX_STEPS = 20_000
MAX_CHAIN = 500
MAX_CIRCULAR_CHAIN = 32
"""The steps of a cycle for one level of a value: the validator is recursive."""

_NAMED = ("properties", "dependencies", "dependentSchemas", "patternProperties")
_PARTS = ("additionalItems", "additionalProperties", "items", "prefixItems", "properties")
# Some of these check parts, but parts that others check too.
_SAME = (
    *("allOf", "anyOf", "contains", "dependencies", "dependentSchemas", "else", "if", "not"),
    *("oneOf", "patternProperties", "propertyNames", "then", "unevaluatedItems"),
    "unevaluatedProperties",
)
_MOVING = ("$dynamicRef", "$recursiveRef")


class TooCostly(Exception):
    """A check against the schema could take too long."""


@dataclass(slots=True)
class _Node:
    """A schema and its subschemas."""

    place: str
    same: list[int] = field(default_factory=list)
    """The subschemas that check the same value."""
    parts: list[int] = field(default_factory=list)
    """The subschemas that check different parts of the value."""
    cost: int = 1
    """The number of steps, without those that lead into a cycle."""
    chain: int = 1
    """The length of the longest path, likewise."""


def check_cost(schema: Mapping[str, Json]) -> None:
    """Check that the time of checking values against a schema is bounded.

    Raises:
        TooCostly: it is not; the message says where and why.
    """
    nodes = {id(schema): _Node("it")}
    waiting: deque[Mapping[str, Json]] = deque([schema])
    while waiting:
        current = waiting.popleft()
        node = nodes[id(current)]
        if current is not schema and "$id" in current:
            raise TooCostly(f"{node.place} has an $id of its own; only the whole schema may")
        for name, child, is_same in _subschemas(schema, current):
            (node.same if is_same else node.parts).append(id(child))
            if id(child) not in nodes:
                nodes[id(child)] = _Node(name)
                waiting.append(child)
    circular = _sum_costs(nodes)
    for key in circular:
        _check_cycle(nodes, circular, key)
    if sum(nodes[key].cost for key in circular) > MAX_STEPS:
        raise TooCostly(f"its references make more than {MAX_STEPS} steps of it")


def _check_cycle(nodes: Mapping[int, _Node], circular: Set[int], key: int) -> None:
    """Follow the path of subschemas that check the same value: it must be the only one, and end."""
    for _ in range(MAX_CIRCULAR_CHAIN):
        node = nodes[key]
        onward = [child for child in node.same if child in circular]
        if len(onward) + any(child in circular for child in node.parts) > 1:
            raise TooCostly(f"{node.place} leads back to itself in more than one way")
        if not onward:
            return
        key = onward[0]
    raise TooCostly(f"{nodes[key].place} leads back to itself by too many references")


def _subschemas(
    root: Mapping[str, Json], schema: Mapping[str, Json]
) -> Iterator[tuple[str, Mapping[str, Json], bool]]:
    for names, is_same in ((_PARTS, False), (_SAME, True)):
        for name in names:
            found, listed = schema.get(name), list[tuple[str, Json]]()
            if name not in _NAMED:
                parts = found if isinstance(found, list) else [found]
                listed = [(name, child) for child in parts]
            elif isinstance(found, Mapping):
                listed = [(f"{name}.{key}", child) for key, child in found.items()]
            for place, child in listed:
                if isinstance(child, Mapping):
                    yield place, child, is_same
    if any(name in schema for name in _MOVING):
        raise TooCostly("$dynamicRef and $recursiveRef cannot be used")
    if isinstance(reference := schema.get("$ref"), str):
        target = _resolve(root, reference)
        if isinstance(target, Mapping):
            yield reference, target, True


def _resolve(root: Mapping[str, Json], reference: str) -> Json:
    """Return the target of a reference; None if it has none, which the validator reports."""
    if reference != "#" and not reference.startswith("#/"):
        raise TooCostly(f"{reference[:100]} leads elsewhere; refer to places such as #/$defs/name")
    target: Json = root
    for step in unquote(reference).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, Mapping):
            target = target.get(name)
        elif isinstance(target, list) and name.isdecimal() and int(name[:9]) < len(target):
            target = target[int(name[:9])]
        else:
            return None
    return target


def _sum_costs(nodes: Mapping[int, _Node]) -> set[int]:
    """Fill in the costs, which must not be too high; return the schemas that lead into a cycle."""
    parents: dict[int, list[int]] = {key: [] for key in nodes}
    unresolved: dict[int, int] = {}
    for key, node in nodes.items():
        unresolved[key] = len(node.same) + len(node.parts)
        for child in (*node.same, *node.parts):
            parents[child].append(key)
    resolved = deque(key for key, count in unresolved.items() if not count)
    circular = set(nodes)
    while resolved:
        key = resolved.popleft()
        circular.discard(key)
        if nodes[key].cost > MAX_STEPS:
            place = nodes[key].place
            raise TooCostly(f"references make more than {MAX_STEPS} steps of {place}")
        if nodes[key].chain > MAX_CHAIN:
            raise TooCostly(f"more than {MAX_CHAIN} references follow one another")
        for parent in parents[key]:
            nodes[parent].cost += nodes[key].cost
            nodes[parent].chain = max(nodes[parent].chain, nodes[key].chain + 1)
            unresolved[parent] -= 1
            if not unresolved[parent]:
                resolved.append(parent)
    return circular


MAX_SCHEMA_CHARS = 100_000
MAX_SCHEMA_DEPTH = 64
MAX_SCHEMA_PARTS = 10_000
MAX_VALUE_DEPTH = 64

_MAX_PATTERN_BYTES = 1_000_000
_MAX_PROBLEMS = 10
_MAX_PROBLEM_CHARS = 300


class SchemaCheck:
    """A schema that values can be checked against.

    The time of a check is bounded: references stay within the schema and do not multiply, and
    patterns are regular expressions of linear time, without look-around. There are no network
    requests.

    Raises:
        InvalidRequest: it is not valid JSON Schema, or too large; the message says where.
    """

    def __init__(self, schema: Mapping[str, Json]) -> None:
        if problem := _find_excess(schema):
            raise InvalidRequest.at("schema", problem)
        try:
            check_cost(schema)
            self._validator = jsonschema_rs.validator_for(
                dict(schema),
                pattern_options=jsonschema_rs.RegexOptions(size_limit=_MAX_PATTERN_BYTES),
                offline=True,
            )
        except TooCostly as error:
            raise InvalidRequest.at("schema", str(error)) from error
        except jsonschema_rs.ValidationError as error:
            raise InvalidRequest.at(
                _join("schema", error.instance_path), _cut(error.message)
            ) from error
        except ValueError as error:
            raise InvalidRequest.at("schema", _cut(str(error))) from error

    def problems(self, value: Json) -> tuple[str, ...]:
        """Return up to ten sentences about a value's problems; none if it is valid."""
        return tuple(f"{_join('', place)}: {message}" for place, message in self.violations(value))

    def violations(
        self, value: Json, most: int = _MAX_PROBLEMS
    ) -> tuple[tuple[tuple[str | int, ...], str], ...]:
        """Return the problems of a value, each with its path in the value."""
        level: list[Json] = [value]
        for _ in range(MAX_VALUE_DEPTH):
            level = [child for parent in level for child in _json_children(parent)]
        if level:
            return (((), f"It is nested more than {MAX_VALUE_DEPTH} levels deep"),)
        try:
            errors = list(islice(self._validator.iter_errors(value), most))
        except ValueError as error:
            # Half of a surrogate pair, or a number out of range.
            return (((), _cut(str(error))),)
        return tuple((tuple(error.instance_path), _cut(error.message)) for error in errors)


def _find_excess(schema: Json) -> str | None:
    """Return how a schema is too large, if it is; without recursion."""
    level: list[Json] = [schema]
    parts = 0
    for _ in range(MAX_SCHEMA_DEPTH):
        parts += len(level)
        if not level or parts > MAX_SCHEMA_PARTS:
            break
        level = [child for value in level for child in _json_children(value)]
    if parts > MAX_SCHEMA_PARTS:
        return f"It has more than {MAX_SCHEMA_PARTS} parts"
    if level:
        return f"It is nested more than {MAX_SCHEMA_DEPTH} levels deep"
    if len(json.dumps(schema)) > MAX_SCHEMA_CHARS:
        return f"It has more than {MAX_SCHEMA_CHARS} characters"
    return None


def _json_children(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def _join(start: str, path: Iterable[str | int]) -> str:
    return ".".join(part for part in (start, *map(str, path)) if part) or "the answer"


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_PROBLEM_CHARS else f"{text[:_MAX_PROBLEM_CHARS]}…"

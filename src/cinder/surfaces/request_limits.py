"""What one request may ask for: how deep, how long, how many, each by a setting."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from cinder.config import LimitsSettings
from cinder.errors import FieldProblem, InvalidRequest
from cinder.surfaces.arguments import MAX_KEYS

_WHOLE = "(request)"
_MAX_PROBLEMS = 20
_SELECTORS = ("includeTags", "excludeTags")
_PATTERNS = ("includePatterns", "excludePatterns")
# How many of these there may be, settings of their own say.
_COUNTED_ELSEWHERE = "urls"
# What JSON is parsed into. A request has many: a check for Mapping takes twenty times as long.
_CONTAINERS = (dict, list)
# JSON in a text is taken for what it holds: as an argument, within a list, or within a wrapper.
_UNPACKED_LEVELS = 3


def require_within(given: object, limits: LimitsSettings) -> None:
    """Return if a request keeps to the limits: before anything else looks through all of it.

    Raises:
        InvalidRequest: it does not.
    """
    if isinstance(given, Mapping):
        # What is too deep or too long is looked at no further.
        problems = [
            *islice(chain(_check_shape(given, limits), _check_texts(given, limits)), 1)
        ] or [
            *_check_numbers(given, limits),
            *_check_lengths(given, limits),
        ]
        if problems:
            raise InvalidRequest(problems=tuple(problems[:_MAX_PROBLEMS]))


def _check_shape(given: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield what is wrong with the request as a whole."""
    if len(given) > MAX_KEYS:
        yield FieldProblem(_WHOLE, f"At most {MAX_KEYS} keys are taken, received {len(given)}")
    for name, value in given.items():
        level: list[object] = [value]
        # What the request itself holds is its second level.
        for _ in range(limits.json_depth - 1):
            if name != _COUNTED_ELSEWHERE:
                yield from _check_sizes(name, level, limits)
            level = [inner for node in level for inner in _containers(node)]
            if not level:
                break
        else:
            yield _problem(_WHOLE, f"Nested deeper than {limits.json_depth} levels", "json-depth")


def _check_texts(given: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield the text with which those that may be parsed as JSON have too many values."""
    count = 0
    for name, value in given.items():
        level: list[object] = [value]
        for _ in range(_UNPACKED_LEVELS):
            for text in level:
                if isinstance(text, str) and text.lstrip()[:1] in ("[", "{"):
                    count += sum(map(text.count, ",[{"))
            if count > limits.json_values:
                said = f"At most {limits.json_values} values in all"
                yield _problem(name, said, "json-values")
                return
            level = [inner for node in level for inner in _held(node)]


def _check_sizes(
    name: str, nodes: Iterable[object], limits: LimitsSettings
) -> Iterator[FieldProblem]:
    """Yield the first of some lists and objects that has too many entries."""
    for node in nodes:
        if isinstance(node, list) and len(node) > limits.list_items:
            most, setting = limits.list_items, "list-items"
        elif isinstance(node, dict) and len(node) > limits.object_keys:
            most, setting = limits.object_keys, "object-keys"
        else:
            continue
        yield _problem(name, f"At most {most} entries, received {len(node)}", setting)
        return


def _containers(node: object) -> list[object]:
    """Return the lists and objects that a list or an object holds."""
    return [each for each in _held(node) if isinstance(each, _CONTAINERS)]


def _held(node: object) -> Iterable[object]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _check_numbers(given: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield the lists that are too long."""
    most = {
        "actions": (limits.actions, "actions"),
        "headers": (limits.headers, "headers"),
        "verify": (limits.claims, "claims"),
        **dict.fromkeys(_SELECTORS, (limits.selectors, "selectors")),
        **dict.fromkeys(_PATTERNS, (limits.patterns, "patterns")),
    }
    for name, (count, setting) in most.items():
        value = given.get(name)
        if isinstance(value, list | Mapping) and len(value) > count:
            yield _problem(name, f"At most {count}, received {len(value)}", setting)
    properties = _count_properties(given.get("schema"))
    if properties > limits.schema_properties:
        said = f"At most {limits.schema_properties} properties, received {properties}"
        yield _problem("schema", said, "schema-properties")


def _count_properties(schema: object) -> int:
    count = 0
    nodes = [schema]
    while nodes:
        node = nodes.pop()
        properties = node.get("properties") if isinstance(node, dict) else None
        count += len(properties) if isinstance(properties, dict) else 0
        nodes += _containers(node)
    return count


def _check_lengths(given: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield the texts that are too long."""
    for path, text in _selectors(given):
        if len(text) > limits.selector_chars:
            said = f"A selector has at most {limits.selector_chars} characters"
            yield _problem(path, said, "selector-chars")
    for path, text in _texts(given, _PATTERNS):
        if len(text) > limits.pattern_chars:
            said = f"A pattern has at most {limits.pattern_chars} characters"
            yield _problem(path, said, "pattern-chars")
    headers = given.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if isinstance(value, str) and len(value) > limits.header_bytes:
            said = f"A header value has at most {limits.header_bytes} characters"
            yield _problem(f"headers.{str(name)[:100]}", said, "header-bytes")


def _selectors(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _texts(given, _SELECTORS)
    actions = given.get("actions")
    for place, action in enumerate(actions if isinstance(actions, list) else ()):
        selector = action.get("selector") if isinstance(action, Mapping) else None
        if isinstance(selector, str):
            yield f"actions[{place}].selector", selector


def _texts(given: Mapping[str, Any], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        listed = given.get(name)
        for place, text in enumerate(listed if isinstance(listed, list) else ()):
            if isinstance(text, str):
                yield f"{name}[{place}]", text


def _problem(path: str, said: str, setting: str) -> FieldProblem:
    return FieldProblem(path, f"{said} (setting limits.{setting})")

"""Arguments: JSON validated against a model and against the limits on requests."""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Annotated, Any, ClassVar, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from cinder.config.serving import LimitsSettings
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.url import parse_requested_url

# A check across fields. It runs on the raw arguments, even if some of them are invalid.
CrossCheck = Callable[[Mapping[str, Any]], Iterable[FieldProblem]]

MAX_KEYS = 100
DEFAULT_LIMIT = 50
MAX_LIMIT = 100
MAX_OFFSET = 10_000_000
# Of idempotency keys.
MAX_KEY_CHARS = 255
MAX_PROBLEMS = 20
_MAX_SHOWN_CHARS = 100
_WHOLE_REQUEST = "(request)"
_MISSING = "Required"


class Arguments(BaseModel):
    """Arguments in JSON: camelCase, no unknown keys."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        # Most processes validate few of the models, and all would take 50 ms to build.
        defer_build=True,
    )

    meaningful_zeros: ClassVar[frozenset[str]] = frozenset()
    """Names of arguments whose 0 is refused rather than dropped as a placeholder."""


@dataclass(frozen=True, slots=True)
class Pagination:
    """Which entries of a list a response shows, and how long they may be."""

    offset: int = 0
    limit: int = DEFAULT_LIMIT
    max_chars: int = 100_000
    """Of the entries as JSON. At least one entry is shown; others follow in the next part."""
    is_bound: bool = False
    """Whether a single entry is cut to `max_chars`; else only its content is."""


IdempotencyKey = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARS, pattern="^[ -~]+$")]
WebUrl = Annotated[str, AfterValidator(parse_requested_url)]

# The validation context of request bodies, in which numbers and booleans must not be strings.
_TYPED = "typed"


def read_number(value: object, info: ValidationInfo) -> object:
    """Return a value for a number field, unless its type is wrong."""
    # Pydantic would read true as 1.
    if isinstance(value, bool) or (isinstance(value, str) and info.context == _TYPED):
        raise ValueError(f"Expected a number, received {_shorten(value)}")
    return value


def read_flag(value: object, info: ValidationInfo) -> object:
    """Return a value for a boolean field, unless its type is wrong."""
    if info.context == _TYPED and not isinstance(value, bool):
        raise ValueError(f"Expected true or false, received {_shorten(value)}")
    return value


StrictInt = Annotated[int, BeforeValidator(read_number)]
StrictFloat = Annotated[float, BeforeValidator(read_number)]
StrictBool = Annotated[bool, BeforeValidator(read_flag)]
Offset = Annotated[StrictInt, Field(ge=0, le=MAX_OFFSET)]
Limit = Annotated[StrictInt, Field(ge=1, le=MAX_LIMIT)]

A = TypeVar("A", bound=Arguments)


def read_body(model: type[A], raw: object, *checks: CrossCheck) -> A:
    """Return a request's body as a model; null counts as absent.

    Raises:
        InvalidRequest: fields are invalid; it lists all of them.
    """
    return _read(model, raw, checks, context=_TYPED)


def read_arguments(model: type[A], raw: object, *checks: CrossCheck) -> A:
    """Return arguments as a model. Unlike in `read_body`, numbers and booleans may be strings.

    Raises:
        InvalidRequest: fields are invalid; it lists all of them.
    """
    return _read(model, raw, checks, context=None)


def _read(model: type[A], raw: object, checks: Sequence[CrossCheck], *, context: str | None) -> A:
    if not isinstance(raw, Mapping):
        message = f"Expected an object, received {_shorten(raw)}"
        raise InvalidRequest.at(_WHOLE_REQUEST, message)
    if len(raw) > MAX_KEYS:
        raise InvalidRequest(problems=(_too_many_keys(raw),))
    present = {str(key): value for key, value in raw.items() if value is not None}
    problems = [problem for check in checks for problem in check(present)]
    try:
        arguments = model.model_validate(present, by_alias=True, by_name=False, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)[:MAX_PROBLEMS]
        wrong = [_describe_problem(model, detail) for detail in details]
        problems = wrong + [p for p in problems if p.field not in {w.field for w in wrong}]
        places = {field.alias: place for place, field in enumerate(model.model_fields.values())}
        problems.sort(
            key=lambda p: (
                p.message != _MISSING,
                places.get(re.split(r"[.[]", p.field)[0], len(places)),
            )
        )
    if len(problems) > MAX_PROBLEMS:
        rest = FieldProblem(_WHOLE_REQUEST, "More is wrong than is listed here")
        problems = [*problems[:MAX_PROBLEMS], rest]
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    return arguments


def _too_many_keys(raw: Mapping[str, Any]) -> FieldProblem:
    return FieldProblem(_WHOLE_REQUEST, f"At most {MAX_KEYS} keys are taken, received {len(raw)}")


def parse_json_strings(model: type[Arguments], raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with lists and objects parsed that arrived as JSON in a string."""
    annotations = {
        key: info.annotation
        for name, info in model.model_fields.items()
        for key in (name, info.alias)
    }
    parsed = dict(raw)
    for key, value in raw.items():
        is_json = isinstance(value, str) and value.lstrip().startswith(("[", "{"))
        if is_json and _is_container(annotations.get(key)):
            try:
                parsed[key] = json.loads(value)
            except (ValueError, RecursionError):
                continue
    return parsed


def _is_container(annotation: Any) -> bool:  # Any: a type form has no type
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    if is_model or get_origin(annotation) in (list, dict):
        return True
    return any(_is_container(part) for part in get_args(annotation))


def _describe_problem(model: type[Arguments], detail: ErrorDetails) -> FieldProblem:
    location, received = detail["loc"], _shorten(detail["input"])
    match detail["type"]:
        case "missing":
            message = _MISSING
        case "extra_forbidden":
            known = _keys_at(model, location[:-1])
            nearest = difflib.get_close_matches(str(location[-1])[:100], known, n=1, cutoff=0.5)
            message = f"Unknown key. Known are: {', '.join(sorted(known))}"
            if nearest:
                message = f"Unknown key. Did you mean '{nearest[0]}'?"
        case "enum" | "literal_error":
            expected = detail["ctx"]["expected"].replace(" or ", ", ").replace(", ", " | ")
            message = f"Invalid enum value. Expected {expected}, received {received}"
        case "value_error":
            message = str(detail["ctx"]["error"])
        case "dict_type" | "model_type":
            message = f"Expected an object, received {received}"
        case _:
            message = f"{detail['msg']}, received {received}"
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return FieldProblem(path[:200], message)


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that a model knows at a location, which may be within nested models."""
    for part in location:
        if isinstance(part, int):
            continue
        fields = (f for n, f in model.model_fields.items() if part in (n, f.alias))
        field = next(fields, None)
        model = (field and _inner_model(field.annotation)) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _inner_model(annotation: Any) -> type[BaseModel] | None:  # Any: a type form has no type
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_inner_model(part) for part in get_args(annotation))
    return next((model for model in inner if model is not None), None)


def _shorten(value: object) -> str:
    if isinstance(value, str):
        text = f"'{value}'"
    else:
        # In pieces: the value may have megabytes.
        text = ""
        for piece in json.JSONEncoder(default=str).iterencode(value):
            text += piece
            if len(text) > _MAX_SHOWN_CHARS:
                break
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


_SELECTORS = ("includeTags", "excludeTags")
_PATTERNS = ("includePatterns", "excludePatterns")
# Settings of their own limit the length of this list.
_COUNTED_ELSEWHERE = "urls"
# The containers that JSON is parsed into. A check for Mapping would take twenty times as long.
_CONTAINERS = (dict, list)
# Strings are parsed as JSON as an argument, within a list, or within a wrapper.
_PARSED_LEVELS = 3


def check_limits(raw: object, limits: LimitsSettings) -> None:
    """Return if a request is within the limits. This runs before any other check.

    Raises:
        InvalidRequest: it is not.
    """
    if not isinstance(raw, Mapping):
        return
    # A request that is too deep or too long is not examined any further.
    problems = [*islice(chain(_check_shape(raw, limits), _check_strings(raw, limits)), 1)] or [
        *_check_counts(raw, limits),
        *_check_lengths(raw, limits),
    ]
    if problems:
        raise InvalidRequest(problems=tuple(problems[:MAX_PROBLEMS]))


def _check_shape(raw: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield what is wrong with the number of keys, the depth, and the sizes of containers."""
    if len(raw) > MAX_KEYS:
        yield _too_many_keys(raw)
    for name, value in raw.items():
        level: list[object] = [value]
        # The request itself is the first level.
        for _ in range(limits.json_depth - 1):
            for node in level if name != _COUNTED_ELSEWHERE else ():
                most, setting = limits.list_items, "list-items"
                if isinstance(node, dict):
                    most, setting = limits.object_keys, "object-keys"
                if isinstance(node, _CONTAINERS) and len(node) > most:
                    message = f"At most {most} entries, received {len(node)}"
                    yield _beyond_limit(name, message, setting)
                    break
            level = [inner for node in level for inner in _inner_containers(node)]
            if not level:
                break
        else:
            message = f"Nested deeper than {limits.json_depth} levels"
            yield _beyond_limit(_WHOLE_REQUEST, message, "json-depth")


def _check_strings(raw: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield the argument at which strings that may hold JSON have too many values in all."""
    count = 0
    for name, value in raw.items():
        level: list[object] = [value]
        for _ in range(_PARSED_LEVELS):
            for text in level:
                if isinstance(text, str) and text.lstrip()[:1] in ("[", "{"):
                    count += sum(map(text.count, ",[{"))
            if count > limits.json_values:
                message = f"At most {limits.json_values} values in all"
                yield _beyond_limit(name, message, "json-values")
                return
            level = [inner for node in level for inner in _children(node)]


def _inner_containers(node: object) -> list[object]:
    return [child for child in _children(node) if isinstance(child, _CONTAINERS)]


def _children(node: object) -> Iterable[object]:
    if isinstance(node, dict):
        return node.values()
    return node if isinstance(node, list) else ()


def _check_counts(raw: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield the lists that are too long, and the schema with too many properties."""
    most = {
        "actions": (limits.actions, "actions"),
        "headers": (limits.headers, "headers"),
        "verify": (limits.claims, "claims"),
        **dict.fromkeys(_SELECTORS, (limits.selectors, "selectors")),
        **dict.fromkeys(_PATTERNS, (limits.patterns, "patterns")),
    }
    for name, (count, setting) in most.items():
        value = raw.get(name)
        if isinstance(value, list | Mapping) and len(value) > count:
            yield _beyond_limit(name, f"At most {count}, received {len(value)}", setting)
    for name in ("schema", "extractSchema"):
        count, nodes = 0, [raw.get(name)]
        while nodes:
            node = nodes.pop()
            properties = node.get("properties") if isinstance(node, dict) else None
            count += len(properties) if isinstance(properties, dict) else 0
            nodes += _inner_containers(node)
        if count > limits.schema_properties:
            message = f"At most {limits.schema_properties} properties, received {count}"
            yield _beyond_limit(name, message, "schema-properties")


def _check_lengths(raw: Mapping[str, Any], limits: LimitsSettings) -> Iterator[FieldProblem]:
    """Yield the selectors, patterns and header values that are too long."""
    actions = raw.get("actions")
    selectors = {
        f"actions[{index}].selector": action.get("selector")
        for index, action in enumerate(actions if isinstance(actions, list) else ())
        if isinstance(action, Mapping)
    }
    selectors = _listed(raw, _SELECTORS) | selectors
    for kind, most, entries in (
        ("selector", limits.selector_chars, selectors),
        ("pattern", limits.pattern_chars, _listed(raw, _PATTERNS)),
    ):
        for path, text in entries.items():
            if isinstance(text, str) and len(text) > most:
                message = f"A {kind} has at most {most} characters"
                yield _beyond_limit(path, message, f"{kind}-chars")
    headers = raw.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if isinstance(value, str) and len(value) > limits.header_bytes:
            message = f"A header value has at most {limits.header_bytes} characters"
            yield _beyond_limit(f"headers.{str(name)[:100]}", message, "header-bytes")


def _listed(raw: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return the entries of some lists by their path, such as `includeTags[0]`."""
    return {
        f"{name}[{index}]": entry
        for name in names
        if isinstance(raw.get(name), list)
        for index, entry in enumerate(raw[name])
    }


def _beyond_limit(path: str, message: str, setting: str) -> FieldProblem:
    return FieldProblem(path, f"{message} (setting limits.{setting})")

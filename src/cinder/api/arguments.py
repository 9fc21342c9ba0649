"""Arguments: JSON validated against a model and against the limits on requests."""

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from cinder.config import LimitsSettings
from cinder.errors import FieldProblem, InvalidRequest

# A check across fields: it sees the arguments as given, whatever else is wrong with them.
CrossCheck = Callable[[Mapping[str, Any]], Iterable[FieldProblem]]


MAX_KEYS = 100
MAX_PROBLEMS = 20
_MAX_SHOWN_CHARS = 100


class Arguments(BaseModel):
    """Arguments as they stand on the wire: camelCase, nothing unknown."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
    )


# How a request's body is read: JSON has numbers and true of its own, and needs no texts for them.
_TYPED = "typed"


def read_number(value: object, info: ValidationInfo) -> object:
    """Return what is given where a number is wanted, unless it is none."""
    # Pydantic takes true for 1; a caller who sends true means something else.
    if isinstance(value, bool) or (isinstance(value, str) and info.context == _TYPED):
        raise ValueError(f"Expected a number, received {_shorten(value)}")
    return value


def read_flag(value: object, info: ValidationInfo) -> object:
    """Return what is given where true or false is wanted, unless it is something else."""
    if info.context == _TYPED and not isinstance(value, bool):
        raise ValueError(f"Expected true or false, received {_shorten(value)}")
    return value


StrictInt = Annotated[int, BeforeValidator(read_number)]
StrictFloat = Annotated[float, BeforeValidator(read_number)]
StrictBool = Annotated[bool, BeforeValidator(read_flag)]

A = TypeVar("A", bound=Arguments)


def read_body(model: type[A], given: object, *checks: CrossCheck) -> A:
    """Return what a request's body holds as a model; null counts as absent.

    Raises:
        InvalidRequest: something is wrong with it; every wrong field is named at once.
    """
    return _read(model, given, checks, context=_TYPED)


def read_arguments(model: type[A], given: object, *checks: CrossCheck) -> A:
    """Return the arguments as a model, where numbers and flags may be texts; see `read_body`.

    Raises:
        InvalidRequest: something is wrong with them; every wrong field is named at once.
    """
    return _read(model, given, checks, context=None)


def _read(model: type[A], given: object, checks: Sequence[CrossCheck], *, context: str | None) -> A:
    if not isinstance(given, Mapping):
        message = f"Expected an object, received {_shorten(given)}"
        raise InvalidRequest(problems=(FieldProblem("(request)", message),))
    if len(given) > MAX_KEYS:
        message = f"At most {MAX_KEYS} keys are taken, received {len(given)}"
        raise InvalidRequest(problems=(FieldProblem("(request)", message),))
    present = {str(key): value for key, value in given.items() if value is not None}
    problems = [problem for check in checks for problem in check(present)]
    try:
        arguments = model.model_validate(present, by_alias=True, by_name=False, context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)[:MAX_PROBLEMS]
        wrong = [_describe_problem(model, detail) for detail in details]
        problems = wrong + [p for p in problems if p.field not in {w.field for w in wrong}]
    if problems:
        raise InvalidRequest(problems=_limit_problems(problems))
    return arguments


def _limit_problems(problems: Sequence[FieldProblem]) -> tuple[FieldProblem, ...]:
    """Return as many problems as a reader can use."""
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    rest = FieldProblem("(request)", "More is wrong than is listed here")
    return (*problems[:MAX_PROBLEMS], rest)


def parse_json_strings(model: type[Arguments], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments with lists and objects unpacked that arrived as JSON in a string."""
    return {
        key: _unpacked(value) if isinstance(value, str) and _takes_container(model, key) else value
        for key, value in given.items()
    }


def _unpacked(text: str) -> object:
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _takes_container(model: type[Arguments], key: str) -> bool:
    for name, info in model.model_fields.items():
        if key in (name, info.alias):
            return _is_container(info.annotation)
    return False


def _is_container(annotation: Any) -> bool:  # Any: a type form has no type
    if get_origin(annotation) in (list, dict):
        return True
    return any(_is_container(part) for part in get_args(annotation))


def _describe_problem(model: type[Arguments], detail: ErrorDetails) -> FieldProblem:
    path = _path(detail["loc"])
    match detail["type"]:
        case "missing":
            return FieldProblem(path, "Required")
        case "extra_forbidden":
            return FieldProblem(path, _unknown_key(model, detail["loc"]))
        case "enum" | "literal_error":
            expected = detail["ctx"]["expected"].replace(" or ", ", ").replace(", ", " | ")
            received = _shorten(detail["input"])
            return FieldProblem(
                path, f"Invalid enum value. Expected {expected}, received {received}"
            )
        case "value_error":
            return FieldProblem(path, str(detail["ctx"]["error"]))
        case "dict_type" | "model_type":
            return FieldProblem(path, f"Expected an object, received {_shorten(detail['input'])}")
        case _:
            return FieldProblem(path, f"{detail['msg']}, received {_shorten(detail['input'])}")


def _path(location: tuple[int | str, ...]) -> str:
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path[:200]


def _unknown_key(model: type[Arguments], location: tuple[int | str, ...]) -> str:
    known = _keys_at(model, location[:-1])
    nearest = difflib.get_close_matches(str(location[-1])[:100], known, n=1, cutoff=0.5)
    return (
        f"Unknown key. Did you mean '{nearest[0]}'?"
        if nearest
        else (f"Unknown key. Known are: {', '.join(sorted(known))}")
    )


def _keys_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that may stand at a place within nested models."""
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
        # Piece by piece: what is cut off may be megabytes.
        text = ""
        for piece in json.JSONEncoder(default=str).iterencode(value):
            text += piece
            if len(text) > _MAX_SHOWN_CHARS:
                break
    return text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"


_WHOLE_REQUEST = "(request)"
_MAX_PROBLEMS = 20
_SELECTORS = ("includeTags", "excludeTags")
_PATTERNS = ("includePatterns", "excludePatterns")
# How many of these there may be, settings of their own say.
_COUNTED_ELSEWHERE = "urls"
# What JSON is parsed into. A request has many: a check for Mapping takes twenty times as long.
_CONTAINERS = (dict, list)
# JSON in a text is taken for what it holds: as an argument, within a list, or within a wrapper.
_UNPACKED_LEVELS = 3


def check_limits(given: object, limits: LimitsSettings) -> None:
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
        yield FieldProblem(
            _WHOLE_REQUEST, f"At most {MAX_KEYS} keys are taken, received {len(given)}"
        )
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
            yield _beyond_limit(
                _WHOLE_REQUEST, f"Nested deeper than {limits.json_depth} levels", "json-depth"
            )


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
                yield _beyond_limit(name, said, "json-values")
                return
            level = [inner for node in level for inner in _children(node)]


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
        yield _beyond_limit(name, f"At most {most} entries, received {len(node)}", setting)
        return


def _containers(node: object) -> list[object]:
    """Return the lists and objects that a list or an object holds."""
    return [each for each in _children(node) if isinstance(each, _CONTAINERS)]


def _children(node: object) -> Iterable[object]:
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
            yield _beyond_limit(name, f"At most {count}, received {len(value)}", setting)
    properties = _count_properties(given.get("schema"))
    if properties > limits.schema_properties:
        said = f"At most {limits.schema_properties} properties, received {properties}"
        yield _beyond_limit("schema", said, "schema-properties")


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
            yield _beyond_limit(path, said, "selector-chars")
    for path, text in _texts(given, _PATTERNS):
        if len(text) > limits.pattern_chars:
            said = f"A pattern has at most {limits.pattern_chars} characters"
            yield _beyond_limit(path, said, "pattern-chars")
    headers = given.get("headers")
    for name, value in headers.items() if isinstance(headers, Mapping) else ():
        if isinstance(value, str) and len(value) > limits.header_bytes:
            said = f"A header value has at most {limits.header_bytes} characters"
            yield _beyond_limit(f"headers.{str(name)[:100]}", said, "header-bytes")


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


def _beyond_limit(path: str, said: str, setting: str) -> FieldProblem:
    return FieldProblem(path, f"{said} (setting limits.{setting})")

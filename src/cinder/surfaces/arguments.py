"""Arguments: reading a caller's JSON into a model, and naming everything that is wrong with it."""

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeVar, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, ValidationInfo
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

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
        raise ValueError(f"Expected a number, received {_shown(value)}")
    return value


def read_flag(value: object, info: ValidationInfo) -> object:
    """Return what is given where true or false is wanted, unless it is something else."""
    if info.context == _TYPED and not isinstance(value, bool):
        raise ValueError(f"Expected true or false, received {_shown(value)}")
    return value


Whole = Annotated[int, BeforeValidator(read_number)]
Flag = Annotated[bool, BeforeValidator(read_flag)]

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
        message = f"Expected an object, received {_shown(given)}"
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
        wrong = [_problem(model, detail) for detail in details]
        problems = wrong + [p for p in problems if p.field not in {w.field for w in wrong}]
    if problems:
        raise InvalidRequest(problems=_bounded(problems))
    return arguments


def _bounded(problems: Sequence[FieldProblem]) -> tuple[FieldProblem, ...]:
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


def _problem(model: type[Arguments], detail: ErrorDetails) -> FieldProblem:
    path = _path(detail["loc"])
    match detail["type"]:
        case "missing":
            return FieldProblem(path, "Required")
        case "extra_forbidden":
            return FieldProblem(path, _unknown_key(model, detail["loc"]))
        case "enum" | "literal_error":
            expected = detail["ctx"]["expected"].replace(" or ", ", ").replace(", ", " | ")
            received = _shown(detail["input"])
            return FieldProblem(
                path, f"Invalid enum value. Expected {expected}, received {received}"
            )
        case "value_error":
            return FieldProblem(path, str(detail["ctx"]["error"]))
        case "dict_type" | "model_type":
            return FieldProblem(path, f"Expected an object, received {_shown(detail['input'])}")
        case _:
            return FieldProblem(path, f"{detail['msg']}, received {_shown(detail['input'])}")


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


def _shown(value: object) -> str:
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

"""Browser actions as callers write them, and everything that may be wrong with them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field

from cinder.errors import FieldProblem
from cinder.model.keys import parse_key_combination
from cinder.model.request import ActionType
from cinder.surfaces.arguments import Arguments, Whole

# The most that the setting limits.actions may be.
MAX_ACTIONS = 500
MAX_WAIT_MS = 60_000
MAX_SCRIPT_BYTES = 100 * 1024
MAX_SCROLL_PIXELS = 1_000_000
MAX_NAME_CHARS = 200


class ActionArguments(Arguments):
    """One browser action; which of the fields it takes depends on its type."""

    type: ActionType
    """What to do. The actions are done in order."""
    milliseconds: Annotated[Whole, Field(ge=0, le=MAX_WAIT_MS)] | None = None
    """wait: how long. All waits together last at most a minute."""
    selector: str | None = None
    """click, write: the CSS selector of the element; scrape: of what to take, else all."""
    text: str | None = None
    """write: what to type."""
    key: str | None = None
    """press: a character or a key's name, with modifiers: `Enter`, `a`, `Control+A`."""
    direction: Literal["up", "down"] | None = None
    """scroll: which way."""
    amount: Annotated[Whole, Field(ge=1, le=MAX_SCROLL_PIXELS)] | None = None
    """scroll: how many pixels; by default a screenful."""
    name: Annotated[str, Field(max_length=MAX_NAME_CHARS)] | None = None
    """screenshot: what to call it in the answer."""
    script: str | None = None
    """executeJavascript: what to run, at most 100 KB; what it returns is in the answer."""


def _bound_waits(actions: list[ActionArguments]) -> list[ActionArguments]:
    total_ms = sum(action.milliseconds or 0 for action in actions)
    if total_ms > MAX_WAIT_MS:
        raise ValueError(f"The waits add up to {total_ms} ms; at most {MAX_WAIT_MS} are taken")
    return actions


Actions = Annotated[
    list[ActionArguments], Field(max_length=MAX_ACTIONS), AfterValidator(_bound_waits)
]


class _Fields(NamedTuple):
    """The fields that an action takes beside its type."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


_FIELDS = {
    ActionType.WAIT: _Fields(required=("milliseconds",)),
    ActionType.CLICK: _Fields(required=("selector",)),
    ActionType.WRITE: _Fields(required=("selector", "text")),
    ActionType.PRESS: _Fields(required=("key",)),
    ActionType.SCROLL: _Fields(required=("direction",), optional=("amount",)),
    ActionType.SCREENSHOT: _Fields(optional=("name",)),
    ActionType.SCRAPE: _Fields(optional=("selector",)),
    ActionType.EXECUTE_JAVASCRIPT: _Fields(required=("script",)),
}


def fields_of(kind: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields that an action needs beside its type, and those that it can have."""
    return next((fields for type_, fields in _FIELDS.items() if type_ == kind), _Fields())


def check_actions(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what an action lacks for its type, what does not belong to it, and what cannot work."""
    actions = given.get("actions")
    known = [
        (f"actions[{index}]", {name: value for name, value in action.items() if value is not None})
        for index, action in enumerate(actions if isinstance(actions, list) else ())
        if isinstance(action, Mapping) and action.get("type") in list(ActionType)
    ]
    for path, action in known:
        for name, message in (*_misplaced(action), *_unusable(action)):
            yield FieldProblem(f"{path}.{name}", message)


def _misplaced(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields that are missing, and those that belong to other types."""
    kind = ActionType(action["type"])
    taken = _FIELDS[kind]
    for name in taken.required:
        if name not in action:
            yield name, f"Required for the action '{kind}'"
    for name in ActionArguments.model_fields:
        if name in action and name not in ("type", *taken.required, *taken.optional):
            shown = ", ".join((*taken.required, *taken.optional))
            yield name, f"Not a field of the action '{kind}', which takes: {shown}"


def _unusable(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields whose texts cannot be acted on."""
    texts = {name: value for name, value in action.items() if isinstance(value, str)}
    for name in ("selector", "script"):
        if not texts.get(name, "-").strip():
            yield name, "Must not be empty"
    if len(texts.get("script", "").encode(errors="replace")) > MAX_SCRIPT_BYTES:
        yield "script", f"At most {MAX_SCRIPT_BYTES} bytes are taken"
    if "key" in texts:
        try:
            parse_key_combination(texts["key"])
        except ValueError as error:
            yield "key", str(error)

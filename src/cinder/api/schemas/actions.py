"""Browser actions: their arguments, and their results in responses."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field

from cinder.api.arguments import Arguments, StrictInt
from cinder.errors import FieldProblem
from cinder.models.document import ActionResult, Json
from cinder.models.request import MAX_WAIT_MS, ActionType, parse_key_combination
from cinder.services.excerpt import TextWindow, take_excerpt
from cinder.services.reading import take_markdown

# The most that the setting limits.actions may be.
MAX_ACTIONS = 500
MAX_SCRIPT_BYTES = 100 * 1024
MAX_SCROLL_PIXELS = 1_000_000
MAX_NAME_CHARS = 200


class ActionArguments(Arguments):
    """One browser action; which of the fields it takes depends on its type."""

    type: ActionType
    """What to do. The actions are done in order."""
    milliseconds: Annotated[StrictInt, Field(ge=0, le=MAX_WAIT_MS)] | None = None
    """wait: how long. All waits together last at most a minute."""
    selector: str | None = None
    """click, write: the CSS selector of the element; scrape: of what to take, else all."""
    text: str | None = None
    """write: what to type."""
    key: str | None = None
    """press: a character or a key's name, with modifiers: `Enter`, `a`, `Control+A`."""
    direction: Literal["up", "down"] | None = None
    """scroll: which way."""
    amount: Annotated[StrictInt, Field(ge=1, le=MAX_SCROLL_PIXELS)] | None = None
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


class _ActionFields(NamedTuple):
    """The fields that an action takes beside its type."""

    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


_FIELDS_BY_TYPE = {
    ActionType.WAIT: _ActionFields(required=("milliseconds",)),
    ActionType.CLICK: _ActionFields(required=("selector",)),
    ActionType.WRITE: _ActionFields(required=("selector", "text")),
    ActionType.PRESS: _ActionFields(required=("key",)),
    ActionType.SCROLL: _ActionFields(required=("direction",), optional=("amount",)),
    ActionType.SCREENSHOT: _ActionFields(optional=("name",)),
    ActionType.SCRAPE: _ActionFields(optional=("selector",)),
    ActionType.EXECUTE_JAVASCRIPT: _ActionFields(required=("script",)),
}


def action_fields(kind: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields that an action needs beside its type, and those that it can have."""
    return next(
        (fields for type_, fields in _FIELDS_BY_TYPE.items() if type_ == kind), _ActionFields()
    )


def check_actions(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what an action lacks for its type, what does not belong to it, and what cannot work."""
    actions = given.get("actions")
    known = [
        (f"actions[{index}]", {name: value for name, value in action.items() if value is not None})
        for index, action in enumerate(actions if isinstance(actions, list) else ())
        if isinstance(action, Mapping) and action.get("type") in list(ActionType)
    ]
    for path, action in known:
        for name, message in (*_find_misplaced(action), *_find_unusable(action)):
            yield FieldProblem(f"{path}.{name}", message)


def _find_misplaced(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields that are missing, and those that belong to other types."""
    kind = ActionType(action["type"])
    taken = _FIELDS_BY_TYPE[kind]
    for name in taken.required:
        if name not in action:
            yield name, f"Required for the action '{kind}'"
    for name in ActionArguments.model_fields:
        if name in action and name not in ("type", *taken.required, *taken.optional):
            shown = ", ".join((*taken.required, *taken.optional))
            yield name, f"Not a field of the action '{kind}', which takes: {shown}"


def _find_unusable(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
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


def describe_actions(
    actions: Sequence[ActionResult], max_chars: int
) -> tuple[list[Json], str | None]:
    """Return the actions in order, each text cut to a size, and a sentence on what was cut."""
    cuts: list[str] = []
    shown: list[Json] = []
    for index, action in enumerate(actions):
        texts, cut = _fit_texts(_texts(action), max_chars)
        cuts += [f"actions[{index}].{name}" for name in cut]
        shown.append(_facts(action) | texts | _screenshot(action))
    notice = f"At most the first {max_chars} characters of {', '.join(cuts)} are shown."
    return shown, notice if cuts else None


def count_texts(actions: Sequence[ActionType]) -> int:
    """Return how many texts these actions may add to an answer."""
    texts = {ActionType.SCRAPE: 2, ActionType.EXECUTE_JAVASCRIPT: 1}
    return sum(texts.get(action, 0) for action in actions)


def _facts(action: ActionResult) -> dict[str, Json]:
    facts: dict[str, Json] = {
        "type": action.type,
        "message": action.message,
        "elapsedMs": action.elapsed_ms,
    }
    if action.name is not None:
        facts["name"] = action.name
    return facts


def _texts(action: ActionResult) -> dict[str, Json]:
    texts: dict[str, Json] = {"html": action.html, "markdown": action.markdown}
    texts = {name: text for name, text in texts.items() if text is not None}
    if action.type is ActionType.EXECUTE_JAVASCRIPT:
        texts["result"] = action.value
    return texts


def _fit_texts(texts: dict[str, Json], max_chars: int) -> tuple[dict[str, Json], list[str]]:
    """Return the texts cut to a size, and the names of those that were.

    A script's result that is too long becomes the beginning of its JSON.
    """
    fitting: dict[str, Json] = {}
    cut = []
    for name, value in texts.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        take = take_markdown if name == "markdown" else take_excerpt
        excerpt = take(text, TextWindow(0, max_chars))
        fitting[name] = excerpt.text if excerpt.was_truncated else value
        if excerpt.was_truncated:
            cut.append(name)
    return fitting, cut


def _screenshot(action: ActionResult) -> dict[str, Json]:
    if action.screenshot is None:
        return {}
    return {
        "screenshot": base64.b64encode(action.screenshot.data).decode(),
        "screenshotFormat": action.screenshot.mime,
    }

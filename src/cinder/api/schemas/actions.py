"""Browser actions: their arguments, and their results in responses."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal

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


# The fields that an action requires, and those that it may have, besides its type.
_FIELDS_BY_TYPE: dict[ActionType, tuple[tuple[str, ...], tuple[str, ...]]] = {
    ActionType.WAIT: (("milliseconds",), ()),
    ActionType.CLICK: (("selector",), ()),
    ActionType.WRITE: (("selector", "text"), ()),
    ActionType.PRESS: (("key",), ()),
    ActionType.SCROLL: (("direction",), ("amount",)),
    ActionType.SCREENSHOT: ((), ("name",)),
    ActionType.SCRAPE: ((), ("selector",)),
    ActionType.EXECUTE_JAVASCRIPT: (("script",), ()),
}


def action_fields(kind: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields that an action requires besides its type, and those that it may have."""
    return next((fields for type_, fields in _FIELDS_BY_TYPE.items() if type_ == kind), ((), ()))


def check_actions(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the fields of actions that are missing, do not belong to their type, or cannot work."""
    actions = raw.get("actions")
    for index, action in enumerate(actions if isinstance(actions, list) else ()):
        if isinstance(action, Mapping) and action.get("type") in list(ActionType):
            present = {name: value for name, value in action.items() if value is not None}
            for name, message in chain(_find_misplaced(present), _find_unusable(present)):
                yield FieldProblem(f"actions[{index}].{name}", message)


def _find_misplaced(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the fields that are missing, and those that belong to other types."""
    kind = ActionType(action["type"])
    required, optional = _FIELDS_BY_TYPE[kind]
    for name in required:
        if name not in action:
            yield name, f"Required for the action '{kind}'"
    for name in ActionArguments.model_fields:
        if name in action and name not in ("type", *required, *optional):
            shown = ", ".join((*required, *optional))
            yield name, f"Not a field of the action '{kind}', which takes: {shown}"


def _find_unusable(action: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts that are empty, too long or not a key."""
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
    described: list[Json] = []
    for index, action in enumerate(actions):
        shown: dict[str, Json] = {
            "type": action.type,
            "message": action.message,
            "elapsedMs": action.elapsed_ms,
        }
        if action.name is not None:
            shown["name"] = action.name
        texts: dict[str, Json] = {
            name: text
            for name, text in (("html", action.html), ("markdown", action.markdown))
            if text is not None
        }
        if action.type is ActionType.EXECUTE_JAVASCRIPT:
            texts["result"] = action.value
        for name, value in texts.items():
            # A script's result that is too long becomes the beginning of its JSON.
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            take = take_markdown if name == "markdown" else take_excerpt
            excerpt = take(text, TextWindow(0, max_chars))
            shown[name] = excerpt.text if excerpt.was_truncated else value
            if excerpt.was_truncated:
                cuts.append(f"actions[{index}].{name}")
        if action.screenshot is not None:
            shown["screenshot"] = base64.b64encode(action.screenshot.data).decode()
            shown["screenshotFormat"] = action.screenshot.mime
        described.append(shown)
    notice = f"At most the first {max_chars} characters of {', '.join(cuts)} are shown."
    return described, notice if cuts else None


def count_texts(actions: Sequence[ActionType]) -> int:
    """Return how many texts these actions may add to a response."""
    texts = {ActionType.SCRAPE: 2, ActionType.EXECUTE_JAVASCRIPT: 1}
    return sum(texts.get(action, 0) for action in actions)

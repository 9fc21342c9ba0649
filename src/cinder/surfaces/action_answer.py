"""What browser actions did, as answers to a scrape show it."""

import base64
import json
from collections.abc import Sequence

from cinder.model.document import ActionResult, Json
from cinder.model.request import ActionType
from cinder.services.excerpt import Window, take_excerpt
from cinder.services.reading import take_markdown


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
        excerpt = take(text, Window(0, max_chars))
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

"""What a language model is told when it is asked for the values of fields."""

from collections.abc import Sequence

from cinder.llm.base import ModelRequest
from cinder.model.document import Json
from cinder.model.passage import Passage
from cinder.services.extraction.fence import Fence
from cinder.services.extraction.searches import Search

_TASK = "You copy values out of the text of a web page. You never guess, and you answer in JSON."
_HOW = (
    "For each value give a quote: the shortest part of the text that says the value, copied letter "
    "by letter. What the text does not say is null, value and quote."
)
_MAX_PROMPT_CHARS = 10_000


def make_prompt(
    prompt: str, searches: Sequence[Search], passages: Sequence[Passage]
) -> ModelRequest:
    """Return the question for what some fields are in some passages."""
    text = show_passages(passages)
    fence = Fence.around(text)
    asked = "\n".join(each.line for each in searches)
    wish = [f"What is wanted: {prompt[:_MAX_PROMPT_CHARS]}"] if prompt.strip() else []
    parts = (*wish, f"Find:\n{asked}", _HOW, fence.enclose(text), f"Find:\n{asked}")
    return ModelRequest(
        system=f"{_TASK} {fence.rule}", user="\n\n".join(parts), schema=_schema(searches)
    )


def show_passages(passages: Sequence[Passage]) -> str:
    """Return passages as one text, in the order of the page, each under its headings."""
    shown = []
    heading = ""
    for each in sorted(passages, key=lambda passage: passage.start):
        lines = [f"({each.heading})"] if each.heading and each.heading != heading else []
        heading = each.heading
        shown.append("\n".join(filter(None, (*lines, each.context, each.text.strip()))))
    return "\n\n".join(shown)


def _schema(searches: Sequence[Search]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {each.key: each.wire for each in searches},
        "required": [each.key for each in searches],
    }

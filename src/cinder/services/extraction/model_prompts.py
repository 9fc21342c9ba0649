"""The prompts of extraction's model calls, and the chunks of a page that fit into one."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from cinder.llm.base import ModelRequest
from cinder.llm.prompting import PromptFence
from cinder.models.document import Json
from cinder.models.extraction import RankedPassage
from cinder.services.extraction.field_searches import FieldSearch

_TASK = "You copy values out of the text of a web page. You never guess, and you answer in JSON."
_HOW = (
    "For each value give a quote: the shortest part of the text that says the value, copied letter "
    "by letter. What the text does not say is null, value and quote."
)
_MAX_PROMPT_CHARS = 10_000


def make_prompt(
    prompt: str, searches: Sequence[FieldSearch], passages: Sequence[RankedPassage]
) -> ModelRequest:
    """Return the question for what some fields are in some passages."""
    text = format_passages(passages)
    fence = PromptFence.around(text)
    asked = "\n".join(each.line for each in searches)
    wish = [f"What is wanted: {prompt[:_MAX_PROMPT_CHARS]}"] if prompt.strip() else []
    parts = (*wish, f"Find:\n{asked}", _HOW, fence.enclose(text), f"Find:\n{asked}")
    return ModelRequest(
        system=f"{_TASK} {fence.rule}", user="\n\n".join(parts), schema=_schema(searches)
    )


def format_passages(passages: Sequence[RankedPassage]) -> str:
    """Return passages as one text, in the order of the page, each under its headings."""
    shown = []
    heading = ""
    for each in sorted(passages, key=lambda passage: passage.start):
        lines = [f"({each.heading})"] if each.heading and each.heading != heading else []
        heading = each.heading
        shown.append("\n".join(filter(None, (*lines, each.context, each.text.strip()))))
    return "\n\n".join(shown)


def _schema(searches: Sequence[FieldSearch]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {each.key: each.wire for each in searches},
        "required": [each.key for each in searches],
    }


# Tokens are counted by the bytes of their text, so that scripts of many bytes count for more.
_BYTES_PER_TOKEN = 3.5
_LEAST_CHARS = 200
_LEAST_TOKENS = 150


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text is, rather too many."""
    return math.ceil(len(text.encode("utf-8", "replace")) / _BYTES_PER_TOKEN)


class PromptLimit:
    """How many tokens a model reads at once, as its answers and refusals have shown."""

    def __init__(self) -> None:
        self._refused: int | None = None
        self._read = 0

    def note_read(self, tokens: int) -> None:
        """Remember that a prompt of so many tokens was read."""
        self._read = max(self._read, tokens)

    def note_refused(self, tokens: int) -> None:
        """Remember that a prompt of so many tokens was too long."""
        self._refused = min(tokens, self._refused or tokens)

    def room_for(self, wanted: int, beside: int) -> int:
        """Return how many of so many tokens to send, beside those that a prompt has anyway."""
        if self._refused is None:
            return wanted
        likely = max(self._refused // 2, min(self._read, self._refused - 1))
        return max(_LEAST_TOKENS, min(wanted, likely - beside))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Passages, the best first, and what is asked about them."""

    passages: tuple[RankedPassage, ...]
    searches: tuple[FieldSearch, ...]

    def halve_text(self) -> "tuple[Chunk, ...]":
        """Return the better half of its text and the other; nothing if it is too short."""
        if len(self.passages) > 1:
            middle = (len(self.passages) + 1) // 2
            halves = (self.passages[:middle], self.passages[middle:])
            return tuple(Chunk(half, self.searches) for half in halves)
        only = self.passages[0]
        if len(only.text) < 2 * _LEAST_CHARS:
            return ()
        cut = _find_gap(only.text)
        first = replace(only, text=only.text[:cut], end=only.start + cut)
        second = replace(only, text=only.text[cut:], start=only.start + cut)
        return Chunk((first,), self.searches), Chunk((second,), self.searches)

    def halve_searches(self) -> "tuple[Chunk, ...]":
        """Return it with one half of what is asked, and with the other; nothing if that is one."""
        if len(self.searches) < 2:
            return ()
        middle = (len(self.searches) + 1) // 2
        halves = (self.searches[:middle], self.searches[middle:])
        return tuple(Chunk(self.passages, half) for half in halves)


def pack_passages(passages: Iterable[RankedPassage], max_tokens: int) -> tuple[RankedPassage, ...]:
    """Return the first of some passages that are no more tokens together, one at least."""
    packed: list[RankedPassage] = []
    room = max_tokens
    for each in passages:
        room -= _tokens_of(each)
        if room < 0 and packed:
            break
        packed.append(each)
    return tuple(packed)


def spans_of(passages: Sequence[RankedPassage]) -> list[tuple[int, int]]:
    """Return where passages stand on their page."""
    return [(each.start, each.end) for each in passages]


def _tokens_of(passage: RankedPassage) -> int:
    return estimate_tokens(f"{passage.heading}\n{passage.context}\n{passage.text}\n\n")


def _find_gap(text: str) -> int:
    """Return where to halve a text: after a line or a word near its middle."""
    middle = len(text) // 2
    for gap in ("\n", " "):
        place = text.rfind(gap, middle // 2, middle)
        if place > 0:
            return place + 1
    return middle

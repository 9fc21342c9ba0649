"""Cuts texts, lists and objects to the size of an answer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cinder.models.document import Json
from cinder.text.terms import BYTES_PER_TOKEN, count_bytes


@dataclass(frozen=True, slots=True)
class TextWindow:
    """The part of a text to return."""

    start: int
    max_chars: int
    section: str | None = None
    """The id or title of the one section to read; `start` counts from its beginning."""
    query: str | None = None
    """A query; only passages that match are returned, after as many as `start` says."""
    counts_tokens: bool = False
    """Whether the size was given in tokens, of which other scripts have fewer characters."""

    @property
    def is_narrowed(self) -> bool:
        """Whether it selects a section or passages, which only markdown has."""
        return self.section is not None or self.query is not None

    def chars_in(self, text: str) -> int:
        """Return how many characters of a text it may show."""
        if not self.counts_tokens or text.isascii():
            return self.max_chars
        return max(1, self.max_chars * len(text) // count_bytes(text))


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text, and its position in the whole."""

    text: str
    start: int
    total: int

    @property
    def end(self) -> int:
        """The position just past the excerpt."""
        return self.start + len(self.text)

    @property
    def was_truncated(self) -> bool:
        """Whether text follows after the excerpt."""
        return self.end < self.total


def chars_of_tokens(tokens: int) -> int:
    """Return about how many English characters a number of tokens has."""
    return tokens * BYTES_PER_TOKEN


def take_excerpt(text: str, window: TextWindow) -> Excerpt:
    """Return the part of a text in the window; empty after the end."""
    start = min(window.start, len(text))
    return Excerpt(text[start : start + window.chars_in(text)], start, len(text))


T = TypeVar("T")

_MAX_ESCAPE_CHARS = len("\\u0000")


def fit_items(items: Sequence[T], max_chars: int) -> list[T]:
    """Return as many of the first items as fit."""
    fitting: list[T] = []
    for item in items:
        max_chars -= json_chars(item)
        if max_chars < 0:
            break
        fitting.append(item)
    return fitting


def fit_members(members: Mapping[str, Json], max_chars: int) -> dict[str, Json]:
    """Return the members that fit, the short ones first, and of a long list its beginning."""
    fitting: dict[str, Json] = {}
    for name, value in sorted(members.items(), key=json_chars):
        room = max_chars - len(name) - 6
        part = fit_items(value, room) if isinstance(value, list) else value
        if part and json_chars(part) <= max_chars:
            fitting[name] = part
            max_chars -= json_chars((name, part))
    return {name: fitting[name] for name in members if name in fitting}


def fit_text(text: str, max_chars: int) -> str:
    """Return the beginning of a text that takes at most so many characters in JSON."""
    escaped = json.dumps(text[:max_chars], ensure_ascii=False)[1:-1][:max_chars]
    for left_out in range(_MAX_ESCAPE_CHARS):
        try:
            return str(json.loads(f'"{escaped[: len(escaped) - left_out]}"'))
        except ValueError:  # an escape was cut through
            continue
    return ""


def fit_lists(data: dict[str, Json], names: Sequence[str], max_chars: int) -> str | None:
    """Cut the named lists in `data` to the given size each; return a sentence about the cuts."""
    cuts = []
    for name in names:
        whole = data.get(name)
        if isinstance(whole, list):
            data[name] = fitting = fit_items(whole, max_chars)
            if len(fitting) < len(whole):
                cuts.append(f"the first {len(fitting)} of {len(whole)} {name}")
    return f"Only {' and '.join(cuts)} are shown." if cuts else None


def json_chars(value: object) -> int:
    """Return the number of characters of a value in a JSON list or object."""
    # Two more for the comma and the space after it.
    return len(json.dumps(value, ensure_ascii=False)) + 2


def without_nulls(value: Json) -> Json:
    """Return a JSON value without nulls, at any depth."""
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(inner) for inner in value if inner is not None]
    return value

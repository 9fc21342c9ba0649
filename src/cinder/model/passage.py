"""Passages: parts of a saved page, and what is asked of it that they are ranked by."""

from dataclasses import dataclass
from enum import StrEnum


class Sign(StrEnum):
    """What a text must have in it to say a value of some kind."""

    FIGURE = "figure"
    AT = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedField:
    """A field that a passage may hold the value of."""

    name: str
    """With what it belongs to in front: `address city`."""
    description: str = ""
    sign: Sign | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageQuery:
    """What is asked of a page: in words, by the names of fields, or both."""

    prompt: str = ""
    fields: tuple[AskedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A part of a saved markdown text, exactly as it stands there."""

    id: str
    """The same for the same text, whatever else changes on its page."""
    heading: str
    """The headings that it stands under, the outermost first."""
    text: str
    start: int
    end: int
    score: float
    """From 0, which is nothing that was asked for, to 1."""
    context: str = ""
    """What it cannot be read without: the first rows of a table that it has later rows of."""

"""Excerpts: the part of a long text that fits into one answer, and how to get the rest."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Which part of a text an answer may hold."""

    start: int
    max_chars: int
    section: str | None = None
    """The id or title of the one section to read; `start` counts from its beginning."""
    query: str | None = None
    """What to look for; only passages that match are read."""

    @property
    def is_narrowed(self) -> bool:
        """Whether a part of the markdown is asked for, which no other format has."""
        return self.section is not None or self.query is not None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a text, and where in the whole it stands."""

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

    @property
    def next_start(self) -> int | None:
        """Where to go on reading; None at the end."""
        return self.end if self.was_truncated else None


def take_excerpt(text: str, window: Window) -> Excerpt:
    """Return the part of a text that lies in the window; beyond the end it is empty."""
    start = min(window.start, len(text))
    return Excerpt(text[start : start + window.max_chars], start, len(text))

"""Phrases: what pages say, as patterns over lower-case text that are quick to look for."""

import re
from collections.abc import Iterator, Sequence

_REACH_CHARS = 120
_MAX_PLACES = 60


def any_of(*patterns: str) -> re.Pattern[str]:
    """Return a pattern for whichever of these comes first; they see lower-case text."""
    return re.compile("|".join(patterns))


class Phrases:
    """Phrases of which each holds one of a few stems, and which are looked for only near these.

    A long alternation takes a microsecond a character; a plain string is found in no time.
    """

    def __init__(self, stems: Sequence[str], *patterns: str) -> None:
        self._stems = tuple(stems)
        self._pattern = any_of(*patterns)

    def find_last(self, text: str) -> re.Match[str] | None:
        """Return the last phrase in a text in lower case, as far as there are stems in it."""
        last: re.Match[str] | None = None
        for start, end in self._places(text):
            for found in self._pattern.finditer(text, start, end):
                if last is None or found.end() > last.end():
                    last = found
        return last

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        places = 0
        for stem in self._stems:
            at = text.find(stem)
            while at >= 0 and places < _MAX_PLACES:
                yield max(0, at - _REACH_CHARS), at + len(stem) + _REACH_CHARS
                places += 1
                at = text.find(stem, at + _REACH_CHARS)

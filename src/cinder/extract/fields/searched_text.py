"""One text of a page, in which quotes are found as they stand, or as the page writes them."""

import json
import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from html import unescape
from itertools import islice

from cinder.extract.html_tree import collapse

_MAX_TRIES = 200
_MAX_CHUNKS = 40
_MAX_CONDENSED_CHARS = 3_000_000
_MARKS = frozenset("\\*_`~<>")
_PLAIN_CHUNK = re.compile(r"[A-Za-z0-9 ,.]{2,}")
# A character may be written with up to so many: `&#128512;`, `\ud83d\ude00`.
_LONGEST_ESCAPE = 12


class SearchedText:
    """One text of a page, in which quotes are found as they stand or but for white space."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, quote: str, anchors: tuple[str, ...]) -> int:
        """Return where a quote stands as a whole, after its anchors if possible; -1 if nowhere."""
        start = self._start_after(anchors)
        found = self._find_whole(quote, start)
        return found if found >= 0 or not start else self._find_whole(quote, 0)

    def _start_after(self, anchors: tuple[str, ...]) -> int:
        start = 0
        for anchor in anchors:
            if anchor and (found := self.text.find(anchor, start)) >= 0:
                start = found
        return start

    def find_between(self, quote: str, start: int, end: int) -> int:
        """Return where a quote stands as a whole between two places; -1 if nowhere."""
        found = self.text.find(quote, start, end)
        for _ in range(_MAX_TRIES):
            if found < 0 or self.is_whole(found, found + len(quote)):
                return found
            found = self.text.find(quote, found + 1, end)
        return -1

    def find_marked(self, quote: str) -> tuple[int, int] | None:
        """Return where a quote stands if white space and marks of emphasis do not count."""
        condensed, places = self._condensed
        wanted = "".join(each for each in quote if not _is_passed_over(each))
        found = condensed.find(wanted) if wanted else -1
        for _ in range(_MAX_TRIES):
            if found < 0:
                break
            start, end = places[found], places[found + len(wanted) - 1] + 1
            if self.is_whole(start, end):
                return start, end
            found = condensed.find(wanted, found + 1)
        return None

    def find_escaped(self, quote: str, start: int = 0) -> tuple[int, int] | None:
        """Return where a quote stands that the page writes with entities or escapes."""
        chunks = _PLAIN_CHUNK.findall(quote)[:_MAX_CHUNKS]
        for _ in range(_MAX_TRIES if chunks else 0):
            start = self.text.find(chunks[0], start)
            if start < 0:
                return None
            window = self.text[start : start + len(quote) * _LONGEST_ESCAPE]
            end = _end_of_chunks(window, chunks)
            if end and _unescaped(window[:end]) == quote:
                return start, start + end
            start += 1
        return None

    def find_number(self, value: float, anchors: tuple[str, ...]) -> tuple[int, int] | None:
        """Return where a number stands that may have more noughts than it needs."""
        shortest = str(int(value)) if value == int(value) else str(value)
        pattern = re.compile(
            rf"(?<![\w.,]){re.escape(shortest)}(?:\.0{{1,9}}|0{{0,9}})(?!\d|[.,]\d)"
        )
        for start in (self._start_after(anchors), 0):
            for found in islice(pattern.finditer(self.text, start), _MAX_TRIES):
                if float(found[0]) == value:
                    return found.span()
        return None

    def _find_whole(self, quote: str, start: int) -> int:
        return self.find_between(quote, start, len(self.text))

    def is_whole(self, start: int, end: int) -> bool:
        """Whether what stands there is no part of a longer word or number."""
        text = self.text
        before = text[start - 1 : start]
        after = text[end : end + 1]
        if before.isalnum() and text[start].isalnum():
            return False
        # A unit may follow its figure without a gap.
        if after.isalnum() and text[end - 1].isalnum() and not _is_unit(text[end - 1], after):
            return False
        is_figure = text[start].isdigit() and text[end - 1].isdigit()
        if not is_figure:
            return True
        return not (
            (before in (".", ",") and text[start - 2 : start - 1].isdigit())
            or (after in (".", ",") and text[end + 1 : end + 2].isdigit())
        )

    @cached_property
    def _condensed(self) -> tuple[str, "array[int]"]:
        kept: list[str] = []
        places = array("L")
        for place, character in enumerate(self.text[:_MAX_CONDENSED_CHARS]):
            if not _is_passed_over(character):
                kept.append(character)
                places.append(place)
        return "".join(kept), places


def _is_unit(last: str, following: str) -> bool:
    return last.isdigit() and following.isalpha()


def _is_passed_over(character: str) -> bool:
    return character.isspace() or character in _MARKS


def _end_of_chunks(window: str, chunks: Sequence[str]) -> int:
    """Return where the last of some chunks ends that follow each other; 0 where they do not."""
    place = 0
    for chunk in chunks:
        found = window.find(chunk, place)
        if found < 0:
            return 0
        place = found + len(chunk)
    return place


def _unescaped(written: str) -> str:
    try:
        written = json.loads(f'"{written}"', strict=False)
    except ValueError:
        return collapse(unescape(written))
    return collapse(unescape(str(written)))

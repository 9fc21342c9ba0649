"""The phrases of `phrases.toml` as lists and as patterns over lower-case text."""

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

_REACH_CHARS = 120
_MAX_PLACES = 60
_FRAGMENT = re.compile(r"\{([a-z]+)\}")


@cache
def load_phrases() -> dict[str, dict[str, Any]]:  # Any: lists in most sections, tables in one
    """Return the sections of `phrases.toml`; the file is read once."""
    return tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


def any_phrase(section: str, *names: str) -> re.Pattern[str]:
    """Return a pattern that matches any phrase of some lists of a section, in their order."""
    sections = load_phrases()
    pattern = "|".join(phrase for name in names for phrase in sections[section][name])
    return re.compile(_FRAGMENT.sub(lambda found: sections["fragments"][found[1]], pattern))


class Phrases:
    """Phrases that each contain one of a few stems, searched only near those stems.

    A long alternation takes a microsecond per character, a plain string next to nothing.
    """

    def __init__(self, stems: Sequence[str], pattern: re.Pattern[str]) -> None:
        self._stems = stems
        self._pattern = pattern

    def find_last(self, text: str) -> re.Match[str] | None:
        """Return the last phrase in a lower-case text, near its first stems."""
        last: re.Match[str] | None = None
        places = 0
        for stem in self._stems:
            at = text.find(stem)
            while at >= 0 and places < _MAX_PLACES:
                end = at + len(stem) + _REACH_CHARS
                for found in self._pattern.finditer(text, max(0, at - _REACH_CHARS), end):
                    if last is None or found.end() > last.end():
                        last = found
                places += 1
                at = text.find(stem, at + _REACH_CHARS)
        return last

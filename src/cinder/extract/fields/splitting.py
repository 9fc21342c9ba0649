"""Splits a text that lists several things: `English, German and Finnish`."""

import re
from collections.abc import Sequence
from dataclasses import replace

from cinder.extract.fields.candidates import Candidate

MAX_PARTS = 200
_MAX_PART_CHARS = 80
_MARKS = (
    re.compile(r"\s*;\s*"),
    re.compile(r"\s*[|•·]\s*"),
    re.compile(r",\s+(?:and\s+)?|\s+and\s+"),
)


def split_items(candidate: Candidate) -> Sequence[Candidate]:
    """Return the things that a text lists, or the text itself where it lists none."""
    for mark in _MARKS:
        parts = [part.strip() for part in mark.split(candidate.text, MAX_PARTS)]
        parts = [part for part in parts if part]
        if len(parts) > 1:
            # The commas of sentences divide nothing.
            is_list = max(map(len, parts)) <= _MAX_PART_CHARS
            return [replace(candidate, text=part) for part in parts] if is_list else [candidate]
    return [candidate]

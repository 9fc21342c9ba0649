"""Sentences: where they begin and end in the paragraphs of a markdown text."""

import re
from collections.abc import Iterator

from cinder.extract.reading.inline_spans import find_spans, span_around

# Marks that end a sentence with a space after them, and what may stand between.
ENDS = ".!?\u2026\u061f\u0964"
CLOSING_MARKS = "\"')\u201d\u2019\xbb*_"
# Marks of scripts that put no space after a sentence, and what may follow them.
UNSPACED_ENDS = "\u3002\uff01\uff1f\uff61"
UNSPACED_CLOSING_MARKS = "\u300d\u300f\uff09\u201d"

_END = re.compile(
    rf"[{ENDS}]+[{CLOSING_MARKS}\]]{{0,4}}(?=\s)|[{UNSPACED_ENDS}]+[{UNSPACED_CLOSING_MARKS}]?"
)
_LAST_WORD = re.compile(r"\w+\Z")
_LOOK_BACK = 20
# A full stop after one of these ends an abbreviation, not a sentence.
_ABBREVIATIONS = frozenset(
    (
        *("al", "approx", "bzw", "ca", "cf", "co", "dr", "ed", "eg", "etc", "fig", "inc", "jr"),
        *("ltd", "mme", "mr", "mrs", "ms", "no", "nr", "pp", "prof", "sr", "st", "usw", "vgl"),
        *("vol", "vs"),
    )
)


def find_sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the sentences in a paragraph; a link or code never ends one."""
    spans = find_spans(text, start, end)
    begin = start
    for mark in _END.finditer(text, start, end):
        if span_around(spans, mark.start() + 1) is None and _ends_sentence(text, mark, end):
            yield from _trimmed(text, begin, mark.end())
            begin = mark.end()
    yield from _trimmed(text, begin, end)


def _ends_sentence(text: str, mark: re.Match[str], end: int) -> bool:
    following = text[mark.end() : min(end, mark.end() + _LOOK_BACK)].lstrip()
    if following[:1].islower():
        return False
    if mark[0][0] != ".":
        return True
    before = _LAST_WORD.search(text[max(0, mark.start() - _LOOK_BACK) : mark.start()])
    word = before[0].casefold() if before else ""
    is_initial = len(word) == 1 and word.isalpha()
    return not is_initial and word not in _ABBREVIATIONS


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inner = text[start:end]
    begin = start + len(inner) - len(inner.lstrip())
    if stripped := inner.strip():
        yield begin, begin + len(stripped)

"""The inline parts of markdown that lose their meaning when cut: links, images and code."""

import re
from bisect import bisect_right
from collections.abc import Iterable

# What is longer is no link, but a bracket that was never closed.
MAX_SPAN_CHARS = 4_096

_TOKEN = re.compile(r"\\.|`+|!?\[|\]\(|[\]()]|<[a-z]{3,10}:[^\s<>]{0,2000}>", re.DOTALL)

Span = tuple[int, int]


def find_spans(text: str, start: int, end: int) -> list[Span]:
    """Return the places of the links, images and code within a part of a text.

    They are in order and do not overlap: of nested ones the outermost is named.
    """
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(text, start, end)]
    return _outermost(_Brackets(tokens).spans())


def span_around(spans: list[Span], position: int) -> Span | None:
    """Return the span that a cut at a position would fall into."""
    index = bisect_right(spans, position, key=lambda span: span[0]) - 1
    if index < 0:
        return None
    begin, end = spans[index]
    return (begin, end) if begin < position < end else None


class _Brackets:
    """Pairs brackets and backticks in one pass."""

    def __init__(self, tokens: list[tuple[str, int]]) -> None:
        self._tokens = tokens
        self._open: list[tuple[str, int]] = []
        self._targets = 0
        """How many of the open ones are link targets."""
        self._found: list[Span] = []

    def spans(self) -> list[Span]:
        closing = self._closing_backticks()
        index = 0
        while index < len(self._tokens):
            mark, start = self._tokens[index]
            if mark[0] == "`" and (match := closing.get(index)):
                closer, place = self._tokens[match]
                self._add(start, place + len(closer))
                index = match
            elif mark[0] == "<":
                self._add(start, start + len(mark))
            else:
                self._pair(mark, start)
            index += 1
        return self._found

    def _closing_backticks(self) -> dict[int, int]:
        """Map each run of backticks to the next one of its length."""
        following: dict[str, int] = {}
        closing: dict[int, int] = {}
        for index in range(len(self._tokens) - 1, -1, -1):
            mark = self._tokens[index][0]
            if mark[0] == "`":
                if mark in following:
                    closing[index] = following[mark]
                following[mark] = index
            elif mark == "\\`":
                # Within code a backslash is one; outside it, it keeps code from beginning.
                following["`"] = index
        return closing

    def _pair(self, mark: str, start: int) -> None:
        if mark in ("[", "![", "("):
            self._open.append((mark, start))
        elif mark == "](":
            text = self._pop_to("[", "![")
            self._open.append(("](", start if text is None else text))
            self._targets += 1
        elif mark == "]" and self._open and self._open[-1][0] in ("[", "!["):
            self._add(self._open.pop()[1], start + 1)
        elif mark == ")":
            self._close_target(start)

    def _close_target(self, start: int) -> None:
        # A bracket within a link's target is part of it; elsewhere it is still open.
        while self._targets and self._open[-1][0] in ("[", "!["):
            self._open.pop()
        if self._open and self._open[-1][0] in ("](", "("):
            mark, begin = self._open.pop()
            if mark == "](":
                self._targets -= 1
                self._add(begin, start + 1)

    def _pop_to(self, *wanted: str) -> int | None:
        while self._open:
            mark, start = self._open.pop()
            self._targets -= mark == "]("
            if mark in wanted:
                return start
        return None

    def _add(self, start: int, end: int) -> None:
        if end - start <= MAX_SPAN_CHARS:
            self._found.append((start, end))


def _outermost(spans: Iterable[Span]) -> list[Span]:
    kept: list[Span] = []
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept

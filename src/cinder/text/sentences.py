"""Sentences of markdown text, its inline spans (links, code) and its plain text.

`plain_text` is for headings and sentences: it is slow on long texts that were made to slow it down.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

# A longer span is not a link, but a bracket that was never closed.
MAX_SPAN_CHARS = 4_096

_TOKEN = re.compile(r"\\.|`+|!?\[|\]\(|[\]()]|<[a-z]{3,10}:[^\s<>]{0,2000}>", re.DOTALL)

Span = tuple[int, int]


def find_spans(text: str, start: int, end: int) -> list[Span]:
    """Return the positions of the links, images and code within a part of a text.

    They are in order and do not overlap: of nested ones only the outermost is returned.
    """
    tokens = [(m[0], m.start()) for m in _TOKEN.finditer(text, start, end)]
    outermost: list[Span] = []
    for begin, close in sorted(_Brackets(tokens).spans(), key=lambda span: (span[0], -span[1])):
        if not outermost or begin >= outermost[-1][1]:
            outermost.append((begin, close))
    return outermost


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
        # Each run of backticks, with the next one of its length.
        closing: dict[int, int] = {}
        following: dict[str, int] = {}
        for index in range(len(self._tokens) - 1, -1, -1):
            mark = self._tokens[index][0]
            if mark[0] == "`":
                if mark in following:
                    closing[index] = following[mark]
                following[mark] = index
            elif mark == "\\`":
                # Within code a backslash is literal; outside, it keeps code from beginning.
                following["`"] = index
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

    def _pair(self, mark: str, start: int) -> None:
        if mark in ("[", "![", "("):
            self._open.append((mark, start))
        elif mark == "](":
            begin = start
            while self._open:
                opening, opened = self._open.pop()
                self._targets -= opening == "]("
                if opening in ("[", "!["):
                    begin = opened
                    break
            self._open.append(("](", begin))
            self._targets += 1
        elif mark == "]" and self._open and self._open[-1][0] in ("[", "!["):
            self._add(self._open.pop()[1], start + 1)
        elif mark == ")":
            # A bracket within a link's target is part of it; elsewhere it is still open.
            while self._targets and self._open[-1][0] in ("[", "!["):
                self._open.pop()
            if self._open and self._open[-1][0] in ("](", "("):
                opening, begin = self._open.pop()
                if opening == "](":
                    self._targets -= 1
                    self._add(begin, start + 1)

    def _add(self, start: int, end: int) -> None:
        if end - start <= MAX_SPAN_CHARS:
            self._found.append((start, end))


_TARGET = r"\((?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+\"[^\"]*\")?\)"
_IMAGE = re.compile(r"!\[((?:[^\[\]\\]|\\.)*)\]" + _TARGET)
_LINK = re.compile(r"\[((?:[^\[\]\\]|\\.)*)\]" + _TARGET)
_TAG = re.compile(r"<(?:br|/?[a-z][a-z0-9]{0,10})\s?/?>")
_AUTOLINK = re.compile(r"<([a-z]{3,10}:[^\s<>]{0,2000})>")
_EMPHASIS = re.compile(
    r"(?<![\\\w])[*_]{1,3}(?=\w|[^\w\s*_])|(?<=[^\s\\])[*_]{1,3}(?!\w)|(?<!\\)\*\*|~~"
)
_CODE_MARKS = re.compile(r"(?<!\\)`+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_LINE_MARKS = re.compile(r"(?m)^[ \t]{0,10}(?:>[ \t]?){1,10}")


def plain_text(markdown: str) -> str:
    """Return inline markdown without its marks, white space collapsed."""
    text = markdown
    # Each pattern needs a character that most texts lack: searching for that is much faster.
    if ">" in text:
        text = _LINE_MARKS.sub("", text)
    if "[" in text:
        text = _LINK.sub(r"\1", _IMAGE.sub(r"\1", text))
    if "<" in text:
        text = _TAG.sub(" ", _AUTOLINK.sub(r"\1", text))
    if "*" in text or "_" in text or "~~" in text:
        text = _EMPHASIS.sub("", text)
    if "`" in text:
        text = _CODE_MARKS.sub("", text)
    if "\\" in text:
        text = _ESCAPED.sub(r"\1", text)
    return " ".join(text.split())


def linked_chars(markdown: str) -> int:
    """Return how many characters of a text's plain text are in links."""
    without_images = _IMAGE.sub("", markdown)
    return sum(len(link[1]) for link in _LINK.finditer(without_images))


_CODE_OR_LINK = re.compile(
    r"(?P<code>(?P<mark>`+)(?!`).*?(?<!`)(?P=mark)(?!`))|!?\[(?P<text>(?:[^\[\]\\]|\\.)*)\]"
    + _TARGET,
    re.DOTALL,
)


def shorten_links(markdown: str) -> str:
    """Return markdown with links as their text, unless most of its text is in links.

    A list of links is read for where they lead; links in prose are longer than what they say.
    """
    if "](" not in markdown or 2 * linked_chars(markdown) > len(plain_text(markdown)):
        return markdown
    return _CODE_OR_LINK.sub(lambda found: found["code"] or found["text"], markdown)


# Marks that end a sentence before a space, and the marks that may come between.
ENDS = ".!?\u2026\u061f\u0964"
CLOSING_MARKS = "\"')\u201d\u2019\xbb*_"
# The same for scripts that put no space after a sentence.
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
    """Yield the positions of the sentences in a paragraph; links and code never end one."""
    spans = find_spans(text, start, end)
    begin = start
    for mark in _END.finditer(text, start, end):
        following = text[mark.end() : min(end, mark.end() + _LOOK_BACK)].lstrip()
        if following[:1].islower() or span_around(spans, mark.start() + 1) is not None:
            continue
        before = _LAST_WORD.search(text[max(0, mark.start() - _LOOK_BACK) : mark.start()])
        word = before[0].casefold() if before else ""
        is_initial = len(word) == 1 and word.isalpha()
        if mark[0][0] != "." or not (is_initial or word in _ABBREVIATIONS):
            yield from _trimmed(text, begin, mark.end())
            begin = mark.end()
    yield from _trimmed(text, begin, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inner = text[start:end]
    begin = start + len(inner) - len(inner.lstrip())
    if stripped := inner.strip():
        yield begin, begin + len(stripped)

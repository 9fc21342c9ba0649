"""Looks up values and their quotes in the text of a page, as evidence."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape
from itertools import islice

from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.matching import FieldMatch
from cinder.extraction.values import NUMBER, parse_value
from cinder.html.tree import collapse
from cinder.models.document import Json
from cinder.models.extraction import Evidence, Grounding, Method, QuotedText

_MAX_TRIES = 200
_MAX_CHUNKS = 40
_MAX_CONDENSED_CHARS = 3_000_000
_MARKS = frozenset("\\*_`~<>")
_PLAIN_CHUNK = re.compile(r"[A-Za-z0-9 ,.]{2,}")
# The longest escape of one character: `&#128512;`, `\ud83d\ude00`.
_LONGEST_ESCAPE = 12


class SearchedText:
    """One text of a page, in which quotes are searched for, exactly or without white space."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, quote: str, anchors: tuple[str, ...]) -> int:
        """Return the position of a whole quote, after its anchors if possible; -1 if not found."""
        start = self._start_after(anchors)
        found = self.find_between(quote, start, len(self.text))
        return found if found >= 0 or not start else self.find_between(quote, 0, len(self.text))

    def _start_after(self, anchors: tuple[str, ...]) -> int:
        start = 0
        for anchor in anchors:
            if anchor and (found := self.text.find(anchor, start)) >= 0:
                start = found
        return start

    def find_between(self, quote: str, start: int, end: int) -> int:
        """Return the position of a whole quote between two positions; -1 if not found."""
        found = self.text.find(quote, start, end)
        for _ in range(_MAX_TRIES):
            if found < 0 or self.is_whole(found, found + len(quote)):
                return found
            found = self.text.find(quote, found + 1, end)
        return -1

    def find_marked(self, quote: str) -> tuple[int, int] | None:
        """Return the position of a quote, ignoring white space and emphasis marks."""
        spans = find_condensed(quote, *self._condensed)
        return next((span for span in islice(spans, _MAX_TRIES) if self.is_whole(*span)), None)

    def find_escaped(self, quote: str, start: int = 0) -> tuple[int, int] | None:
        """Return the position of a quote that the page writes with entities or escapes."""
        chunks = _PLAIN_CHUNK.findall(quote)[:_MAX_CHUNKS]
        for _ in range(_MAX_TRIES if chunks else 0):
            start = self.text.find(chunks[0], start)
            if start < 0:
                return None
            window = self.text[start : start + len(quote) * _LONGEST_ESCAPE]
            end = 0
            for chunk in chunks:
                found = window.find(chunk, end)
                if found < 0:
                    end = 0
                    break
                end = found + len(chunk)
            if end:
                written = window[:end]
                with suppress(ValueError):
                    written = str(json.loads(f'"{written}"', strict=False))
                if collapse(unescape(written)) == quote:
                    return start, start + end
            start += 1
        return None

    def find_number(self, value: float, anchors: tuple[str, ...]) -> tuple[int, int] | None:
        """Return the position of a number, which may have trailing zeros."""
        shortest = str(int(value)) if value == int(value) else str(value)
        pattern = re.compile(
            rf"(?<![\w.,]){re.escape(shortest)}(?:\.0{{1,9}}|0{{0,9}})(?!\d|[.,]\d)"
        )
        for start in (self._start_after(anchors), 0):
            for found in islice(pattern.finditer(self.text, start), _MAX_TRIES):
                if float(found[0]) == value:
                    return found.span()
        return None

    def is_whole(self, start: int, end: int) -> bool:
        """Whether a range is no part of a longer word or number."""
        text = self.text
        before = text[start - 1 : start]
        after = text[end : end + 1]
        if before.isalnum() and text[start].isalnum():
            return False
        # A unit may follow its number without a space.
        is_unit = text[end - 1].isdigit() and after.isalpha()
        if after.isalnum() and text[end - 1].isalnum() and not is_unit:
            return False
        if not (text[start].isdigit() and text[end - 1].isdigit()):
            return True
        return not (
            (before in (".", ",") and text[start - 2 : start - 1].isdigit())
            or (after in (".", ",") and text[end + 1 : end + 2].isdigit())
        )

    @cached_property
    def _condensed(self) -> tuple[str, "array[int]"]:
        return condense(self.text[:_MAX_CONDENSED_CHARS])


def condense(text: str) -> tuple[str, "array[int]"]:
    """Return a text without white space and emphasis marks, and each character's position."""
    kept: list[str] = []
    positions = array("L")
    for position, character in enumerate(text):
        if not character.isspace() and character not in _MARKS:
            kept.append(character)
            positions.append(position)
    return "".join(kept), positions


def find_condensed(
    quote: str, condensed: str, positions: "array[int]"
) -> Iterator[tuple[int, int]]:
    """Yield the positions of a quote in a text that was condensed."""
    needle, _ = condense(quote)
    found = condensed.find(needle) if needle else -1
    while found >= 0:
        yield positions[found], positions[found + len(needle) - 1] + 1
        found = condensed.find(needle, found + 1)


_DECLARED = frozenset((Method.JSON_LD, Method.META, Method.MICRODATA))
_MIN_TELLING_CHARS = 8
_FIGURES = re.compile(NUMBER)
_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?\Z")
_UNMARKED = "text without markup"
_UNESCAPED = "escapes undone"


class Grounder:
    """Looks up matches in the texts of their page."""

    def __init__(self, markdown: str | None, page: str | None, url: str) -> None:
        self._texts = {
            kind: SearchedText(text)
            for kind, text in ((QuotedText.MARKDOWN, markdown), (QuotedText.PAGE, page))
            if text
        }
        self._url = url

    def prove(self, match: FieldMatch, anchor: str = "") -> Evidence:
        """Return the evidence for a match."""
        candidate, parsed = match.candidate, match.parsed
        anchors = (anchor, candidate.label_text.rpartition(".")[2])
        kinds = [QuotedText.MARKDOWN, QuotedText.PAGE]
        if candidate.method in _DECLARED and not _is_distinctive(parsed.quote):
            # A short quote occurs in many places of the text; the markup shows the right one.
            kinds.reverse()
        quotes = [parsed.quote]
        if _is_number(parsed.value) and (figures := _FIGURES.search(parsed.quote)):
            quotes.append(figures[0])
        for quote in quotes:
            for kind in kinds:
                if found := self._find(kind, quote, anchors, parsed.value):
                    start, end, rule = found
                    rules = "; ".join(filter(None, (rule, parsed.rule)))
                    return self._evidence(match, kind, (start, end), rules)
        return Evidence(
            method=candidate.method,
            quote=parsed.quote,
            grounding=Grounding.UNVERIFIED,
            url=self._url,
            label=candidate.label_text,
            normalization=parsed.rule,
        )

    def _find(
        self, kind: QuotedText, quote: str, anchors: tuple[str, ...], value: Json
    ) -> tuple[int, int, str] | None:
        text = self._texts.get(kind)
        if text is None or not quote:
            return None
        if (found := text.find(quote, anchors)) >= 0:
            return found, found + len(quote), ""
        if kind is QuotedText.PAGE:
            as_json = json.dumps(quote)[1:-1]
            in_html = (escape(quote), escape(quote, quote=False))
            in_json = (as_json.replace("/", "\\/"), json.dumps(quote, ensure_ascii=False)[1:-1])
            for form in (*in_html, as_json, *in_json):
                if (found := text.find(form, anchors)) >= 0:
                    return found, found + len(form), _UNESCAPED
            if _is_number(value) and _PLAIN_NUMBER.match(quote):
                number = text.find_number(float(quote), anchors)
                return (*number, "") if number else None
            if escaped := text.find_escaped(quote):
                return (*escaped, _UNESCAPED)
        # A short quote would be found within other words by chance.
        marked = text.find_marked(quote) if _is_distinctive(quote) else None
        return (*marked, _UNMARKED) if marked else None

    def _evidence(
        self, match: FieldMatch, kind: QuotedText, span: tuple[int, int], rules: str
    ) -> Evidence:
        start, end = span
        quote = self._texts[kind].text[start:end]
        value = match.parsed.value
        is_same = _is_number(value) and _as_number(quote) == value
        is_literal = not rules and (value == quote if isinstance(value, str) else is_same)
        return Evidence(
            method=match.candidate.method,
            quote=quote,
            grounding=Grounding.VERIFIED if is_literal else Grounding.NORMALIZED,
            url=self._url,
            label=match.candidate.label_text,
            text=kind,
            start=start,
            end=end,
            normalization=rules if is_literal else rules or "number",
        )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_distinctive(text: Json) -> bool:
    """Whether a text is long enough not to occur by chance."""
    is_long = isinstance(text, str) and len(text) >= _MIN_TELLING_CHARS
    return is_long and any(character.isalpha() for character in str(text))


TextSpan = tuple[int, int]

_MAX_QUOTE_CHARS = 5_000
_MAX_FIGURES = 50
_WORD = re.compile(r"\w+")
_LINE = re.compile(r"[^\n]+")
# Characters that models put around a quote although the page does not have them.
_QUOTE_MARKS = " \t\n\"'“”„«»`"
_ELLIPSES = ("...", "…")
_REWORDED = "words of the quote"
_JUDGED = "as the model reads the quote"
_SAME_NUMBER = "number"
_MINUS = ("-", "\u2212", "\u2013")
_NEARLY_QUOTED = "quoted in other words"
# A quote with so many words may differ from the page; the share of its words that must occur.
_MIN_QUOTE_WORDS = 3
_LEAST_SHARED = 0.8


@dataclass(frozen=True, slots=True)
class _QuotedSpan:
    """The position of a quote, and the rule by which the value follows from it."""

    start: int
    end: int
    rule: str = ""


class ClaimProver:
    """Looks up claimed values in one saved page."""

    def __init__(self, markdown: str, url: str) -> None:
        self._text = SearchedText(markdown)
        self._url = url

    def prove(
        self, field: FieldSpec, value: Json, quote: str, within: Sequence[TextSpan] = ()
    ) -> Evidence:
        """Return the evidence that a page states a value.

        Args:
            field: the field that the value is for.
            value: a scalar.
            quote: the claimed passage of the page that states the value.
            within: the parts of the page that the claim is based on, which are searched first.
        """
        quote = quote[:_MAX_QUOTE_CHARS].strip(_QUOTE_MARKS)
        for ellipsis in _ELLIPSES:
            quote = quote.removesuffix(ellipsis).removeprefix(ellipsis)
        quote = quote.strip(_QUOTE_MARKS)
        for span in self._find_quote(quote, within):
            if found := self._read(field, value, *span):
                return self._evidence(found)
        if near := self._find_nearly(field, value, quote, within):
            return self._evidence(near)
        if _is_distinctive(value) and (start := self._text.find(str(value), ())) >= 0:
            return self._evidence(_QuotedSpan(start, start + len(str(value))))
        # A quote on the page proves nothing if it does not state the value.
        return Evidence(
            method=Method.MODEL,
            quote=quote or str(value)[:_MAX_QUOTE_CHARS],
            grounding=Grounding.UNVERIFIED,
            url=self._url,
        )

    def _find_quote(self, quote: str, within: Sequence[TextSpan]) -> Iterator[TextSpan]:
        """Yield the positions of a quote, first in the given parts."""
        if not quote:
            return
        for start, end in within:
            if (found := self._text.find_between(quote, start, end)) >= 0:
                yield found, found + len(quote)
        if (found := self._text.find(quote, ())) >= 0:
            yield found, found + len(quote)
        elif _is_distinctive(quote) and (marked := self._text.find_marked(quote)):
            yield marked

    def _find_nearly(
        self, field: FieldSpec, value: Json, quote: str, within: Sequence[TextSpan]
    ) -> _QuotedSpan | None:
        """Return the position of a value in a line with nearly all words of its quote."""
        words = set(_WORD.findall(quote.casefold()))
        if len(words) < _MIN_QUOTE_WORDS or field.kind is FieldKind.BOOLEAN or field.choices:
            return None
        text = self._text.text
        for line in (line for span in within for line in _LINE.finditer(text, *span)):
            shared = words & set(_WORD.findall(line[0].casefold()))
            if len(shared) < _LEAST_SHARED * len(words):
                continue
            if found := self._read(field, value, *line.span()):
                rules = "; ".join(filter(None, (_NEARLY_QUOTED, found.rule)))
                return _QuotedSpan(found.start, found.end, rules)
        return None

    def _read(self, field: FieldSpec, value: Json, start: int, end: int) -> _QuotedSpan | None:
        """Return the part of a quote that states a value; None if no part does."""
        quote = self._text.text[start:end]
        if field.kind is FieldKind.BOOLEAN or field.choices:
            found = SearchedText(quote).find(value, ()) if isinstance(value, str) and value else -1
            if isinstance(value, str) and found >= 0:
                return _QuotedSpan(start + found, start + found + len(value))
            return _QuotedSpan(start, end, _JUDGED)
        read = _read_number if _is_number(value) else _read_text
        span = read(field, value, quote, start)
        # A quote that was cut may begin or end within a word or a number.
        return span if span and self._text.is_whole(span.start, span.end) else None

    def _evidence(self, span: _QuotedSpan) -> Evidence:
        return Evidence(
            method=Method.MODEL,
            quote=self._text.text[span.start : span.end],
            grounding=Grounding.NORMALIZED if span.rule else Grounding.VERIFIED,
            url=self._url,
            text=QuotedText.MARKDOWN,
            start=span.start,
            end=span.end,
            normalization=span.rule,
        )


def normalise_claim(field: FieldSpec, value: Json) -> Json:
    """Return a claimed value in the format of its field; None if it cannot be converted."""
    if not field.holds_date or not isinstance(value, str):
        return value
    parsed = parse_value(field, value, None)
    return parsed.value if parsed is not None else None


def _read_number(field: FieldSpec, value: Json, quote: str, start: int) -> _QuotedSpan | None:
    found = islice(_FIGURES.finditer(quote), _MAX_FIGURES)
    # Without the negative ones; a minus sign between two numbers denotes a range.
    figures = [
        figure
        for figure in found
        if quote[(at := figure.start()) - 1 : at] not in _MINUS
        or quote[max(0, at - 2) : at - 1].isalnum()
    ]
    for figure in figures:
        if _as_number(figure[0]) == value:
            return _QuotedSpan(start + figure.start(), start + figure.end())
    for text in (quote, *(figure[0] for figure in figures)):
        parsed = parse_value(field, text, None)
        if parsed is not None and parsed.value == value:
            first = max(0, quote.find(parsed.quote))
            end = first + len(parsed.quote) if parsed.quote in quote else len(quote)
            return _QuotedSpan(start + first, start + end, parsed.rule or _SAME_NUMBER)
    return None


def _read_text(field: FieldSpec, value: Json, quote: str, start: int) -> _QuotedSpan | None:
    text = str(value)
    found = SearchedText(quote).find(text, ()) if text else -1
    if found >= 0:
        return _QuotedSpan(start + found, start + found + len(text))
    parsed = parse_value(field, quote, None)
    if parsed is not None and parsed.value == text:
        return _QuotedSpan(start, start + len(quote), parsed.rule)
    if _is_distinctive(text) and (marked := SearchedText(quote).find_marked(text)):
        return _QuotedSpan(start + marked[0], start + marked[1], _UNMARKED)
    words = set(_WORD.findall(text.casefold()))
    if words and words <= set(_WORD.findall(quote.casefold())):
        return _QuotedSpan(start, start + len(quote), _REWORDED)
    return None


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

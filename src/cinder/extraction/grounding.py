"""Looks values and their quotes up in the text of a page, and says how far they are proved."""

import json
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape, unescape
from itertools import islice

from cinder.extraction.candidates import NUMBER
from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.matching import FieldMatch
from cinder.extraction.values import ParsedValue, parse_value, wants_date
from cinder.html.tree import collapse
from cinder.models.document import Json
from cinder.models.extraction import Evidence, Grounding, Method, QuotedText

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


_DECLARED = frozenset((Method.JSON_LD, Method.META, Method.MICRODATA))
_MIN_TELLING_CHARS = 8
_FIGURES = re.compile(NUMBER)
_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?\Z")
_UNMARKED = "text without markup"
_UNESCAPED = "escapes undone"


class Grounder:
    """Proves matches by the texts of the page that they come from."""

    def __init__(self, markdown: str | None, page: str | None, url: str) -> None:
        self._texts = {
            kind: SearchedText(text)
            for kind, text in ((QuotedText.MARKDOWN, markdown), (QuotedText.PAGE, page))
            if text
        }
        self._url = url

    def prove(self, match: FieldMatch, anchor: str = "") -> Evidence:
        """Return what shows a match."""
        candidate, reading = match.candidate, match.reading
        anchors = (anchor, candidate.said.rpartition(".")[2])
        kinds = [QuotedText.MARKDOWN, QuotedText.PAGE]
        if candidate.method in _DECLARED and not _is_telling_quote(reading.quote):
            # Such a one stands in many places of the text; the page's markup says which is meant.
            kinds.reverse()
        for quote in _quotes(reading):
            for kind in kinds:
                if found := self._find(kind, quote, anchors, reading.value):
                    start, end, rule = found
                    rules = "; ".join(filter(None, (rule, reading.rule)))
                    return self._evidence(match, kind, (start, end), rules)
        return Evidence(
            method=candidate.method,
            quote=reading.quote,
            grounding=Grounding.UNVERIFIED,
            url=self._url,
            label=candidate.said,
            normalization=reading.rule,
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
            for written in (escape(quote), escape(quote, quote=False), *_as_json(quote)):
                if (found := text.find(written, anchors)) >= 0:
                    return found, found + len(written), _UNESCAPED
            if _is_number(value) and _PLAIN_NUMBER.match(quote):
                number = text.find_number(float(quote), anchors)
                return (*number, "") if number else None
            if escaped := text.find_escaped(quote):
                return (*escaped, _UNESCAPED)
        # Of a short quote that is part of other words, the place would be chance.
        marked = text.find_marked(quote) if _is_telling_quote(quote) else None
        return (*marked, _UNMARKED) if marked else None

    def _evidence(
        self, match: FieldMatch, kind: QuotedText, span: tuple[int, int], rules: str
    ) -> Evidence:
        start, end = span
        quote = self._texts[kind].text[start:end]
        is_literal = not rules and _is_supported_by(match.reading.value, quote)
        return Evidence(
            method=match.candidate.method,
            quote=quote,
            grounding=Grounding.VERIFIED if is_literal else Grounding.NORMALIZED,
            url=self._url,
            label=match.candidate.said,
            text=kind,
            start=start,
            end=end,
            normalization=rules if is_literal else rules or "number",
        )


def _quotes(reading: ParsedValue) -> Iterator[str]:
    """Yield what to look up: the quote, or at least the figures of an amount."""
    yield reading.quote
    if _is_number(reading.value) and (figures := _FIGURES.search(reading.quote)):
        yield figures[0]


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_telling_quote(quote: str) -> bool:
    return len(quote) >= _MIN_TELLING_CHARS and any(each.isalpha() for each in quote)


def _as_json(quote: str) -> tuple[str, ...]:
    written = json.dumps(quote)[1:-1]
    return (written, written.replace("/", "\\/"), json.dumps(quote, ensure_ascii=False)[1:-1])


def _is_supported_by(value: Json, quote: str) -> bool:
    if isinstance(value, str):
        return value == quote
    if not _is_number(value):
        return False
    try:
        return float(quote) == value
    except ValueError:
        return False


TextSpan = tuple[int, int]

_MAX_QUOTE_CHARS = 5_000
_MAX_FIGURES = 50
_WORD = re.compile(r"\w+")
# What is put round a quote, or at its end, though the page has none of it.
_QUOTE_MARKS = " \t\n\"'“”„«»`"
_ELLIPSES = ("...", "…")
_REWORDED = "words of the quote"
_JUDGED = "as the model reads the quote"
_SAME_NUMBER = "number"
_MINUS = ("-", "\u2212", "\u2013")
_NEARLY_QUOTED = "quoted in other words"
# How many words make a quote that can be told in other words, and what part of them must be there.
_MIN_QUOTE_WORDS = 3
_LEAST_SHARED = 0.8


@dataclass(frozen=True, slots=True)
class _QuotedSpan:
    """Where a quote stands, and by which rule the value follows from it."""

    start: int
    end: int
    rule: str = ""


class ClaimProver:
    """Looks up what was claimed of one saved page."""

    def __init__(self, markdown: str, url: str) -> None:
        self._text = SearchedText(markdown)
        self._url = url

    def prove(
        self, field: FieldSpec, value: Json, quote: str, within: Sequence[TextSpan] = ()
    ) -> Evidence:
        """Return what shows that a page says a value.

        Args:
            field: what the value is for.
            value: a scalar.
            quote: what is said to stand on the page and to say it.
            within: the parts of the page that were read; elsewhere is looked only after them.
        """
        quote = _trimmed(quote[:_MAX_QUOTE_CHARS])
        for span in self._find_quote(quote, within):
            if said := self._read(field, value, *span):
                return self._evidence(said)
        if near := self._find_nearly(field, value, quote, within):
            return self._evidence(near)
        if _is_telling_value(value) and (place := self._text.find(str(value), ())) >= 0:
            return self._evidence(_QuotedSpan(place, place + len(str(value))))
        # That it stands there proves nothing where it does not say the value.
        return Evidence(
            method=Method.MODEL,
            quote=quote or str(value)[:_MAX_QUOTE_CHARS],
            grounding=Grounding.UNVERIFIED,
            url=self._url,
        )

    def _find_quote(self, quote: str, within: Sequence[TextSpan]) -> Iterator[TextSpan]:
        """Yield where a quote stands, first in what was read."""
        if not quote:
            return
        for start, end in within:
            if (place := self._text.find_between(quote, start, end)) >= 0:
                yield place, place + len(quote)
        if (place := self._text.find(quote, ())) >= 0:
            yield place, place + len(quote)
        elif _is_telling_value(quote) and (marked := self._text.find_marked(quote)):
            yield marked

    def _find_nearly(
        self, field: FieldSpec, value: Json, quote: str, within: Sequence[TextSpan]
    ) -> _QuotedSpan | None:
        """Return where a line that was read says a value, and nearly all words of its quote."""
        words = set(_WORD.findall(quote.casefold()))
        if len(words) < _MIN_QUOTE_WORDS or field.kind is FieldKind.BOOLEAN or field.choices:
            return None
        for start, end in _lines_of(self._text.text, within):
            shared = words & set(_WORD.findall(self._text.text[start:end].casefold()))
            if len(shared) < _LEAST_SHARED * len(words):
                continue
            if said := self._read(field, value, start, end):
                rules = "; ".join(filter(None, (_NEARLY_QUOTED, said.rule)))
                return _QuotedSpan(said.start, said.end, rules)
        return None

    def _read(self, field: FieldSpec, value: Json, start: int, end: int) -> _QuotedSpan | None:
        """Return the part of a quote that says a value; None where none does."""
        quote = self._text.text[start:end]
        if field.kind is FieldKind.BOOLEAN or field.choices:
            return _judged(value, quote, start)
        read = _read_figure if _is_number(value) else _read_text
        said = read(field, value, quote, start)
        # Where a quote was cut, it may begin or end within a word or a number.
        return said if said and self._text.is_whole(said.start, said.end) else None

    def _evidence(self, place: _QuotedSpan) -> Evidence:
        return Evidence(
            method=Method.MODEL,
            quote=self._text.text[place.start : place.end],
            grounding=Grounding.NORMALIZED if place.rule else Grounding.VERIFIED,
            url=self._url,
            text=QuotedText.MARKDOWN,
            start=place.start,
            end=place.end,
            normalization=place.rule,
        )


def _lines_of(text: str, within: Sequence[TextSpan]) -> Iterator[TextSpan]:
    for first, last in within:
        start = first
        while start < last:
            newline = text.find("\n", start, last)
            end = newline if newline >= 0 else last
            yield start, end
            start = end + 1


def normalise_claim(field: FieldSpec, value: Json) -> Json:
    """Return a claimed value in the form that its field wants; None where it cannot have it."""
    if not wants_date(field) or not isinstance(value, str):
        return value
    reading = parse_value(field, value, None)
    return reading.value if reading is not None else None


def _judged(value: Json, quote: str, start: int) -> _QuotedSpan:
    place = SearchedText(quote).find(value, ()) if isinstance(value, str) and value else -1
    if isinstance(value, str) and place >= 0:
        return _QuotedSpan(start + place, start + place + len(value))
    return _QuotedSpan(start, start + len(quote), _JUDGED)


def _read_figure(field: FieldSpec, value: Json, quote: str, start: int) -> _QuotedSpan | None:
    found = islice(_FIGURES.finditer(quote), _MAX_FIGURES)
    figures = [figure for figure in found if not _is_negative(quote, figure.start())]
    for figure in figures:
        if _as_number(figure[0]) == value:
            return _QuotedSpan(start + figure.start(), start + figure.end())
    for text in (quote, *(figure[0] for figure in figures)):
        reading = parse_value(field, text, None)
        if reading is not None and reading.value == value:
            place = max(0, quote.find(reading.quote))
            end = place + len(reading.quote) if reading.quote in quote else len(quote)
            return _QuotedSpan(start + place, start + end, reading.rule or _SAME_NUMBER)
    return None


def _is_negative(quote: str, start: int) -> bool:
    """Whether a sign stands before a figure; between two of them it is a range."""
    return quote[start - 1 : start] in _MINUS and not quote[max(0, start - 2) : start - 1].isalnum()


def _read_text(field: FieldSpec, said: Json, quote: str, start: int) -> _QuotedSpan | None:
    value = str(said)
    place = SearchedText(quote).find(value, ()) if value else -1
    if place >= 0:
        return _QuotedSpan(start + place, start + place + len(value))
    reading = parse_value(field, quote, None)
    if reading is not None and reading.value == value:
        return _QuotedSpan(start, start + len(quote), reading.rule)
    if _is_telling_value(value) and (marked := SearchedText(quote).find_marked(value)):
        return _QuotedSpan(start + marked[0], start + marked[1], _UNMARKED)
    words = set(_WORD.findall(value.casefold()))
    if words and words <= set(_WORD.findall(quote.casefold())):
        return _QuotedSpan(start, start + len(quote), _REWORDED)
    return None


def _trimmed(quote: str) -> str:
    quote = quote.strip(_QUOTE_MARKS)
    for ellipsis in _ELLIPSES:
        quote = quote.removesuffix(ellipsis).removeprefix(ellipsis)
    return quote.strip(_QUOTE_MARKS)


def _is_telling_value(value: Json) -> bool:
    """Whether a text is such that it stands nowhere by chance."""
    is_long = isinstance(value, str) and len(value) >= _MIN_TELLING_CHARS
    return is_long and any(each.isalpha() for each in str(value))


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

"""Claims: values that somebody else read from a page, each looked up in it by the quote given."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from cinder.extract.fields.searched_text import SearchedText
from cinder.extract.fields.typed_texts import NUMBER
from cinder.extract.fields.values import read_value, wants_date
from cinder.extract.fields.wanted import FieldKind, Wanted
from cinder.model.document import Json
from cinder.model.extracted_data import Evidence, Grounding, Method, QuotedText

Span = tuple[int, int]

_MAX_QUOTE_CHARS = 5_000
_MIN_TELLING_CHARS = 8
_MAX_FIGURES = 50
_FIGURES = re.compile(NUMBER)
_WORD = re.compile(r"\w+")
# What is put round a quote, or at its end, though the page has none of it.
_QUOTE_MARKS = " \t\n\"'“”„«»`"
_ELLIPSES = ("...", "…")
_UNMARKED = "text without markup"
_REWORDED = "words of the quote"
_JUDGED = "as the model reads the quote"
_SAME_NUMBER = "number"
_MINUS = ("-", "\u2212", "\u2013")
_NEARLY_QUOTED = "quoted in other words"
# How many words make a quote that can be told in other words, and what part of them must be there.
_MIN_QUOTE_WORDS = 3
_LEAST_SHARED = 0.8


@dataclass(frozen=True, slots=True)
class _Place:
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
        self, field: Wanted, value: Json, quote: str, within: Sequence[Span] = ()
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
        if _is_telling(value) and (place := self._text.find(str(value), ())) >= 0:
            return self._evidence(_Place(place, place + len(str(value))))
        # That it stands there proves nothing where it does not say the value.
        return Evidence(
            method=Method.MODEL,
            quote=quote or str(value)[:_MAX_QUOTE_CHARS],
            grounding=Grounding.UNVERIFIED,
            url=self._url,
        )

    def _find_quote(self, quote: str, within: Sequence[Span]) -> Iterator[Span]:
        """Yield where a quote stands, first in what was read."""
        if not quote:
            return
        for start, end in within:
            if (place := self._text.find_between(quote, start, end)) >= 0:
                yield place, place + len(quote)
        if (place := self._text.find(quote, ())) >= 0:
            yield place, place + len(quote)
        elif _is_telling(quote) and (marked := self._text.find_marked(quote)):
            yield marked

    def _find_nearly(
        self, field: Wanted, value: Json, quote: str, within: Sequence[Span]
    ) -> _Place | None:
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
                return _Place(said.start, said.end, rules)
        return None

    def _read(self, field: Wanted, value: Json, start: int, end: int) -> _Place | None:
        """Return the part of a quote that says a value; None where none does."""
        quote = self._text.text[start:end]
        if field.kind is FieldKind.BOOLEAN or field.choices:
            return _judged(value, quote, start)
        read = _read_figure if _is_number(value) else _read_text
        said = read(field, value, quote, start)
        # Where a quote was cut, it may begin or end within a word or a number.
        return said if said and self._text.is_whole(said.start, said.end) else None

    def _evidence(self, place: _Place) -> Evidence:
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


def _lines_of(text: str, within: Sequence[Span]) -> Iterator[Span]:
    for first, last in within:
        start = first
        while start < last:
            newline = text.find("\n", start, last)
            end = newline if newline >= 0 else last
            yield start, end
            start = end + 1


def normalise_claim(field: Wanted, value: Json) -> Json:
    """Return a claimed value in the form that its field wants; None where it cannot have it."""
    if not wants_date(field) or not isinstance(value, str):
        return value
    reading = read_value(field, value, None)
    return reading.value if reading is not None else None


def _judged(value: Json, quote: str, start: int) -> _Place:
    place = SearchedText(quote).find(value, ()) if isinstance(value, str) and value else -1
    if isinstance(value, str) and place >= 0:
        return _Place(start + place, start + place + len(value))
    return _Place(start, start + len(quote), _JUDGED)


def _read_figure(field: Wanted, value: Json, quote: str, start: int) -> _Place | None:
    found = islice(_FIGURES.finditer(quote), _MAX_FIGURES)
    figures = [figure for figure in found if not _is_negative(quote, figure.start())]
    for figure in figures:
        if _as_number(figure[0]) == value:
            return _Place(start + figure.start(), start + figure.end())
    for text in (quote, *(figure[0] for figure in figures)):
        reading = read_value(field, text, None)
        if reading is not None and reading.value == value:
            place = max(0, quote.find(reading.quote))
            end = place + len(reading.quote) if reading.quote in quote else len(quote)
            return _Place(start + place, start + end, reading.rule or _SAME_NUMBER)
    return None


def _is_negative(quote: str, start: int) -> bool:
    """Whether a sign stands before a figure; between two of them it is a range."""
    return quote[start - 1 : start] in _MINUS and not quote[max(0, start - 2) : start - 1].isalnum()


def _read_text(field: Wanted, said: Json, quote: str, start: int) -> _Place | None:
    value = str(said)
    place = SearchedText(quote).find(value, ()) if value else -1
    if place >= 0:
        return _Place(start + place, start + place + len(value))
    reading = read_value(field, quote, None)
    if reading is not None and reading.value == value:
        return _Place(start, start + len(quote), reading.rule)
    if _is_telling(value) and (marked := SearchedText(quote).find_marked(value)):
        return _Place(start + marked[0], start + marked[1], _UNMARKED)
    words = set(_WORD.findall(value.casefold()))
    if words and words <= set(_WORD.findall(quote.casefold())):
        return _Place(start, start + len(quote), _REWORDED)
    return None


def _trimmed(quote: str) -> str:
    quote = quote.strip(_QUOTE_MARKS)
    for ellipsis in _ELLIPSES:
        quote = quote.removesuffix(ellipsis).removeprefix(ellipsis)
    return quote.strip(_QUOTE_MARKS)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_telling(value: Json) -> bool:
    """Whether a text is such that it stands nowhere by chance."""
    is_long = isinstance(value, str) and len(value) >= _MIN_TELLING_CHARS
    return is_long and any(each.isalpha() for each in str(value))


def _as_number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

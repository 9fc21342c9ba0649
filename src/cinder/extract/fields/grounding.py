"""Looks quotes up in the texts of a page: what stands there literally is proved."""

import json
import re
from collections.abc import Iterator
from html import escape

from cinder.extract.fields.matching import Match
from cinder.extract.fields.searched_text import SearchedText
from cinder.extract.fields.typed_texts import NUMBER
from cinder.extract.fields.values import Reading
from cinder.model.document import Json
from cinder.model.extracted_data import Evidence, Grounding, Method, QuotedText

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

    def prove(self, match: Match, anchor: str = "") -> Evidence:
        """Return what shows a match."""
        candidate, reading = match.candidate, match.reading
        anchors = (anchor, candidate.said.rpartition(".")[2])
        kinds = [QuotedText.MARKDOWN, QuotedText.PAGE]
        if candidate.method in _DECLARED and not _is_telling(reading.quote):
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
        marked = text.find_marked(quote) if _is_telling(quote) else None
        return (*marked, _UNMARKED) if marked else None

    def _evidence(
        self, match: Match, kind: QuotedText, span: tuple[int, int], rules: str
    ) -> Evidence:
        start, end = span
        quote = self._texts[kind].text[start:end]
        is_literal = not rules and _is_said_by(match.reading.value, quote)
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


def _quotes(reading: Reading) -> Iterator[str]:
    """Yield what to look up: the quote, or at least the figures of an amount."""
    yield reading.quote
    if _is_number(reading.value) and (figures := _FIGURES.search(reading.quote)):
        yield figures[0]


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_telling(quote: str) -> bool:
    return len(quote) >= _MIN_TELLING_CHARS and any(each.isalpha() for each in quote)


def _as_json(quote: str) -> tuple[str, ...]:
    written = json.dumps(quote)[1:-1]
    return (written, written.replace("/", "\\/"), json.dumps(quote, ensure_ascii=False)[1:-1])


def _is_said_by(value: Json, quote: str) -> bool:
    if isinstance(value, str):
        return value == quote
    if not _is_number(value):
        return False
    try:
        return float(quote) == value
    except ValueError:
        return False

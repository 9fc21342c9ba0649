"""Reads a text as what a field wants: the value, the quote that says it, and by which rule."""

import re
from collections.abc import Callable
from dataclasses import dataclass

import can_ada

from cinder.extract.fields.numbers import read_number, unit_of_time
from cinder.extract.fields.typed_texts import find_currency, find_email, find_phone
from cinder.extract.fields.wanted import FieldKind, Wanted
from cinder.extract.fields.words import plain_words_of, words_of
from cinder.extract.html_tree import join_address
from cinder.extract.metadata.dates import find_date, normalise_date
from cinder.model.document import Json

MAX_STRING_CHARS = 300
_MAX_PROSE_CHARS = 2_000
_MAX_DATE_CHARS = 120
_MAX_NUMBER_CHARS = 100
_MAX_NUMBERS = 3
_DATE_LENGTH = len("2025-01-31")
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SCHEMA_ORG = re.compile(r"https?://schema\.org/(\w{1,60})\Z")
_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DIGITS = re.compile(r"\d+")
_YES = frozenset(
    (
        *("yes", "true", "y", "✓", "✔", "✅", "available", "in stock", "instock", "included"),
        *("possible", "ja", "oui", "si", "sí", "on", "enabled", "supported", "in store only"),
        *("limited availability", "online only", "☑", "ready to ship", "full", "allowed", "fully"),
    )
)
_NO = frozenset(
    (
        *("no", "false", "n", "✗", "✘", "❌", "x", "\u00d7", "none", "unavailable", "out of stock"),
        *("outofstock", "sold out", "soldout", "not available", "not included", "nein", "non"),
        *("discontinued", "off", "disabled", "not possible", "not supported", "currently"),
        *(
            "currently unavailable",
            "-",
            "\u2013",
            "\u2014",
            "not allowed",
            "back order",
            "on request",
        ),
    )
)
_PROSE_WORDS = frozenset(
    word
    for name in ("description", "text", "body", "content", "bio", "instruction", "review", "note")
    for word in words_of(name)
)
_EMAIL_WORDS = frozenset(words_of("email"))
_PHONE_WORDS = frozenset(words_of("phone"))
_CURRENCY_WORDS = frozenset(words_of("currency"))
_URL_WORDS = frozenset((*words_of("url"), *words_of("image")))
_DATE_WORD = words_of("date")[-1]
_UPPER_WORDS = frozenset(
    (*words_of("max"), *words_of("maximum"), *words_of("high"), *words_of("to"))
)
_URL_FORMATS = ("uri", "url", "uri-reference", "iri")


@dataclass(frozen=True, slots=True)
class Reading:
    """A value, the quote that says it, and the rule between them; no rule where they are equal."""

    value: Json
    quote: str
    rule: str = ""


def read_value(field: Wanted, text: str, base: can_ada.URL | None) -> Reading | None:
    """Return a text as the value that a scalar field wants, or None where it is none."""
    if field.choices:
        return _read_choice(field, text)
    readers: dict[FieldKind, Callable[[Wanted, str], Reading | None]] = {
        FieldKind.NUMBER: _read_number,
        FieldKind.INTEGER: _read_integer,
        FieldKind.BOOLEAN: _read_boolean,
    }
    if reader := readers.get(field.kind):
        return reader(field, text)
    return _read_string(field, text, base)


def wants_date(field: Wanted) -> bool:
    """Whether a field holds a day or a moment."""
    return field.format in ("date", "date-time")


def wants_currency(field: Wanted) -> bool:
    """Whether a field holds the code of a currency."""
    return not _CURRENCY_WORDS.isdisjoint(field.words)


def _read_number(field: Wanted, text: str) -> Reading | None:
    if len(text) > _MAX_NUMBER_CHARS or _is_date(text):
        return None
    # A synonym of the whole name would lose the unit in it.
    words = (*plain_words_of(field.name), *field.description)
    is_last = not _UPPER_WORDS.isdisjoint(field.words)
    figure = read_number(text, unit=unit_of_time(words), is_last=is_last)
    if figure is None or (not figure.rule and _has_more_numbers(text)):
        return None
    value = int(figure.value) if figure.value.is_integer() else figure.value
    return Reading(value, figure.quote, figure.rule)


def _has_more_numbers(text: str) -> bool:
    """Whether a text has so many numbers that none of them is the one."""
    return len(_DIGITS.findall(text)) > 2 * _MAX_NUMBERS


def _read_integer(field: Wanted, text: str) -> Reading | None:
    reading = _read_number(field, text)
    return reading if reading is not None and isinstance(reading.value, int) else None


def _is_date(text: str) -> bool:
    return len(text) <= _MAX_DATE_CHARS and find_date(text) is not None


def _read_boolean(_: Wanted, text: str) -> Reading | None:
    plain = _plain(_of_schema_org(text))
    said = text.strip().casefold()
    for answer, texts in ((True, _YES), (False, _NO)):
        if plain in texts or said in texts:
            return Reading(answer, text, "yes or no")
    first = plain.partition(" ")[0]
    if first in ("yes", "no") or plain.startswith(("in stock", "out of stock", "not ")):
        return Reading(first in ("yes", "in"), text, "yes or no")
    return None


def _read_choice(field: Wanted, text: str) -> Reading | None:
    plain = _plain(_of_schema_org(text))
    by_text = {_plain(str(choice)): choice for choice in field.choices if choice is not None}
    if plain in by_text:
        value = by_text[plain]
        return Reading(value, text, "" if value == text else "member of the enumeration")
    padded = f" {plain} "
    within = [choice for said, choice in by_text.items() if said and f" {said} " in padded]
    if len(within) != 1 or len(text) > _MAX_DATE_CHARS:
        return None
    return Reading(within[0], text, "member of the enumeration")


def _read_string(field: Wanted, text: str, base: can_ada.URL | None) -> Reading | None:
    if wants_date(field):
        return _read_date(field, text)
    if field.format in ("email", "idn-email") or not _EMAIL_WORDS.isdisjoint(field.words):
        return _quoted(find_email(text))
    if field.format in _URL_FORMATS:
        return _read_address(text, base)
    if wants_currency(field):
        found = find_currency(text)
        return Reading(found[1], found[0], _rule(found[0], found[1], "code")) if found else None
    if not _PHONE_WORDS.isdisjoint(field.words) and len(text) <= MAX_STRING_CHARS:
        return _quoted(find_phone(text))
    return _read_plain(field, text)


def _read_plain(field: Wanted, text: str) -> Reading | None:
    is_prose = not _PROSE_WORDS.isdisjoint(field.words)
    if not text or len(text) > (_MAX_PROSE_CHARS if is_prose else MAX_STRING_CHARS):
        return None
    if _SCHEMA_ORG.match(text):
        named = _CAMEL.sub(" ", _of_schema_org(text))
        return Reading(named, text, "name of a schema.org term")
    is_address = text.startswith(("http://", "https://", "/")) and " " not in text
    if is_address and _URL_WORDS.isdisjoint(field.words):
        return None
    return Reading(text, text)


def _read_date(field: Wanted, text: str) -> Reading | None:
    if len(text) > _MAX_DATE_CHARS:
        return None
    found = normalise_date(text)
    if not _ISO_DAY.match(found):
        return None
    if field.format == "date":
        found = found[:_DATE_LENGTH]
    elif len(found) == _DATE_LENGTH:
        # A day has no time of day, and one must not be made up.
        return None
    return Reading(found, text, _rule(text, found, "ISO 8601 date"))


def _read_address(text: str, base: can_ada.URL | None) -> Reading | None:
    joined = None if " " in text.strip() else join_address(base, text)
    if joined is None or joined.protocol not in ("http:", "https:"):
        return None
    return Reading(joined.href, text, _rule(text, joined.href, "absolute address"))


def _quoted(found: str | None) -> Reading | None:
    return Reading(found, found) if found else None


def _rule(quote: str, value: str, rule: str) -> str:
    return "" if quote == value else rule


def _of_schema_org(text: str) -> str:
    found = _SCHEMA_ORG.match(text.strip())
    return found[1] if found else text


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(_CAMEL.sub(" ", text[:MAX_STRING_CHARS]))).casefold()

"""Parses a text as the type that a field asks for: numbers, dates, prices, URLs, choices."""

import re
from dataclasses import dataclass

import can_ada

from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.synonyms import plain_words_of, words_of, words_of_any
from cinder.html.metadata.dates import DATE_LENGTH, find_date, normalise_date
from cinder.html.tree import join_url
from cinder.models.document import Json

_SIGNS = r"[$€£¥₹₽₩₺]"
_CODES = (
    "USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|INR|CNY|BRL|MXN|ZAR|TRY|SGD|HKD|KRW"
)
NUMBER = (
    r"\d{1,3}(?:[,.'\u2019\u00a0\u202f ]\d{3}){1,4}(?:[.,]\d{1,2})?(?!\d)|\d{1,15}(?:[.,]\d{1,15})?"
)
_PRICE = re.compile(
    rf"(?:{_SIGNS}|\b(?:{_CODES}))\s?(?:{NUMBER})k?|(?<![\d.,])(?:{NUMBER})\s?(?:{_SIGNS}(?!\s?\d)|(?:{_CODES})\b)"
)
_RATING = re.compile(
    r"(?<![\d.,/])\d(?:[.,]\d{1,2})?\s?"
    r"(?:/\s?(?:5|10)(?![\d/])|out of (?:5|10)\b|(?:of 5 )?stars?\b|★)"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}")
_PHONE = re.compile(r"(?<![\w+])(?:\+|\(|\d)[\d\s().\-/]{5,20}\d(?!\w)")
_STOCK = re.compile(r"\A\W{0,3}(?:(?:in|out of) stock|sold out)\b", re.IGNORECASE)
_MAX_STOCK_CHARS = 60
_CURRENCIES = {
    "$": "USD",
    "€": "EUR",
    "£": "GBP",
    "¥": "JPY",
    "₹": "INR",
    "₽": "RUB",
    "₩": "KRW",
    "₺": "TRY",
}
_CURRENCY = re.compile(rf"{_SIGNS}|\b(?:{_CODES})\b")
_MIN_PHONE_DIGITS = 6
_MAX_SEARCHED_CHARS = 200
_NUMBER = re.compile(rf"(?<![\w.,])[-+\u2212]?(?:{NUMBER})(?P<scale>[kK](?!\w))?")
_GLUED_NUMBER = re.compile(rf"(?:{NUMBER})(?P<scale>[kK](?!\w))?")
_GROUPED = re.compile(r"\d{1,3}(?:([,.'\u2019\u00a0\u202f ])\d{3})+\Z")
_PLAIN = re.compile(r"-?\d{1,15}(?:\.\d{1,10})?\Z")
_ISO_DURATION = re.compile(
    r"P(?:(?P<days>\d{1,4})D)?(?:T(?:(?P<hours>\d{1,4})H)?(?:(?P<minutes>\d{1,5})M)?"
    r"(?:(?P<seconds>\d{1,6})(?:\.\d{1,6})?S)?)?\Z"
)
_DURATION_PART = re.compile(
    r"(?P<number>\d{1,6}(?:[.,]\d{1,3})?)\s?(?P<unit>[a-z]{1,8})\b", re.IGNORECASE
)
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "minuten"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "stunden"), "hour"),
    **dict.fromkeys(("d", "day", "days", "tage"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks", "wochen"), "week"),
}
_UNIT_WORDS = {stem: unit for unit in _SECONDS for stem in words_of(unit)}
_THOUSAND = 1_000


@dataclass(frozen=True, slots=True)
class ParsedValue:
    """A value, the quote it was parsed from, and the rule between them; empty if both are equal."""

    value: Json
    quote: str
    rule: str = ""


def parse_number(
    text: str, *, unit: str | None = None, is_last: bool = False
) -> ParsedValue | None:
    """Return the number in a text.

    Args:
        text: a short text with a number in it.
        unit: the unit of time to convert a duration to.
        is_last: whether to take the last number, as for the upper end of a range.
    """
    text = text[:_MAX_SEARCHED_CHARS].strip()
    if unit is not None and (duration := _parse_duration(text, unit)):
        return duration
    if not is_last and (money := find_price(text)) and (found := _GLUED_NUMBER.search(money)):
        return ParsedValue(_scaled(found, is_money=True), money, "amount of money")
    matches = list(_NUMBER.finditer(text))
    if not matches:
        return None
    found = matches[-1 if is_last else 0]
    rule = "" if _PLAIN.match(found[0]) else "number"
    return ParsedValue(_scaled(found, is_money=False), found[0], rule)


def _scaled(found: re.Match[str], *, is_money: bool) -> float:
    digits = found[0].rstrip("kK")
    sign = -1.0 if digits[0] in "-\u2212" else 1.0
    digits = digits.lstrip("+-\u2212")
    last = max(digits.rfind(","), digits.rfind("."))
    grouped = _GROUPED.match(digits)
    # A point before three digits separates thousands only in money: 1.299 € but 1.299 kg.
    if grouped and (grouped[1] != "." or is_money or digits.count(".") > 1):
        last = -1
    whole, part = (digits, "") if last < 0 else (digits[:last], digits[last + 1 :])
    plain = "".join(character for character in whole if character.isdigit())
    return _whole(sign * float(f"{plain}.{part or '0'}") * (_THOUSAND if found["scale"] else 1))


def _whole(number: float) -> float:
    return int(number) if number.is_integer() else number


def _parse_duration(text: str, unit: str) -> ParsedValue | None:
    if iso := _ISO_DURATION.match(text):
        counts = {name: int(count) for name, count in iso.groupdict().items() if count}
        seconds = sum(count * _SECONDS[name.removesuffix("s")] for name, count in counts.items())
    else:
        found = [
            (float(each["number"].replace(",", ".")), _UNITS[each["unit"].lower()])
            for each in _DURATION_PART.finditer(text)
            if each["unit"].lower() in _UNITS
        ]
        if len(found) != len({name for _, name in found}):
            return None
        seconds = round(sum(number * _SECONDS[name] for number, name in found[:4]))
    if not seconds:
        return None
    return ParsedValue(_whole(seconds / _SECONDS[unit]), text, f"length of time in {unit}s")


MAX_STRING_CHARS = 300
_MAX_PROSE_CHARS = 2_000
_MAX_DATE_CHARS = 120
_MAX_NUMBER_CHARS = 100
_MAX_NUMBERS = 6
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
        *("currently unavailable", "-", "\u2013", "\u2014", "not allowed", "back order"),
        "on request",
    )
)
_PROSE_WORDS = words_of_any(
    "description", "text", "body", "content", "bio", "instruction", "review", "note"
)
_EMAIL_WORDS = words_of_any("email")
_PHONE_WORDS = words_of_any("phone")
_URL_WORDS = words_of_any("url", "image")
_UPPER_WORDS = words_of_any("max", "maximum", "high", "to")
_URL_FORMATS = ("uri", "url", "uri-reference", "iri")


def parse_value(field: FieldSpec, text: str, base: can_ada.URL | None) -> ParsedValue | None:
    """Return a text as the value of a scalar field, or None if it cannot be one."""
    if field.choices:
        plain = _plain(_of_schema_org(text))
        by_text = {_plain(str(choice)): choice for choice in field.choices if choice is not None}
        if plain in by_text:
            value = by_text[plain]
            return ParsedValue(value, text, "" if value == text else "member of the enumeration")
        padded = f" {plain} "
        within = [choice for name, choice in by_text.items() if name and f" {name} " in padded]
        if len(within) != 1 or len(text) > _MAX_DATE_CHARS:
            return None
        return ParsedValue(within[0], text, "member of the enumeration")
    if field.kind is FieldKind.BOOLEAN:
        plain = _plain(_of_schema_org(text))
        folded = text.strip().casefold()
        for answer, texts in ((True, _YES), (False, _NO)):
            if plain in texts or folded in texts:
                return ParsedValue(answer, text, "yes or no")
        first = plain.partition(" ")[0]
        if first in ("yes", "no") or plain.startswith(("in stock", "out of stock", "not ")):
            return ParsedValue(first in ("yes", "in"), text, "yes or no")
        return None
    if field.kind in (FieldKind.NUMBER, FieldKind.INTEGER):
        parsed = _parse_number(field, text)
        is_fraction = parsed is not None and not isinstance(parsed.value, int)
        return None if field.kind is FieldKind.INTEGER and is_fraction else parsed
    return _parse_string(field, text, base)


def _parse_number(field: FieldSpec, text: str) -> ParsedValue | None:
    is_date = len(text) <= _MAX_DATE_CHARS and find_date(text) is not None
    if len(text) > _MAX_NUMBER_CHARS or is_date:
        return None
    # A synonym of the whole name would lose the unit in it.
    words = (*plain_words_of(field.name), *field.description)
    unit = next((_UNIT_WORDS[word] for word in words if word in _UNIT_WORDS), None)
    number = parse_number(text, unit=unit, is_last=not _UPPER_WORDS.isdisjoint(field.words))
    # Among many numbers, none is reliably the right one.
    if number is None or (not number.rule and len(_DIGITS.findall(text)) > _MAX_NUMBERS):
        return None
    return number


def _parse_string(field: FieldSpec, text: str, base: can_ada.URL | None) -> ParsedValue | None:
    if field.holds_date:
        return _parse_date(field, text)
    if field.format in ("email", "idn-email") or not _EMAIL_WORDS.isdisjoint(field.words):
        email = find_email(text)
        return ParsedValue(email, email) if email else None
    if field.format in _URL_FORMATS:
        joined = None if " " in text.strip() else join_url(base, text)
        if joined is None or joined.protocol not in ("http:", "https:"):
            return None
        return ParsedValue(joined.href, text, _rule(text, joined.href, "absolute address"))
    if field.holds_currency:
        sign = _first(_CURRENCY, text) or ""
        code = _CURRENCIES.get(sign, sign)
        return ParsedValue(code, sign, _rule(sign, code, "code")) if sign else None
    if not _PHONE_WORDS.isdisjoint(field.words) and len(text) <= MAX_STRING_CHARS:
        phone = find_phone(text)
        return ParsedValue(phone, phone) if phone else None
    is_prose = not _PROSE_WORDS.isdisjoint(field.words)
    if not text or len(text) > (_MAX_PROSE_CHARS if is_prose else MAX_STRING_CHARS):
        return None
    if _SCHEMA_ORG.match(text):
        named = _CAMEL.sub(" ", _of_schema_org(text))
        return ParsedValue(named, text, "name of a schema.org term")
    is_address = text.startswith(("http://", "https://", "/")) and " " not in text
    if is_address and _URL_WORDS.isdisjoint(field.words):
        return None
    return ParsedValue(text, text)


def _parse_date(field: FieldSpec, text: str) -> ParsedValue | None:
    if len(text) > _MAX_DATE_CHARS:
        return None
    found = normalise_date(text)
    if not _ISO_DAY.match(found):
        return None
    if field.format == "date":
        found = found[:DATE_LENGTH]
    elif len(found) == DATE_LENGTH:
        # The text gives no time of day, and a made-up one would be wrong.
        return None
    return ParsedValue(found, text, _rule(text, found, "ISO 8601 date"))


def _rule(quote: str, value: str, rule: str) -> str:
    return "" if quote == value else rule


def _of_schema_org(text: str) -> str:
    found = _SCHEMA_ORG.match(text.strip())
    return found[1] if found else text


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(_CAMEL.sub(" ", text[:MAX_STRING_CHARS]))).casefold()


def find_price(text: str) -> str | None:
    """Return the first amount of money in a text, with its currency."""
    return _first(_PRICE, text)


def find_rating(text: str) -> str | None:
    """Return the first rating in a text: `4.5 out of 5`."""
    return _first(_RATING, text)


def find_email(text: str) -> str | None:
    """Return the first mail address in a text."""
    return _first(_EMAIL, text)


def find_phone(text: str) -> str | None:
    """Return the first telephone number in a text."""
    for found in _PHONE.finditer(text):
        if sum(character.isdigit() for character in found[0]) >= _MIN_PHONE_DIGITS:
            return found[0]
    return None


def find_stock(text: str) -> str | None:
    """Return the availability that a short text begins with: `In stock`."""
    return _first(_STOCK, text) if len(text) <= _MAX_STOCK_CHARS else None


def _first(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text)
    return found[0] if found else None

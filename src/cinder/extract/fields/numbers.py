"""Numbers as pages write them: thousands apart, decimal commas, units, lengths of time."""

import re
from dataclasses import dataclass

from cinder.extract.fields.typed_texts import NUMBER, find_price
from cinder.extract.fields.words import Words, words_of

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
_SECONDS = {
    "second": 1,
    "minute": 60,
    "hour": 3_600,
    "day": 86_400,
    "week": 604_800,
}
_UNITS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "second"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "minuten"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "stunden"), "hour"),
    **dict.fromkeys(("d", "day", "days", "tage"), "day"),
    **dict.fromkeys(("w", "wk", "wks", "week", "weeks", "wochen"), "week"),
}
_UNIT_WORDS = {stem: unit for unit in _SECONDS for stem in words_of(unit)}
_MONEY_DECIMALS = 2
_THOUSAND = 1_000


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, the text that says it, and the rule by which it was read."""

    value: float
    quote: str
    rule: str


def read_number(text: str, *, unit: str | None = None, is_last: bool = False) -> Figure | None:
    """Return the number that a text says.

    Args:
        text: a short text with a number in it.
        unit: the unit of time that the number is wanted in.
        is_last: whether the last number is meant, as for the upper end of a range.
    """
    text = text[:_MAX_SEARCHED_CHARS].strip()
    if unit is not None and (figure := _read_duration(text, unit)):
        return figure
    if not is_last and (money := find_price(text)) and (found := _GLUED_NUMBER.search(money)):
        return Figure(_scaled(found, is_money=True), money, "amount of money")
    matches = list(_NUMBER.finditer(text))
    if not matches:
        return None
    found = matches[-1 if is_last else 0]
    rule = "" if _PLAIN.match(found[0]) else "number"
    return Figure(_scaled(found, is_money=False), found[0], rule)


def unit_of_time(words: Words) -> str | None:
    """Return the unit of time that a field's words name."""
    return next((_UNIT_WORDS[word] for word in words if word in _UNIT_WORDS), None)


def _scaled(found: re.Match[str], *, is_money: bool) -> float:
    digits = found[0].rstrip("kK")
    return _value(digits, is_money=is_money) * (_THOUSAND if found["scale"] else 1)


def _value(digits: str, *, is_money: bool) -> float:
    sign = -1.0 if digits[0] in "-\u2212" else 1.0
    digits = digits.lstrip("+-\u2212")
    last = max(digits.rfind(","), digits.rfind("."))
    grouped = _GROUPED.match(digits)
    # A point before three digits divides thousands only in money: 1.299 € but 1.299 kg.
    if grouped and (grouped[1] != "." or is_money or digits.count(".") > 1):
        last = -1
    whole, part = (digits, "") if last < 0 else (digits[:last], digits[last + 1 :])
    plain = "".join(character for character in whole if character.isdigit())
    return sign * float(f"{plain}.{part or '0'}")


def _read_duration(text: str, unit: str) -> Figure | None:
    if iso := _ISO_DURATION.match(text):
        parts = {name: int(said) for name, said in iso.groupdict().items() if said}
        seconds = sum(count * _SECONDS[name.removesuffix("s")] for name, count in parts.items())
    else:
        found = [
            (float(each["number"].replace(",", ".")), _UNITS[each["unit"].lower()])
            for each in _DURATION_PART.finditer(text)
            if each["unit"].lower() in _UNITS
        ]
        parts = {named: 1 for _, named in found}
        seconds = round(sum(number * _SECONDS[named] for number, named in found[:4]))
        if len(found) != len(parts):
            return None
    if not parts or not seconds:
        return None
    return Figure(seconds / _SECONDS[unit], text, f"length of time in {unit}s")

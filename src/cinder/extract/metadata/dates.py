"""Dates as pages write them, brought to ISO 8601 where that is possible."""

import re
import unicodedata
from datetime import date, datetime

from cinder.extract.metadata.month_names import MONTHS

_DATE_LENGTH = len("2025-01-31")
_TIMED_FORMATS = ("%a, %d %b %Y %H:%M:%S %z", "%Y/%m/%d %H:%M:%S%z")
_MAX_LENGTH = 64
# What stands before it is no date of the web; what stands after it is a number of another kind.
_FIRST_YEAR, _LAST_YEAR = 1990, 2099
_MAX_SEARCHED_CHARS = 300

_HAS_YEAR = re.compile(r"(?:19|20)\d\d")
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = r"(?P<month>[^\W\d_]{3,12})\.?"
_WRITTEN = tuple(
    re.compile(pattern)
    for pattern in (
        # 2025-01-31, 2025/1/31, 2025.1.31, 2025年1月31日, 2025년 1월 31일
        rf"(?<!\d){_YEAR}\s?[-/.年년]\s?(?P<number>\d{{1,2}})\s?[-/.月월]\s?{_DAY}(?!\d)",
        # 2025 Jan 31
        rf"(?<!\d){_YEAR}\s{_MONTH}\s{_DAY}(?!\d)",
        # January 31st, 2025
        rf"(?<!\w){_MONTH}\s{{1,2}}{_DAY}(?:st|nd|rd|th)?,?\s{{1,2}}{_YEAR}",
        # 31 January 2025, 31. Januar 2025, 31 de enero de 2025, 31-Jan-2025
        rf"(?<!\d){_DAY}(?:st|nd|rd|th|er|\.|º|ª)?[\s-]{{1,2}}(?:of |de |d')?{_MONTH},?"
        rf"[\s-]{{1,2}}(?:de )?{_YEAR}",
        # 31.01.2025
        rf"(?<!\d){_DAY}\.\s?(?P<number>\d{{1,2}})\.\s?{_YEAR}",
    )
)
_SLASHED = re.compile(rf"(?<!\d)(?P<first>\d{{1,2}})([/-])(?P<second>\d{{1,2}})\2{_YEAR}")
_MONTHS_IN_A_YEAR = 12


def normalise_date(text: str) -> str:
    """Return the date in ISO 8601, or as given when it cannot be read without guessing."""
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        return text[:_MAX_LENGTH]
    return _from_iso(text) or _from_timed(text) or find_date(text) or text


def read_date(text: str) -> str | None:
    """Return the date in ISO 8601, or None when it cannot be read without guessing."""
    normalised = normalise_date(text)
    return normalised if _is_in_range(normalised) else None


def find_date(text: str) -> str | None:
    """Return the first full date that stands in a text, as ISO 8601, or None."""
    text = text[:_MAX_SEARCHED_CHARS]
    if not has_year(text):
        return None
    text = unicodedata.normalize("NFC", text)
    matches = (
        (found.start(), day)
        for pattern in _WRITTEN
        for found in pattern.finditer(text)
        if (day := _day_of(found)) is not None
    )
    slashed = (
        (found.start(), day)
        for found in _SLASHED.finditer(text)
        if (day := _slashed_day_of(found)) is not None
    )
    first = min([*matches, *slashed], default=None)
    return first[1].isoformat() if first else None


def has_year(text: str) -> bool:
    """Whether a text may hold a date at all, which is sooner told than read."""
    return _HAS_YEAR.search(text) is not None


def _day_of(found: re.Match[str]) -> date | None:
    groups = found.groupdict()
    name = groups.get("month")
    month = MONTHS.get(name.lower(), 0) if name else int(groups["number"])
    return _day(int(groups["year"]), month, int(groups["day"]))


def _slashed_day_of(found: re.Match[str]) -> date | None:
    """Read 31/01/2025 and 01/31/2025; where both readings are dates, it would be a guess."""
    first, second, year = (int(found[name]) for name in ("first", "second", "year"))
    if first <= _MONTHS_IN_A_YEAR and second <= _MONTHS_IN_A_YEAR and first != second:
        return None
    return _day(year, second, first) or _day(year, first, second)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _is_in_range(normalised: str) -> bool:
    if len(normalised) < _DATE_LENGTH or not _from_iso(normalised):
        return False
    return _FIRST_YEAR <= int(normalised[:4]) <= _LAST_YEAR


def _from_iso(text: str) -> str | None:
    try:
        if len(text) == _DATE_LENGTH:
            return date.fromisoformat(text).isoformat()
        # Shorter ones are a bare year or month, which would gain a day they never had.
        return datetime.fromisoformat(text).isoformat() if len(text) > _DATE_LENGTH else None
    except ValueError:
        return None


def _from_timed(text: str) -> str | None:
    for pattern in _TIMED_FORMATS:
        try:
            zoned = text.replace("GMT", "+0000")
            return datetime.strptime(zoned, pattern).isoformat()  # noqa: DTZ007 - all have %z
        except ValueError:
            continue
    return None

"""Dates as pages write them, brought to ISO 8601 where that is possible."""

from datetime import UTC, date, datetime

_DATE_LENGTH = len("2025-01-31")
_TIMED_FORMATS = ("%a, %d %b %Y %H:%M:%S %z", "%Y/%m/%d %H:%M:%S%z")
_DAY_FORMATS = ("%B %d, %Y", "%b %d, %Y", "%d %B %Y", "%d %b %Y", "%Y/%m/%d", "%d.%m.%Y")
_MAX_LENGTH = 64


def normalise_date(text: str) -> str:
    """Return the date in ISO 8601, or as given when it cannot be read without guessing."""
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        return text[:_MAX_LENGTH]
    return _from_iso(text) or _from_timed(text) or _from_day(text) or text


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


def _from_day(text: str) -> str | None:
    for pattern in _DAY_FORMATS:
        try:
            return datetime.strptime(text, pattern).replace(tzinfo=UTC).date().isoformat()
        except ValueError:
            continue
    return None

"""Plain HTTP: what a server sent back, and how long it asks to be left alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    """What a server sent back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes
    is_cut: bool = False
    """Whether the body is longer than the limit or broke off: it is what came before that."""


def read_retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, given so or as a date."""
    value = value.strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None

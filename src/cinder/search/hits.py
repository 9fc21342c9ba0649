"""Reads a provider's results as hits: a URL, plain text and a timestamp each."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice

from selectolax.lexbor import LexborHTMLParser

from cinder.models.document import Json
from cinder.models.search import SearchHit
from cinder.models.url import join_web_url

_MAX_STEPS = 20
_MAX_NUMBER = 1e15


def value_at(value: Json, path: str) -> Json:
    """Return the value at a path such as `data.items.0`; None if there is none.

    A blank path is the value itself.
    """
    for step in path.split(".", _MAX_STEPS) if path else ():
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def text_at(value: Json, path: str) -> str:
    """Return the text or number at a path, as text."""
    found = value_at(value, path)
    if isinstance(found, bool) or not isinstance(found, (str, int, float)):
        return ""
    return str(found)


def number_at(value: Json, path: str) -> float | None:
    """Return the number at a path; None if there is none, or it is too large."""
    found = value_at(value, path)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    return float(found) if abs(found) < _MAX_NUMBER else None


MAX_HITS = 100

_MAX_READ = 500
_MAX_TITLE_CHARS = 300
_MAX_SUMMARY_CHARS = 2_000
_MAX_DATE_CHARS = 64
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MARKUP = re.compile(r"[<&]")
_SECONDS = re.compile(r"\d{9,10}(?:\.\d{1,9})?")
_MILLISECONDS = re.compile(r"\d{12,13}")
# Years outside this range are not dates of web pages.
_YEARS = range(1990, 2100)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItem:
    """A result as in a provider's response."""

    url: str
    title: str = ""
    summary: str = ""
    date: str = ""
    score: float | None = None


def to_hits(items: Iterable[FoundItem], base: str, *, are_html: bool) -> tuple[SearchHit, ...]:
    """Return results as hits, each URL once; results without a web URL are left out.

    `base` is the URL of the response, for relative URLs. `are_html` says whether titles and
    summaries are HTML or plain text.
    """
    found: dict[str, SearchHit] = {}
    for item in islice(items, _MAX_READ):
        reference = _well_formed(item.url).strip()
        try:
            url = join_web_url(base, reference) if reference else None
        except ValueError:
            continue
        if url and url not in found:
            found[url] = SearchHit(
                url=url,
                title=_to_text(item.title, _MAX_TITLE_CHARS, is_html=are_html) or url,
                summary=_to_text(item.summary, _MAX_SUMMARY_CHARS, is_html=are_html),
                published_at=read_timestamp(item.date),
                score=item.score,
            )
    return tuple(islice(found.values(), MAX_HITS))


def _well_formed(text: str) -> str:
    # JSON can contain lone surrogates.
    return text.encode("utf-8", "replace").decode()


def _to_text(text: str, max_chars: int, *, is_html: bool) -> str:
    # More is read than is kept, for markup and white space.
    text = _well_formed(text[: 4 * max_chars])
    if is_html and _MARKUP.search(text):
        body = LexborHTMLParser(text).body
        text = body.text() if body is not None else ""
    return " ".join(_CONTROL.sub(" ", text).split())[:max_chars]


def read_timestamp(text: str) -> datetime | None:
    """Parse a date in ISO 8601, as in mail, or counted from 1970; None if it is none."""
    text = text.strip()
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    try:
        if _SECONDS.fullmatch(text):
            timestamp = datetime.fromtimestamp(float(text), UTC)
        elif _MILLISECONDS.fullmatch(text):
            timestamp = datetime.fromtimestamp(int(text) / 1000, UTC)
        else:
            try:
                timestamp = datetime.fromisoformat(text)
            except ValueError:
                timestamp = parsedate_to_datetime(text)
        timestamp = timestamp.replace(tzinfo=timestamp.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return timestamp if timestamp.year in _YEARS else None

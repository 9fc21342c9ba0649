"""Reads a provider's results as hits: a URL, plain text and a timestamp each."""

import re
from collections.abc import Iterable, Iterator
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
    """Return what stands at a path such as `data.items.0`; None where there is nothing.

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
    """Return the number at a path; None where there is none of a common size."""
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
# What stands before it is no date of the web; what stands after it is a number of another kind.
_YEARS = range(1990, 2100)


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundItem:
    """A result as a provider's answer has it."""

    url: str
    title: str = ""
    summary: str = ""
    date: str = ""
    score: float | None = None


def to_hits(items: Iterable[FoundItem], base: str, *, are_html: bool) -> tuple[SearchHit, ...]:
    """Return the hits that results are, each URL once; what is no web page is left out.

    `base` is where the answer came from, for addresses that are relative to it. Titles and
    summaries are HTML or text, as `are_html` says.
    """
    found: dict[str, SearchHit] = {}
    for hit in _read_items(islice(items, _MAX_READ), base, are_html=are_html):
        found.setdefault(hit.url, hit)
    return tuple(islice(found.values(), MAX_HITS))


def _read_items(items: Iterable[FoundItem], base: str, *, are_html: bool) -> Iterator[SearchHit]:
    for item in items:
        if url := _read_url(item.url, base):
            yield SearchHit(
                url=url,
                title=_to_text(item.title, _MAX_TITLE_CHARS, is_html=are_html) or url,
                summary=_to_text(item.summary, _MAX_SUMMARY_CHARS, is_html=are_html),
                published_at=read_timestamp(item.date),
                score=item.score,
            )


def _read_url(reference: str, base: str) -> str | None:
    reference = _well_formed(reference).strip()
    try:
        return join_web_url(base, reference) if reference else None
    except ValueError:
        return None


def _well_formed(text: str) -> str:
    # JSON can hold halves of characters, which nothing else takes.
    return text.encode("utf-8", "replace").decode()


def _to_text(text: str, max_chars: int, *, is_html: bool) -> str:
    # What is read beyond the limit makes up for markup and white space.
    text = _well_formed(text[: 4 * max_chars])
    if is_html and _MARKUP.search(text):
        body = LexborHTMLParser(text).body
        text = body.text() if body is not None else ""
    return " ".join(_CONTROL.sub(" ", text).split())[:max_chars]


def read_timestamp(text: str) -> datetime | None:
    """Return the moment that a date means: in ISO 8601, as in mail, or counted from 1970."""
    text = text.strip()
    if not text or len(text) > _MAX_DATE_CHARS:
        return None
    try:
        moment = _parse_timestamp(text)
        moment = moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year in _YEARS else None


def _parse_timestamp(text: str) -> datetime:
    if _SECONDS.fullmatch(text):
        return datetime.fromtimestamp(float(text), UTC)
    if _MILLISECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text) / 1000, UTC)
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return parsedate_to_datetime(text)

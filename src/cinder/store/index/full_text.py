"""The protocol of a database's full-text search, and the text of a page that it indexes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple, Protocol

import can_ada

from cinder.models.document import Document, VerdictKind
from cinder.store.database import Query, SqlValue, Statement, scrub
from cinder.store.index.terms import ParsedQuery, Phrase

MAX_TEXT_CHARS = 100_000
"""What stands beyond is not looked through, so that no page makes the index slow or too large."""

_MAX_TITLE_CHARS = 500
# Markdown shrinks as its marks and addresses go.
_MAX_MARKDOWN_CHARS = 3 * MAX_TEXT_CHARS

# A page that was refused, or is none, would be found for words that are not its own.
_GOOD = frozenset({VerdictKind.OK, VerdictKind.PARTIAL})
_PLAIN_TYPE = re.compile(r"text/(?!html|xml|css|javascript)|application/(json|yaml)")

_ADDRESS = re.compile(r"\]\((?:[^()\n]|\([^()\n]*\)){0,2000}\)")
# Each begins with a line's end, for which Python looks fast.
_LINE_MARK = re.compile(r"\n[ \t]*(?:#{1,6}[ \t]|>[ \t]?|[-*+][ \t]|```.*|[|:\- \t]{3,}(?=\n))")
_LINES = re.compile(r"\n\s*")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_MARKS = ("![", "[", "]", "*", "`", "__", "~~")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedText:
    """A page as the index knows it."""

    title: str
    text: str
    site: str
    """The host's labels from the last to the first, each with a dot behind it."""
    published_at: datetime | None
    content: int
    """The same for pages with the same words."""
    vector: bytes | None = None
    """What the page is about, as a model sees it."""


def read_page(document: Document) -> IndexedText | None:
    """Return what the index takes of a document; None where it takes nothing."""
    text = _plain_text(document)
    if document.verdict.kind not in _GOOD or not text:
        return None
    metadata = document.content.metadata
    return IndexedText(
        title=scrub((metadata.title or "").strip()[:_MAX_TITLE_CHARS]),
        text=text,
        site=site_of(document.url),
        published_at=parse_timestamp(metadata.published),
        content=_hash(text),
    )


def site_of(url: str) -> str:
    """Return the site of a URL as the index compares it; empty where it has none."""
    try:
        host = can_ada.parse(scrub(url)).hostname
    except ValueError:
        return ""
    # All of a domain begin alike.
    labels = reversed(host.strip(".").split("."))
    return "".join(f"{label}." for label in labels) if host.strip(".") else ""


def parse_timestamp(text: str | None) -> datetime | None:
    """Return the moment that a page's metadata names, if it is one."""
    try:
        moment = datetime.fromisoformat(text or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def strip_markdown(markdown: str) -> str:
    """Return the text of markdown, without most of what only shapes it."""
    text = "\n" + markdown[:_MAX_MARKDOWN_CHARS]
    text = _LINE_MARK.sub("\n", _ADDRESS.sub("", text))
    text = _ESCAPE.sub("", text) if "\\" in text else text
    for mark in _MARKS:
        text = text.replace(mark, "")
    text = text.replace("|", " ").replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return _LINES.sub("\n", text.replace(" \n", "\n")).strip()[:MAX_TEXT_CHARS]


def _plain_text(document: Document) -> str:
    content = document.content
    if content.markdown is not None:
        return strip_markdown(scrub(content.markdown))
    if content.text is not None and _PLAIN_TYPE.match(document.content_type):
        return scrub(content.text[:MAX_TEXT_CHARS]).strip()
    return ""


def _hash(text: str) -> int:
    words = " ".join(text.lower().split())
    digest = blake2b(words.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


class Parameters:
    """The parameters of a statement that is put together."""

    def __init__(self) -> None:
        self.values: list[SqlValue] = []

    def add(self, value: SqlValue) -> str:
        """Add a parameter; return how the statement names it."""
        self.values.append(value)
        return f"${len(self.values)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which pages are ranked where there are many."""

    expected: float
    """About how many of them these are."""
    share: float
    """Which share of all pages a narrow choice has, at most."""
    alone: tuple[Phrase, ...] = ()
    """Terms so rare that a page which has one of them is ranked, whatever else it has."""
    rarer: tuple[Phrase, ...] = ()
    """Any other page must have one of these terms,"""
    commoner: tuple[Phrase, ...] = ()
    """and one of these, unless there are none."""
    most: int | None = None
    """How many pages may be chosen, the newest first; None where there are no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPlan:
    """How the pages for a query are chosen and ranked."""

    wanted: ParsedQuery
    """What they are ranked by, and must have or lack."""
    choice: Choice | None = None
    """Which of them are ranked; None where pages are few, and all are that have any term."""
    weights: Mapping[Phrase, float] = field(default_factory=dict)
    """How much each says, for a database that does not know it."""


class Ranking(NamedTuple):
    """A database's parts of the statement that ranks."""

    prelude: str
    """The queries that it begins with, each with a comma behind it."""
    found: str
    """The query for the pages that match, as `id`, and how well, as `score`."""


class FullText(Protocol):
    """How a database keeps and ranks words. What is looked for reaches it as words alone."""

    @property
    def needs_weights(self) -> bool:
        """Whether it has to be told how much a term says."""
        ...

    @property
    def page_id(self) -> str:
        """The column of `page_words` that names the page."""
        ...

    def add(self, page_id: int, page: IndexedText) -> Query[None]:
        """Enter a page's words."""
        ...

    def replace(self, page_id: int, page: IndexedText) -> Query[None]:
        """Enter a page's words in place of those it had."""
        ...

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return what counts, as `n`, the pages that have a phrase, up to a number."""
        ...

    def rank(self, plan: RankingPlan, parameters: Parameters, *, is_narrow: bool) -> Ranking:
        """Return how pages are ranked by a plan; by a narrow choice only those that are best."""
        ...

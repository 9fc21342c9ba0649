"""The protocol of a database's full-text search, and the text of a page that it indexes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import can_ada

from cinder.models.document import Document, VerdictKind
from cinder.store.database import Query, SqlValue, Statement, scrub
from cinder.store.index.terms import ParsedQuery, Phrase
from cinder.text.plain_text import MAX_TEXT_CHARS, hash_words, strip_markdown

_MAX_TITLE_CHARS = 500
# A page that was blocked, or is an error page, would be found by words that are not its own.
_GOOD = frozenset({VerdictKind.OK, VerdictKind.PARTIAL})
_PLAIN_TYPE = re.compile(r"text/(?!html|xml|css|javascript)|application/(json|yaml)")


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedText:
    """A page as the index has it."""

    title: str
    text: str
    site: str
    """The labels of the host from the last to the first, each followed by a dot."""
    published_at: datetime | None
    content: int
    """A hash of its words."""
    vector: bytes | None = None
    """Its embedding."""


def read_page(document: Document) -> IndexedText | None:
    """Return what the index takes of a document; None where it takes nothing."""
    content = document.content
    text = ""
    stored = content.stored
    if content.markdown is not None and stored is not None:
        text = stored.plain
    elif content.markdown is not None:
        text = strip_markdown(scrub(content.markdown))
    elif content.text is not None and _PLAIN_TYPE.match(document.content_type):
        text = scrub(content.text[:MAX_TEXT_CHARS]).strip()
    if document.verdict.kind not in _GOOD or not text:
        return None
    return IndexedText(
        title=scrub((content.metadata.title or "").strip()[:_MAX_TITLE_CHARS]),
        text=text,
        site=site_of(document.url),
        published_at=parse_timestamp(content.metadata.published),
        content=hash_words(text) if stored is None else stored.plain_hash,
    )


def site_of(url: str) -> str:
    """Return the site of a URL as the index compares it; empty where it has none."""
    try:
        host = can_ada.parse(scrub(url)).hostname
    except ValueError:
        return ""
    # In this order, all hosts of a domain have the same prefix.
    labels = reversed(host.strip(".").split("."))
    return "".join(f"{label}." for label in labels) if host.strip(".") else ""


def parse_timestamp(text: str | None) -> datetime | None:
    """Return the time in a page's metadata; None where it is not valid."""
    try:
        timestamp = datetime.fromisoformat(text or "")
        if timestamp.tzinfo is None:
            timestamp = timestamp.replace(tzinfo=UTC)
        return timestamp.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class Parameters:
    """The parameters of a statement that is being composed."""

    def __init__(self) -> None:
        self.values: list[SqlValue] = []

    def add(self, value: SqlValue) -> str:
        """Add a parameter; return its placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The pages that are ranked where there are many."""

    expected: float
    """An estimate of how many these are."""
    share: float
    """The largest share of all pages that a narrow choice has."""
    alone: tuple[Phrase, ...] = ()
    """Terms so rare that every page with one of them is ranked."""
    rarer: tuple[Phrase, ...] = ()
    """Any other page must have one of these terms,"""
    commoner: tuple[Phrase, ...] = ()
    """and one of these, unless there are none."""
    most: int | None = None
    """How many pages may be chosen, the newest first; None where there are no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingPlan:
    """How the pages for a query are chosen and ranked."""

    query: ParsedQuery
    choice: Choice | None = None
    """The pages that are ranked; None for all pages with any of the terms."""
    weights: Mapping[Phrase, float] = field(default_factory=dict)
    """The weight of each phrase, for a database that does not compute it."""


class Ranking(NamedTuple):
    """A database's parts of the statement that ranks pages."""

    prelude: str
    """Its common table expressions, each followed by a comma."""
    found: str
    """The SELECT of the pages that match, as `id` and `score`."""


class FullText(Protocol):
    """How a database stores and ranks words. Queries reach it as plain words."""

    @property
    def needs_weights(self) -> bool:
        """Whether it needs the weights of the terms."""
        ...

    @property
    def page_id(self) -> str:
        """The column of `page_words` with the id of the page."""
        ...

    def add(self, page_id: int, page: IndexedText) -> Query[None]:
        """Add a page's words."""
        ...

    def replace(self, page_id: int, page: IndexedText) -> Query[None]:
        """Replace a page's words."""
        ...

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return the statement that counts, as `n`, the pages with a phrase, up to a number."""
        ...

    def rank(self, plan: RankingPlan, parameters: Parameters, *, is_narrow: bool) -> Ranking:
        """Return the SQL that ranks pages by a plan; a narrow choice has only the best."""
        ...

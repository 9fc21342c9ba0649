"""The seam between the index and the database's own full-text search."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from cinder.store.index.queries import Phrase, Wanted
from cinder.store.index.texts import PageText
from cinder.store.procedure import Procedure, SqlValue, Statement


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

    wanted: Wanted
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

    def add(self, page_id: int, page: PageText) -> Procedure[None]:
        """Enter a page's words."""
        ...

    def replace(self, page_id: int, page: PageText) -> Procedure[None]:
        """Enter a page's words in place of those it had."""
        ...

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return what counts, as `n`, the pages that have a phrase, up to a number."""
        ...

    def rank(self, plan: RankingPlan, parameters: Parameters, *, is_narrow: bool) -> Ranking:
        """Return how pages are ranked by a plan; by a narrow choice only those that are best."""
        ...

"""SQLite's FTS5: words under Porter's stems, ranked by BM25."""

from collections.abc import Sequence

from cinder.store.index.full_text import Parameters, Ranking, RankingPlan
from cinder.store.index.queries import Phrase, Wanted
from cinder.store.index.texts import PageText
from cinder.store.index.words import space_out
from cinder.store.procedure import Statement

_ADD = "INSERT INTO webhook.page_words (rowid, title, text) VALUES ($1, $2, $3)"
_REPLACE = "UPDATE webhook.page_words SET title = $2, text = $3 WHERE rowid = $1"
_COUNT = """
SELECT count(*) AS n FROM (SELECT 1 FROM webhook.page_words WHERE page_words MATCH $1 LIMIT $2)
"""

# The plus keeps SQLite from looking each of them up for itself.
_CHOSEN = """
AND +page_words.rowid IN (
    SELECT rowid FROM webhook.page_words WHERE page_words MATCH {chosen}
     ORDER BY rowid DESC LIMIT {most})
"""


class Fts5:
    """See `cinder.store.index.full_text.FullText`."""

    needs_weights = False
    page_id = "page_words.rowid"

    def add(self, page_id: int, page: PageText) -> Statement:
        """Return what enters a page's words."""
        return Statement(_ADD, (page_id, space_out(page.title), space_out(page.text)))

    def replace(self, page_id: int, page: PageText) -> Statement:
        """Return what enters a page's words in place of those it had."""
        return Statement(_REPLACE, (page_id, space_out(page.title), space_out(page.text)))

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return what counts, as `n`, the pages that have a phrase, up to a number."""
        return Statement(_COUNT, (_quote(phrase), most))

    def rank(self, plan: RankingPlan, parameters: Parameters) -> Ranking:
        """Return how pages are ranked by a plan."""
        wanted = plan.wanted
        match = f"page_words MATCH {parameters.add(_expression(wanted, wanted.scored))}"
        if plan.most is not None:
            chosen, most = parameters.add(_any(plan.choosing)), parameters.add(plan.most)
            match += _CHOSEN.format(chosen=chosen, most=most)
        return Ranking("", "-bm25(page_words, 3.0, 1.0)", match)


def _expression(wanted: Wanted, scored: Sequence[Phrase]) -> str:
    """Return FTS5's words for pages with any of some phrases, all that must be, none that must not.

    Every word stands in quotes and is made of letters and digits, so none is an operator.
    """
    parts = [f"({_any(scored)})", *(_quote(phrase) for phrase in wanted.phrases)]
    expression = " AND ".join(parts)
    return f"({expression}) NOT ({_any(wanted.excluded)})" if wanted.excluded else expression


def _any(phrases: Sequence[Phrase]) -> str:
    return " OR ".join(_quote(phrase) for phrase in phrases)


def _quote(phrase: Phrase) -> str:
    return f'"{" ".join(phrase)}"'

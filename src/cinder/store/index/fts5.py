"""SQLite's FTS5: words under Porter stems, ranked by BM25."""

from collections.abc import Sequence

from cinder.store.database import Query, Statement
from cinder.store.group_commit import BulkInsert, WriteStage
from cinder.store.index.full_text import Choice, IndexedText, Parameters, Ranking, RankingPlan
from cinder.store.index.terms import ParsedQuery, Phrase, space_out

_ADD = BulkInsert(
    stage=WriteStage.ADD_WORDS,
    sql="INSERT INTO webhook.page_words (rowid, title, text) VALUES {rows}",
    row="($1, $2, $3)",
    width=3,
)
_REPLACE = "UPDATE webhook.page_words SET title = $2, text = $3 WHERE rowid = $1"
_COUNT = """
SELECT count(*) AS n FROM (SELECT 1 FROM webhook.page_words WHERE page_words MATCH $1 LIMIT $2)
"""

_FIND = """
SELECT rowid AS id, -bm25(page_words, 3.0, 1.0) AS score
  FROM webhook.page_words WHERE page_words MATCH {expression}
"""

_FIND_NEWEST = f"SELECT id, score FROM ({_FIND} ORDER BY rowid DESC LIMIT {{most}})"  # noqa: S608


class Fts5:
    """See `cinder.store.index.full_text.FullText`."""

    needs_weights = False
    page_id = "page_words.rowid"

    def add(self, page_id: int, page: IndexedText) -> Query[None]:
        """Enter a page's words."""
        yield _ADD.write(page_id, space_out(page.title), space_out(page.text))

    def replace(self, page_id: int, page: IndexedText) -> Query[None]:
        """Enter a page's words in place of those it had."""
        yield Statement(_REPLACE, (page_id, space_out(page.title), space_out(page.text)))

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return what counts, as `n`, the pages that have a phrase, up to a number."""
        return Statement(_COUNT, (_quote(phrase), most))

    def rank(
        self,
        plan: RankingPlan,
        parameters: Parameters,
        *,
        is_narrow: bool,  # noqa: ARG002 - a term that is asked for again would count again
    ) -> Ranking:
        """Return how pages are ranked by a plan; its choice is as narrow as can be."""
        choice = plan.choice
        if choice is None:
            expression = _expression(plan.wanted, _any(plan.wanted.scored))
            return Ranking("", _FIND.format(expression=parameters.add(expression)))
        finds = [
            _find(_expression(plan.wanted, chosen), choice.most, parameters)
            for chosen in _alternatives(choice)
        ]
        return Ranking("", " UNION ALL ".join(finds))


def _alternatives(choice: Choice) -> list[str]:
    """Return the expressions of which a page must match one.

    They are asked one by one: a term that stands twice in an expression counts twice for BM25.
    A page that matches both is found twice, and better by the one with all of its terms.
    """
    together = [f"({_any(group)})" for group in (choice.rarer, choice.commoner) if group]
    alone = [_any(choice.alone)] if choice.alone else []
    return ([" AND ".join(together)] if together else []) + alone


def _find(expression: str, most: int | None, parameters: Parameters) -> str:
    name = parameters.add(expression)
    if most is None:
        return _FIND.format(expression=name)
    return _FIND_NEWEST.format(expression=name, most=parameters.add(most))


def _expression(wanted: ParsedQuery, chosen: str) -> str:
    """Return FTS5's words for pages that match, have all that must be and none that must not.

    Every word stands in quotes and is made of letters and digits, so none is an operator.
    """
    parts = [f"({chosen})", *(_quote(phrase) for phrase in wanted.phrases)]
    expression = " AND ".join(parts)
    return f"({expression}) NOT ({_any(wanted.excluded)})" if wanted.excluded else expression


def _any(phrases: Sequence[Phrase]) -> str:
    return " OR ".join(_quote(phrase) for phrase in phrases)


def _quote(phrase: Phrase) -> str:
    return f'"{" ".join(phrase)}"'

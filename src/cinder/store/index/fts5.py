"""SQLite's FTS5: words under Porter stems, ranked by BM25."""

from collections.abc import Sequence

from cinder.store.database import Query, Statement
from cinder.store.group_commit import BulkInsert, WriteStage
from cinder.store.index.full_text import IndexedText, Parameters, Ranking, RankingPlan
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
        """Add a page's words."""
        yield _ADD.write(page_id, space_out(page.title), space_out(page.text))

    def replace(self, page_id: int, page: IndexedText) -> Query[None]:
        """Replace a page's words."""
        yield Statement(_REPLACE, (page_id, space_out(page.title), space_out(page.text)))

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return the statement that counts, as `n`, the pages with a phrase, up to a number."""
        return Statement(_COUNT, (_quote(phrase), most))

    def rank(
        self,
        plan: RankingPlan,
        parameters: Parameters,
        *,
        is_narrow: bool,  # noqa: ARG002 - a repeated term would count twice
    ) -> Ranking:
        """Return the SQL that ranks pages by a plan; its choice is always narrow."""
        choice = plan.choice
        if choice is None:
            expression = _expression(plan.query, _any(plan.query.scored))
            return Ranking("", _FIND.format(expression=parameters.add(expression)))
        # One SELECT for each alternative: a term that occurs twice in an expression counts twice
        # for BM25. A page that matches both is found twice, with the better score from the one that
        # has all of its terms.
        together = [f"({_any(group)})" for group in (choice.rarer, choice.commoner) if group]
        alternatives = [" AND ".join(together)] if together else []
        if choice.alone:
            alternatives.append(_any(choice.alone))
        selects = []
        for alternative in alternatives:
            name = parameters.add(_expression(plan.query, alternative))
            if choice.most is None:
                selects.append(_FIND.format(expression=name))
            else:
                most = parameters.add(choice.most)
                selects.append(_FIND_NEWEST.format(expression=name, most=most))
        return Ranking("", " UNION ALL ".join(selects))


def _expression(query: ParsedQuery, chosen: str) -> str:
    """Return the FTS5 query for pages that are chosen, have all phrases and no excluded one.

    Every word is quoted and consists of letters and digits, so none is an operator.
    """
    parts = [f"({chosen})", *(_quote(phrase) for phrase in query.phrases)]
    expression = " AND ".join(parts)
    return f"({expression}) NOT ({_any(query.excluded)})" if query.excluded else expression


def _any(phrases: Sequence[Phrase]) -> str:
    return " OR ".join(_quote(phrase) for phrase in phrases)


def _quote(phrase: Phrase) -> str:
    return f'"{" ".join(phrase)}"'

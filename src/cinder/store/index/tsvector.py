"""PostgreSQL's tsvector: words under Snowball's stems, each term's rank weighed by its rarity."""

from collections.abc import Sequence

from cinder.store.index.full_text import Parameters, Ranking, RankingPlan
from cinder.store.index.lexemes import Stems, find_places, write_lexemes
from cinder.store.index.queries import Phrase
from cinder.store.index.quorum import MAX_TERMS, find_quorum, spell_quorum
from cinder.store.index.texts import PageText
from cinder.store.index.words import fold, split_words
from cinder.store.joining import JointRows, Stage
from cinder.store.procedure import Procedure, Statement

_ADD = JointRows(
    stage=Stage.ADD_WORDS,
    sql="INSERT INTO webhook.page_words (id, text, words) VALUES {rows}",
    row="($1, $2, CAST(CAST($3 AS TEXT) AS TSVECTOR))",
    width=3,
)

_REPLACE = """
UPDATE webhook.page_words SET text = $2, words = CAST(CAST($3 AS TEXT) AS TSVECTOR) WHERE id = $1
"""

_COUNT = """
SELECT count(*) AS n FROM webhook.pages_with(to_tsquery('webhook.cinder_words', $1), $2)
"""

# ts_rank has no idea of how rare a term is; by itself it ranks a tenth worse. The third number of
# a rank divides it by the logarithm of the page's length. Text counts less than the title.
_SCORE = """
(SELECT sum(term.weight * ts_rank('{0.6, 0.6, 0.6, 1.0}', unpacked.words, term.query, 1))
   FROM term, (SELECT page_words.words || ''::tsvector AS words OFFSET 0) AS unpacked)
"""

_FIND = """
SELECT page_words.id, {score} AS score FROM webhook.page_words
 WHERE page_words.id IN (
    SELECT webhook.pages_with(to_tsquery('webhook.cinder_words', {query}), {most}))
"""


class Tsvector:
    """See `cinder.store.index.full_text.FullText`."""

    needs_weights = True
    page_id = "page_words.id"

    def __init__(self) -> None:
        self._stems = Stems()

    def add(self, page_id: int, page: PageText) -> Procedure[None]:
        """Enter a page's words."""
        yield _ADD.write(page_id, page.text, (yield from self._lexemes(page)))

    def replace(self, page_id: int, page: PageText) -> Procedure[None]:
        """Enter a page's words in place of those it had."""
        yield Statement(_REPLACE, (page_id, page.text, (yield from self._lexemes(page))))

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return what counts, as `n`, the pages that have a phrase, up to a number."""
        return Statement(_COUNT, (_quote(phrase), most))

    def rank(self, plan: RankingPlan, parameters: Parameters, *, is_narrow: bool) -> Ranking:
        """Return how pages are ranked by a plan; by a narrow choice only those that are best."""
        scored = plan.wanted.scored
        terms = parameters.add([_quote(phrase) for phrase in scored])
        weights = parameters.add([plan.weights[phrase] for phrase in scored])
        prelude = f"""
term AS MATERIALIZED (
    SELECT to_tsquery('webhook.cinder_words', given.words) AS query, given.weight
      FROM unnest(CAST({terms} AS text[]), CAST({weights} AS float8[])) AS given(words, weight)),
"""  # noqa: S608 - names of parameters
        query = parameters.add(_expression(plan, is_narrow=is_narrow))
        most = parameters.add(plan.choice.most if plan.choice else None)
        return Ranking(prelude, _FIND.format(score=_SCORE, query=query, most=most))

    def _lexemes(self, page: PageText) -> Procedure[str]:
        places = find_places(page)
        return write_lexemes(places, (yield from self._stems.find(places)))


def _expression(plan: RankingPlan, *, is_narrow: bool) -> str:
    """Return a tsquery for pages that are chosen, have all that must be and none that must not.

    Every word stands in quotes and is made of letters and digits, so none is an operator.
    """
    parts = [_quote(phrase) for phrase in plan.wanted.phrases] or [
        _chosen(plan, is_narrow=is_narrow)
    ]
    parts += [f"!({_quote(phrase)})" for phrase in plan.wanted.excluded]
    return " & ".join(parts)


def _chosen(plan: RankingPlan, *, is_narrow: bool) -> str:
    choice = plan.choice
    if choice is None:
        return _any(plan.wanted.terms)
    if is_narrow:
        return _quorum(plan, choice.share)
    together = " & ".join(_any(group) for group in (choice.rarer, choice.commoner) if group)
    alone = [_any(choice.alone)] if choice.alone else []
    return f"({' | '.join(([together] if together else []) + alone)})"


def _quorum(plan: RankingPlan, share: float) -> str:
    """Return a tsquery for a share of the pages, those whose terms say the most together.

    Finding them takes the index little; to read the words of each takes long.
    """
    heaviest = sorted(plan.wanted.terms, key=lambda term: plan.weights[term], reverse=True)
    terms = [(_quote(term), plan.weights[term]) for term in heaviest[:MAX_TERMS]]
    enough = find_quorum([weight for _, weight in terms], share)
    return spell_quorum(terms, enough) or _any(plan.wanted.terms)


def _any(phrases: Sequence[Phrase]) -> str:
    return f"({' | '.join(_quote(phrase) for phrase in phrases)})"


def _quote(phrase: Phrase) -> str:
    words = split_words(fold(" ".join(phrase)))
    return " <-> ".join(f"'{word}'" for word in words)

"""PostgreSQL's tsvector: words under Snowball stems, ranked by the rarity of their terms.

They are made here rather than by `to_tsvector`, whose parser looks for hosts, paths and tags in
what is long cut into words, and takes longer than all else that a page costs the database. The
stems are its own all the same: a query's are, too.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import chain, repeat
from typing import TypeAlias

from cinder.store.database import Arguments, Query, SqlRow, Statement
from cinder.store.group_commit import BulkInsert, WriteStage
from cinder.store.index.full_text import IndexedText, Parameters, Ranking, RankingPlan
from cinder.store.index.terms import Phrase, fold, split_words

# The last place that a tsvector has; what stands behind it is there, too.
_LAST_PLACE = 16_383
# PostgreSQL refuses a word of 2,047 bytes, and nobody looks for one.
_MAX_WORD_CHARS = 500
# Stems that are remembered. Longer words are hashes and the like, which hardly come twice.
_MAX_KNOWN = 50_000
_MAX_KNOWN_CHARS = 40
_TITLE_WEIGHT = "A"

_STEM = """
SELECT word, COALESCE((ts_lexize('webhook.cinder_stem', word))[1], word) AS stem
  FROM unnest(CAST($1 AS TEXT[])) AS word
"""

# Each word, and the places where it stands as they are written.
Places: TypeAlias = Mapping[str, Sequence[str]]


def find_places(page: IndexedText) -> Places:
    """Return where the words of a page stand, those of its title first."""
    title, text = split_words(fold(page.title)), split_words(fold(page.text))
    places: defaultdict[str, list[str]] = defaultdict(list)
    numbers = chain(_numbers(), repeat(str(_LAST_PLACE)))
    # The words come first: what runs out must not take a number along.
    for word, number in zip(title, numbers, strict=False):
        places[word].append(number + _TITLE_WEIGHT)
    for word, number in zip(text, numbers, strict=False):
        places[word].append(number)
    return {word: where for word, where in places.items() if len(word) <= _MAX_WORD_CHARS}


def write_lexemes(places: Places, stems: Mapping[str, str]) -> str:
    """Return words as a tsvector; words are letters and digits alone, so that none ends a quote."""
    return " ".join(f"'{stems[word]}':{','.join(where)}" for word, where in places.items())


class Stems:
    """The stems of words, for which the database is asked once."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def find(self, words: Collection[str]) -> Query[Mapping[str, str]]:
        """Return the stems of these words."""
        if len(self._known) > _MAX_KNOWN:
            self._known = {}  # another, since others may be about to read this one
        known = self._known
        unknown = [word for word in words if word not in known]
        rows = (yield _LOOKUP.find(unknown)) if unknown else ()
        found = {row["word"]: row["stem"] for row in rows}
        known.update((w, stem) for w, stem in found.items() if len(w) <= _MAX_KNOWN_CHARS)
        return {word: found[word] if word in found else known[word] for word in words}


class _StemLookup:
    """Asks for the stems of the words of several pages at once."""

    stage = WriteStage.FIND_STEMS

    def find(self, words: Sequence[str]) -> Statement:
        """Return what asks for the stems of words."""
        return Statement(_STEM, (words,), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Ask for all; each gets the others' as well."""
        words = dict.fromkeys(chain.from_iterable(words for (words,) in arguments))
        rows = yield Statement(_STEM, (list(words),))
        return [rows] * len(arguments)


_LOOKUP = _StemLookup()


@cache
def _numbers() -> tuple[str, ...]:
    return tuple(map(str, range(1, _LAST_PLACE)))


# Of a few terms all subsets are weighed, and the expression for a quorum grows like they do.
MAX_COMBINED_TERMS = 8

# What is added up in another order may differ by as much.
_TOLERANCE = 1e-9


def find_minimum_should_match(weights: Sequence[float], share: float) -> float:
    """Return what terms must weigh together so that no more than a share of the pages has them.

    A weight is the logarithm of how rare its term is, and terms are taken to be independent.
    """
    subsets = [(0.0, 1.0)]
    for weight in weights[:MAX_COMBINED_TERMS]:
        chance = min(1.0, math.exp(-weight))
        subsets = [
            *((said, likely * (1 - chance)) for said, likely in subsets),
            *((said + weight, likely * chance) for said, likely in subsets),
        ]
    subsets.sort(reverse=True)
    enough, expected = subsets[0]
    for said, likely in subsets[1:]:
        expected += likely
        if expected > share or not said:
            break
        enough = said
    return enough


def minimum_should_match_sql(terms: Sequence[tuple[str, float]], enough: float) -> str | None:
    """Return the tsquery for pages whose terms weigh enough together; None where none can.

    The terms are given with their weights, the heaviest first.
    """
    if sum(weight for _, weight in terms) < enough - _TOLERANCE:
        return None
    (term, weight), rest = terms[0], terms[1:]
    missing = enough - weight
    # All of the terms weigh enough, so the rest does with this one.
    having = (
        term if missing <= _TOLERANCE else f"({term} & {minimum_should_match_sql(rest, missing)})"
    )
    without = minimum_should_match_sql(rest, enough)
    return having if without is None else f"({having} | {without})"


_ADD = BulkInsert(
    stage=WriteStage.ADD_WORDS,
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

    def add(self, page_id: int, page: IndexedText) -> Query[None]:
        """Enter a page's words."""
        yield _ADD.write(page_id, page.text, (yield from self._lexemes(page)))

    def replace(self, page_id: int, page: IndexedText) -> Query[None]:
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

    def _lexemes(self, page: IndexedText) -> Query[str]:
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
        return _minimum_should_match(plan, choice.share)
    together = " & ".join(_any(group) for group in (choice.rarer, choice.commoner) if group)
    alone = [_any(choice.alone)] if choice.alone else []
    return f"({' | '.join(([together] if together else []) + alone)})"


def _minimum_should_match(plan: RankingPlan, share: float) -> str:
    """Return a tsquery for a share of the pages, those whose terms say the most together.

    Finding them takes the index little; to read the words of each takes long.
    """
    heaviest = sorted(plan.wanted.terms, key=lambda term: plan.weights[term], reverse=True)
    terms = [(_quote(term), plan.weights[term]) for term in heaviest[:MAX_COMBINED_TERMS]]
    enough = find_minimum_should_match([weight for _, weight in terms], share)
    return minimum_should_match_sql(terms, enough) or _any(plan.wanted.terms)


def _any(phrases: Sequence[Phrase]) -> str:
    return f"({' | '.join(_quote(phrase) for phrase in phrases)})"


def _quote(phrase: Phrase) -> str:
    words = split_words(fold(" ".join(phrase)))
    return " <-> ".join(f"'{word}'" for word in words)

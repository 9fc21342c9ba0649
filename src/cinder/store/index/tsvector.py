"""PostgreSQL's tsvector: words under Snowball stems, ranked by the rarity of their terms.

The lexemes are computed here rather than by `to_tsvector`, whose parser also detects hosts, paths
and tags, and takes longer than all other writing of a page. The stems are PostgreSQL's, as they are
for queries.
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

# The last position of a tsvector; later words get it, too.
_LAST_PLACE = 16_383
# PostgreSQL refuses a word of 2,047 bytes, which no query has.
_MAX_WORD_CHARS = 500
# How many stems are cached. Longer words are hashes and the like, which hardly occur twice.
_MAX_KNOWN = 50_000
_MAX_KNOWN_CHARS = 40
_TITLE_WEIGHT = "A"

_STEM = """
SELECT word, COALESCE((ts_lexize('webhook.cinder_stem', word))[1], word) AS stem
  FROM unnest(CAST($1 AS TEXT[])) AS word
"""

# Each word, and its positions as a tsvector writes them.
Places: TypeAlias = Mapping[str, Sequence[str]]


def find_places(page: IndexedText) -> Places:
    """Return the positions of the words of a page, those of its title first."""
    title, text = split_words(fold(page.title)), split_words(fold(page.text))
    places: defaultdict[str, list[str]] = defaultdict(list)
    numbers = chain(_numbers(), repeat(str(_LAST_PLACE)))
    # The words are the first argument: `zip` then takes no number when they run out.
    for word, number in zip(title, numbers, strict=False):
        places[word].append(number + _TITLE_WEIGHT)
    for word, number in zip(text, numbers, strict=False):
        places[word].append(number)
    return {word: where for word, where in places.items() if len(word) <= _MAX_WORD_CHARS}


def write_lexemes(places: Places, stems: Mapping[str, str]) -> str:
    """Return words as a tsvector; they are letters and digits only, so that none ends a quote."""
    return " ".join(f"'{stems[word]}':{','.join(where)}" for word, where in places.items())


class Stems:
    """The stems of words, cached from the database."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def find(self, words: Collection[str]) -> Query[Mapping[str, str]]:
        """Return the stems of these words."""
        if len(self._known) > _MAX_KNOWN:
            self._known = {}  # a new one, because other queries may be about to read this one
        known = self._known
        unknown = [word for word in words if word not in known]
        rows = (yield _LOOKUP.find(unknown)) if unknown else ()
        found = {row["word"]: row["stem"] for row in rows}
        known.update((w, stem) for w, stem in found.items() if len(w) <= _MAX_KNOWN_CHARS)
        return {word: found[word] if word in found else known[word] for word in words}


class _StemLookup:
    """Looks up the stems of the words of several pages at once."""

    stage = WriteStage.FIND_STEMS

    def find(self, words: Sequence[str]) -> Statement:
        """Return the statement that looks up the stems of words."""
        return Statement(_STEM, (words,), self)

    def join(self, arguments: Sequence[Arguments]) -> Query[list[Sequence[SqlRow]]]:
        """Look up all; each query gets the stems of the others as well."""
        words = dict.fromkeys(chain.from_iterable(words for (words,) in arguments))
        rows = yield Statement(_STEM, (list(words),))
        return [rows] * len(arguments)


_LOOKUP = _StemLookup()


@cache
def _numbers() -> tuple[str, ...]:
    return tuple(map(str, range(1, _LAST_PLACE)))


# All subsets of so many terms are weighed, and the expression grows with their number.
MAX_COMBINED_TERMS = 8

# Sums in another order may differ by as much.
_TOLERANCE = 1e-9


def find_minimum_should_match(weights: Sequence[float], share: float) -> float:
    """Return the least weight of terms that at most a share of the pages has together.

    The weight of a term is the logarithm of its rarity, and terms are taken to be independent.
    """
    subsets = [(0.0, 1.0)]
    for weight in weights[:MAX_COMBINED_TERMS]:
        chance = min(1.0, math.exp(-weight))
        subsets = [
            *((total, likely * (1 - chance)) for total, likely in subsets),
            *((total + weight, likely * chance) for total, likely in subsets),
        ]
    subsets.sort(reverse=True)
    enough, expected = subsets[0]
    for total, likely in subsets[1:]:
        expected += likely
        if expected > share or not total:
            break
        enough = total
    return enough


def minimum_should_match_sql(terms: Sequence[tuple[str, float]], enough: float) -> str | None:
    """Return the tsquery for pages whose terms weigh enough together; None where none can.

    The terms come with their weights, the heaviest first.
    """
    if sum(weight for _, weight in terms) < enough - _TOLERANCE:
        return None
    (term, weight), rest = terms[0], terms[1:]
    missing = enough - weight
    # All terms together weigh enough, so the rest weighs enough with this one.
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

# ts_rank does not consider how rare a term is; alone, it ranks a tenth worse. Its last argument
# divides the rank by the logarithm of the page's length. Text counts less than the title.
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
        """Add a page's words."""
        yield _ADD.write(page_id, page.text, (yield from self._lexemes(page)))

    def replace(self, page_id: int, page: IndexedText) -> Query[None]:
        """Replace a page's words."""
        yield Statement(_REPLACE, (page_id, page.text, (yield from self._lexemes(page))))

    def count(self, phrase: Phrase, most: int) -> Statement:
        """Return the statement that counts, as `n`, the pages with a phrase, up to a number."""
        return Statement(_COUNT, (_quote(phrase), most))

    def rank(self, plan: RankingPlan, parameters: Parameters, *, is_narrow: bool) -> Ranking:
        """Return the SQL that ranks pages by a plan; a narrow choice has only the best."""
        scored = plan.query.scored
        terms = parameters.add([_quote(phrase) for phrase in scored])
        weights = parameters.add([plan.weights[phrase] for phrase in scored])
        prelude = f"""
term AS MATERIALIZED (
    SELECT to_tsquery('webhook.cinder_words', given.words) AS query, given.weight
      FROM unnest(CAST({terms} AS text[]), CAST({weights} AS float8[])) AS given(words, weight)),
"""  # noqa: S608 - names of parameters
        # Every word is quoted and consists of letters and digits, so none is an operator.
        required = [_quote(phrase) for phrase in plan.query.phrases]
        excluded = [f"!({_quote(phrase)})" for phrase in plan.query.excluded]
        parts = [*(required or [_chosen(plan, is_narrow=is_narrow)]), *excluded]
        query = parameters.add(" & ".join(parts))
        most = parameters.add(plan.choice.most if plan.choice else None)
        return Ranking(prelude, _FIND.format(score=_SCORE, query=query, most=most))

    def _lexemes(self, page: IndexedText) -> Query[str]:
        places = find_places(page)
        return write_lexemes(places, (yield from self._stems.find(places)))


def _chosen(plan: RankingPlan, *, is_narrow: bool) -> str:
    choice = plan.choice
    if choice is None:
        return _any(plan.query.terms)
    if is_narrow:
        # The pages whose terms weigh the most together. The index finds them fast; reading the
        # words of each page would take long.
        heaviest = sorted(plan.query.terms, key=lambda term: plan.weights[term], reverse=True)
        terms = [(_quote(term), plan.weights[term]) for term in heaviest[:MAX_COMBINED_TERMS]]
        enough = find_minimum_should_match([weight for _, weight in terms], choice.share)
        return minimum_should_match_sql(terms, enough) or _any(plan.query.terms)
    together = " & ".join(_any(group) for group in (choice.rarer, choice.commoner) if group)
    alone = [_any(choice.alone)] if choice.alone else []
    return f"({' | '.join(([together] if together else []) + alone)})"


def _any(phrases: Sequence[Phrase]) -> str:
    return f"({' | '.join(_quote(phrase) for phrase in phrases)})"


def _quote(phrase: Phrase) -> str:
    words = split_words(fold(" ".join(phrase)))
    return " <-> ".join(f"'{word}'" for word in words)

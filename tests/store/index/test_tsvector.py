"""Quorums: the terms that a page must have together."""

import math
from collections.abc import AsyncIterator
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.store.database import Query, QueryRunner
from cinder.store.group_commit import run_batched
from cinder.store.index.full_text import IndexedText
from cinder.store.index.terms import fold, split_words
from cinder.store.index.tsvector import (
    MAX_COMBINED_TERMS,
    Stems,
    find_minimum_should_match,
    find_places,
    minimum_should_match_sql,
    write_lexemes,
)
from tests.store.index.samples import FIRES, GLASS, TIDES
from tests.store.postgres import PostgresServer

if TYPE_CHECKING:  # the driver's classes take parameters only in its stubs
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]

OWN_WORDS = """
SELECT setweight(to_tsvector('webhook.cinder_words', $1), 'A')
    || setweight(to_tsvector('webhook.cinder_words', $2), 'D') = CAST(CAST($3 AS TEXT) AS TSVECTOR)
"""


@pytest.fixture
def url(postgres: PostgresServer, postgres_template: str) -> str:
    return postgres.create_database(postgres_template)


@pytest.fixture
async def connection(url: str) -> AsyncIterator["Connection"]:
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


def a_page(text: str, title: str = "") -> IndexedText:
    return IndexedText(title=title, text=text, site="", published_at=None, content=0)


def lexemes_of(page: IndexedText, stems: Stems) -> Query[str]:
    places = find_places(page)
    return write_lexemes(places, (yield from stems.find(places)))


async def run(connection: "Connection", stems: Stems, *pages: IndexedText) -> tuple[list[str], int]:
    """Return the lexemes of pages that are entered together, and how often was asked for stems."""
    asked = 0
    together = QueryRunner(run_batched([partial(lexemes_of, page, stems) for page in pages]))
    while together.statement is not None:
        asked += 1
        together.advance(await connection.fetch(together.statement.sql, *together.statement.args))
    return together.result, asked


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Fires in grass", FIRES),
        ("", f"{FIRES} {GLASS} {TIDES} running runs ran runner's generalizations"),
        ("3rd of 12, 1e5", "100s of 10px, 007, 1e5 x2 and 99999999999999999999"),
        ("Größe, Ångström", "naïve cafés, Ωmega и русские слова, 한국어 검색, 東京タワー"),
        ("A long text", " ".join(f"word{number}" for number in range(20_000))),
        ("", ""),
    ],
)
async def test_they_are_those_that_postgresql_makes_of_the_same_words(
    connection: "Connection", title: str, text: str
) -> None:
    lexemes, _ = await run(connection, Stems(), a_page(text, title))

    spaced = [" ".join(split_words(fold(part))) for part in (title, text)]
    assert await connection.fetchval(OWN_WORDS, *spaced, lexemes[0])


async def test_stems_are_asked_for_once(connection: "Connection") -> None:
    stems = Stems()
    first, asked = await run(connection, stems, a_page(FIRES), a_page(GLASS))
    again, asked_again = await run(connection, stems, a_page(FIRES), a_page(GLASS))

    assert (asked, asked_again) == (1, 0)
    assert again == first


async def test_long_words_are_not_remembered(connection: "Connection") -> None:
    stems, page = Stems(), a_page("short " + "hashing" * 10)
    first, asked = await run(connection, stems, page)
    again, asked_again = await run(connection, stems, page)

    assert (asked, asked_again) == (1, 1)
    assert again == first


async def test_a_word_that_is_too_long_for_postgresql_is_left_out(connection: "Connection") -> None:
    lexemes, _ = await run(connection, Stems(), a_page(f"one {'long' * 600} word"))

    assert lexemes == ["'one':1 'word':3"]
    assert await connection.fetchval("SELECT CAST(CAST($1 AS TEXT) AS TSVECTOR)::text", lexemes[0])


FILL = """
INSERT INTO webhook.page_words (id, text, words)
SELECT n, '', array_to_tsvector(ARRAY(
           SELECT 'w' || n % 7 || '_' || word FROM generate_series(1, 500) word))
  FROM generate_series(1, 3000) n
"""
SCANS = """
SELECT indexrelid::regclass::text, pg_stat_get_xact_numscans(indexrelid)
  FROM pg_index WHERE indrelid = 'webhook.page_words'::regclass
"""


async def test_words_are_looked_up_in_their_index_before_the_table_is_analysed(
    connection: "Connection",
) -> None:
    # Without the other tables: only the words matter.
    await connection.execute("ALTER TABLE webhook.page_words DROP CONSTRAINT page_words_id_fkey")
    await connection.execute("ALTER TABLE webhook.page_words SET (autovacuum_enabled = off)")
    await connection.execute(FILL)
    async with connection.transaction():
        found = await connection.fetch("SELECT webhook.pages_with('w3_1', 10)")
        scans = {row[0]: row[1] for row in await connection.fetch(SCANS)}

    assert [row[0] for row in found] == list(range(2999, 2929, -7))
    assert scans == {"webhook.idx_page_words_words": 1, "webhook.page_words_pkey": 0}


WEIGHTS = st.lists(st.floats(0.1, 12), min_size=1, max_size=MAX_COMBINED_TERMS).map(
    lambda weights: sorted(weights, reverse=True)
)


def test_so_many_terms_are_needed_as_few_enough_pages_have() -> None:
    tenth = math.log(10)
    assert find_minimum_should_match([tenth, tenth, tenth], 0.001) == pytest.approx(3 * tenth)
    assert find_minimum_should_match([tenth, tenth, tenth], 0.03) == pytest.approx(2 * tenth)
    assert find_minimum_should_match([tenth, tenth, tenth], 0.5) == pytest.approx(tenth)


def test_a_page_needs_one_term_at_least_and_no_more_than_there_are() -> None:
    assert find_minimum_should_match([5.0, 1.0], 1) == 1
    assert find_minimum_should_match([0.5, 0.5], 0) == 1


def test_a_quorum_is_spelled_by_the_terms_that_reach_it() -> None:
    terms = [("a", 3.0), ("b", 2.0), ("c", 1.0)]
    assert minimum_should_match_sql(terms, 6) == "(a & (b & c))"
    assert minimum_should_match_sql(terms, 3) == "(a | (b & c))"
    assert minimum_should_match_sql(terms, 1) == "(a | (b | c))"
    assert minimum_should_match_sql(terms, 7) is None


@given(WEIGHTS, st.floats(0, 1))
def test_just_the_pages_whose_terms_weigh_enough_are_in_it(
    weights: list[float], share: float
) -> None:
    enough = find_minimum_should_match(weights, share)
    terms = [(f"has[{number}]", weight) for number, weight in enumerate(weights)]
    spelled = minimum_should_match_sql(terms, enough)
    assert spelled is not None
    condition = compile(spelled.replace("&", "and").replace("|", "or"), "quorum", "eval")
    for has in product([True, False], repeat=len(weights)):
        weight = sum(weight for weight, there in zip(weights, has, strict=True) if there)
        if abs(weight - enough) > 1e-6:
            assert eval(condition, {"has": has}) == (weight > enough)

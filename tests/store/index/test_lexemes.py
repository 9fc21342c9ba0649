"""Lexemes: the tsvector that PostgreSQL itself would make of a page's words."""

from collections.abc import AsyncIterator
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import asyncpg
import pytest

from cinder.store.index.lexemes import Stems, find_places, write_lexemes
from cinder.store.index.texts import PageText
from cinder.store.index.words import fold, split_words
from cinder.store.joining import run_together
from cinder.store.procedure import Procedure, Run
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


def a_page(text: str, title: str = "") -> PageText:
    return PageText(title=title, text=text, site="", published_at=None, content=0)


def lexemes_of(page: PageText, stems: Stems) -> Procedure[str]:
    places = find_places(page)
    return write_lexemes(places, (yield from stems.find(places)))


async def run(connection: "Connection", stems: Stems, *pages: PageText) -> tuple[list[str], int]:
    """Return the lexemes of pages that are entered together, and how often was asked for stems."""
    asked = 0
    together = Run(run_together([partial(lexemes_of, page, stems) for page in pages]))
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

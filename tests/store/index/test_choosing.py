"""Choosing: of many pages those with the most of a query's terms, and those with a rare one."""

from collections.abc import AsyncIterator

import pytest

from cinder.model.search import SearchFilters
from cinder.store import Store
from cinder.store.database import Database
from cinder.store.dialect import SQLITE
from cinder.store.index.choosing import Term, choose
from cinder.store.index.finding import Finder
from cinder.store.index.fts5 import Fts5
from cinder.store.index.term_counts import TermCounts
from cinder.store.index.tsvector import Tsvector
from cinder.store.index_base import IndexQuery
from cinder.store.postgres import PostgresDatabase
from cinder.store.sqlite import SqliteDatabase, path_of
from tests.store.index.samples import save_page
from tests.store.samples import NOW

RARE, USUAL, FREQUENT = (
    Term(("rare",), 20, 7),
    Term(("usual",), 2_000, 2.5),
    Term(("often",), 6_000, 1.4),
)
PAGES = 25_000


@pytest.fixture
async def database(store_url: str) -> AsyncIterator[Database]:
    is_sqlite = store_url.startswith("sqlite")
    database: Database = (
        SqliteDatabase(path_of(store_url), pool_size=1)
        if is_sqlite
        else PostgresDatabase(store_url, pool_size=1)
    )
    await database.open()
    yield database
    await database.close()


async def find_among_many(
    database: Database, text: str, *, offset: int = 0, limit: int = 10, caller: str = "anyone"
) -> list[str]:
    """Find pages as if so many as there are were too many to rank."""
    full_text = Fts5() if database.dialect is SQLITE else Tsvector()
    counts = TermCounts(full_text, max_chosen=5)
    finder = Finder(dialect=database.dialect, full_text=full_text, counts=counts)
    query = IndexQuery(
        text=text, caller=caller, offset=offset, limit=limit, filters=SearchFilters()
    )
    found = await database.read(lambda: finder.find(query, None, NOW))
    return [page.url.rpartition("/")[2] for page in found]


async def save_many(store: Store) -> None:
    """Save pages of which many have one usual word, some have two, and one has a rare one."""
    for number in range(24):
        words = ["stone"] if number % 5 < 2 else ["timber"]
        words += ["harbour"] if number % 3 == 0 else []
        words += ["lantern"] if number == 5 else []
        await save_page(store, f"p{number}", f"{' '.join(words)} number{number} and so on")


def test_a_page_must_have_rarer_and_commoner_terms() -> None:
    choice = choose([FREQUENT, USUAL, Term(("seldom",), 1_000, 3.2)], PAGES, 2_500)
    assert choice.rarer == (("seldom",), ("usual",))
    assert choice.commoner == (("often",),)
    assert choice.expected == pytest.approx(2_920 * 0.24)


def test_pages_with_a_rare_term_are_chosen_whatever_else_they_have() -> None:
    choice = choose([FREQUENT, USUAL, RARE], PAGES, 1_000)
    assert choice.rarer == (("rare",),)
    assert choice.alone == (("rare",),)


def test_a_term_that_no_page_had_yet_is_looked_for_by_itself() -> None:
    choice = choose([FREQUENT, Term(("new",), 0, 10)], PAGES, 2_500)
    assert choice.alone == (("new",),)
    assert (choice.rarer, choice.commoner) == ((("often",),), ())


def test_fewer_terms_are_rarer_ones_where_too_many_pages_have_them() -> None:
    terms = [Term((f"term{number}",), 4_000 + number, 1.8) for number in range(6)]
    assert len(choose(terms, PAGES, 10_000).rarer) > len(choose(terms, PAGES, 2_500).rarer) == 1


async def test_the_best_of_many_are_found(store: Store, database: Database) -> None:
    await save_many(store)
    found = await find_among_many(database, "stone harbour")
    assert sorted(found[:4]) == ["p0", "p15", "p21", "p6"]


async def test_a_rare_word_finds_its_page_among_many(store: Store, database: Database) -> None:
    await save_many(store)
    assert "p5" in await find_among_many(database, "lantern harbour timber")
    assert (await find_among_many(database, "number7 harbour timber"))[0] == "p7"


async def test_what_is_left_out_is_left_out_of_many(store: Store, database: Database) -> None:
    await save_many(store)
    found = await find_among_many(database, "stone harbour -number9 -lantern", limit=50)
    assert found
    assert not {"p9", "p5"} & set(found)


async def test_parts_of_an_answer_of_many_join(store: Store, database: Database) -> None:
    await save_many(store)
    whole = await find_among_many(database, "stone harbour lantern", limit=24)
    parts = [
        page
        for offset in range(0, 24, 3)
        for page in await find_among_many(database, "stone harbour lantern", offset=offset, limit=3)
    ]
    assert parts == whole
    assert len(set(whole)) == len(whole)


async def test_pages_of_others_are_not_found_among_many(store: Store, database: Database) -> None:
    await save_many(store)
    await save_page(store, "secret", "stone harbour lantern", owner="somebody")
    assert "secret" not in await find_among_many(database, "stone harbour lantern", limit=50)
    own = await find_among_many(database, "stone harbour lantern", caller="somebody")
    assert own[0] == "secret"

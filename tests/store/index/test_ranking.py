"""Ordering: meaning moves pages that match by their words."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

import pytest

from cinder.models.search import SearchFilters
from cinder.store import open_store
from cinder.store.database import SQLITE, Database, Query, QueryRunner
from cinder.store.documents import Store
from cinder.store.index.fts5 import Fts5
from cinder.store.index.full_text import FullText, RankingPlan
from cinder.store.index.page_index import IndexQuery, IndexSearcher
from cinder.store.index.ranking import (
    MAX_CHOSEN,
    MAX_COMPARED,
    Meaning,
    Ranked,
    Term,
    TermCounts,
    choose,
    order_by_meaning,
)
from cinder.store.index.terms import parse_query
from cinder.store.index.tsvector import Tsvector
from cinder.store.postgres import PostgresDatabase
from cinder.store.sqlite import SqliteDatabase, path_of
from tests.store.index.samples import find_paths, save_page
from tests.store.samples import NOW, Clock

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
    finder = IndexSearcher(dialect=database.dialect, full_text=full_text, counts=counts)
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


COUNTS = {"pages": 10 * MAX_CHOSEN, "rare": 20, "usual": MAX_CHOSEN - 100, "frequent": 3_000}


def run(query: Query[RankingPlan], counts: dict[str, int]) -> tuple[RankingPlan, list[str]]:
    """Run a query on a database that has only counts."""
    asked = []
    run = QueryRunner(query)
    while run.statement is not None:
        word = str(run.statement.args[0]).strip("\"'") if run.statement.args else "pages"
        asked.append(word)
        run.advance([{"n": counts.get(word, 10**9)}])
    return run.result, asked


def test_few_pages_are_ranked_by_all_terms_without_counting() -> None:
    wanted = parse_query("rare usual common")
    plan, asked = run(TermCounts(Fts5()).plan(wanted, NOW), {"pages": MAX_CHOSEN})
    assert plan == RankingPlan(query=wanted)
    assert asked == ["pages"]


@pytest.mark.parametrize("full_text", [Fts5(), Tsvector()])
def test_many_pages_are_chosen_and_ranked_without_common_terms(full_text: FullText) -> None:
    wanted = parse_query("frequent common rare usual")
    plan, _ = run(TermCounts(full_text).plan(wanted, NOW), COUNTS)
    assert plan.query.terms == (("frequent",), ("rare",), ("usual",))
    assert plan.choice is not None
    assert plan.choice.rarer == (("rare",),)
    assert plan.choice.commoner == (("usual",), ("frequent",))
    assert plan.choice.most is None
    assert plan.weights[("rare",)] > plan.weights[("usual",)] > plan.weights[("frequent",)] > 0


def test_a_common_term_by_itself_is_kept_for_the_newest_pages() -> None:
    wanted = parse_query("common")
    plan, _ = run(TermCounts(Fts5()).plan(wanted, NOW), COUNTS)
    assert plan.query == wanted
    assert plan.choice is not None
    assert (plan.choice.rarer, plan.choice.most) == (wanted.terms, 10_000)


def test_phrases_are_rare_enough_by_themselves() -> None:
    wanted = parse_query('"rare thing" common')
    plan, _ = run(TermCounts(Fts5()).plan(wanted, NOW), COUNTS)
    assert (plan.query, plan.choice) == (wanted, None)


def test_counts_are_remembered_for_some_minutes() -> None:
    counts, wanted = TermCounts(Tsvector()), parse_query("rare")
    assert run(counts.plan(wanted, NOW), COUNTS)[1] == ["pages", "rare"]
    assert run(counts.plan(wanted, NOW + timedelta(seconds=59)), COUNTS)[1] == []
    assert run(counts.plan(wanted, NOW + timedelta(seconds=61)), COUNTS)[1] == ["pages"]
    later = NOW + timedelta(minutes=11)
    assert run(counts.plan(wanted, later), COUNTS)[1] == ["pages", "rare"]


def test_terms_are_counted_again_when_pages_have_become_many_more() -> None:
    counts, wanted = TermCounts(Tsvector()), parse_query("rare")
    before, _ = run(counts.plan(wanted, NOW), COUNTS)
    grown = COUNTS | {"pages": COUNTS["pages"] * 6 // 5}
    plan, asked = run(counts.plan(wanted, NOW + timedelta(seconds=61)), grown)
    assert asked == ["pages"]
    # The share of the pages that have it is taken to be the same.
    assert plan.weights[("rare",)] == pytest.approx(before.weights[("rare",)], abs=0.01)
    grown = COUNTS | {"pages": COUNTS["pages"] * 2}
    assert run(counts.plan(wanted, NOW + timedelta(seconds=122)), grown)[1] == ["pages", "rare"]


SEA = ("ocean", "sea", "tide", "water")
FIRE = ("fire", "flame", "furnace", "heat")


class Subjects:
    """An embedder that knows two subjects by their words."""

    def embed(self, title: str, text: str) -> bytes:
        counts = Counter(f"{title} {text}".lower().replace(".", "").split())
        return bytes(min(255, sum(counts[word] for word in words)) for words in (SEA, FIRE))

    def compare(self, query: bytes, pages: Sequence[bytes]) -> list[float]:
        return [
            float(sum(a * b for a, b in zip(query, page, strict=True))) / (sum(page) or 1)
            for page in pages
        ]


def test_without_a_meaning_the_order_stays() -> None:
    ranked = [Ranked(1, 9.0), Ranked(2, 3.0)]
    assert order_by_meaning(ranked, None) == ranked
    assert order_by_meaning(ranked, Meaning(b"\x01\x00", Subjects())) == ranked
    assert order_by_meaning([], Meaning(b"\x01\x00", Subjects())) == []


def test_a_page_that_means_the_same_moves_up() -> None:
    ranked = [Ranked(1, 10.0, b"\x00\x05"), Ranked(2, 9.5, b"\x05\x00"), Ranked(3, 2.0)]
    ordered = order_by_meaning(ranked, Meaning(b"\x01\x00", Subjects()))
    assert [page.id for page in ordered] == [2, 1, 3]
    assert 10.0 >= ordered[0].score > ordered[1].score > ordered[2].score >= 2.0


def test_pages_far_down_keep_their_place() -> None:
    ranked = [Ranked(number, 1000.0 - number, b"\x01\x01") for number in range(MAX_COMPARED)]
    last = Ranked(MAX_COMPARED, 1.0, b"\x09\x00")
    assert order_by_meaning([*ranked, last], Meaning(b"\x01\x00", Subjects()))[-1] == last


@pytest.mark.parametrize("is_rebuilt", [False, True])
async def test_an_index_with_an_embedder_ranks_by_meaning(
    store_url: str, *, is_rebuilt: bool
) -> None:
    observe = lambda _name, _seconds: None  # noqa: E731
    async with open_store(store_url, pool_size=2, observe=observe, clock=Clock()) as plain:
        assert not plain.index.has_embeddings
        if is_rebuilt:
            await save_pages(plain)
    with_meaning = open_store(
        store_url, pool_size=2, observe=observe, clock=Clock(), embedder=Subjects()
    )
    async with with_meaning as store:
        assert store.index.has_embeddings
        if not is_rebuilt:
            await save_pages(store)
        else:
            assert await find_paths(store, "glass ocean") == ["furnace", "bottle", "vase"]
            await store.index.rebuild()
        assert await find_paths(store, "glass ocean") == ["bottle", "furnace", "vase"]


async def save_pages(store: Store) -> None:
    await save_page(store, "furnace", "Glass glass glass in the fire of the furnace.")
    await save_page(store, "bottle", "Glass glass on the tide of the sea water.")
    await save_page(store, "vase", f"A vase of glass. {'Nothing of the kind is told. ' * 20}")

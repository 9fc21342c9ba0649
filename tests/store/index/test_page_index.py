"""Finding: what matches best comes first, filters hold, and no query is anything but words."""

import asyncio
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cinder.models.search import SearchFilters
from cinder.store.documents import Store
from tests.store.conftest import open_at
from tests.store.index.samples import FIRES, GLASS, TIDES, find, find_paths, save_page
from tests.store.index.searching import save_while_searching
from tests.store.samples import NOW, Clock


@pytest.fixture
async def filled(store: Store) -> Store:
    await save_page(store, "fires", FIRES, title="Grass fires")
    await save_page(store, "glass", GLASS, title="Glass blowing")
    await save_page(store, "tides", TIDES, title="Tides")
    return store


async def test_a_page_is_found_by_its_words_in_any_form(filled: Store) -> None:
    found = await find(filled, "the travelling flame")
    assert [page.url for page in found] == ["https://example.com/fires"]
    page = found[0]
    assert page.title == "Grass fires"
    assert page.score > 0
    assert page.first_seen_at == page.version.saved_at
    assert page.published_at is None
    assert page.version.place == "example.com/fires"


async def test_terms_are_alternatives_and_more_of_them_are_better(filled: Store) -> None:
    assert await find_paths(filled, "furnace fire tools") == ["glass", "fires"]


async def test_a_title_counts_more_than_the_text(store: Store) -> None:
    await save_page(store, "text", "Some words about granite and more words to read.", title="Rock")
    await save_page(
        store, "title", "Some words about stones and more words to read.", title="Granite"
    )
    await save_page(store, "other", "Nothing of that kind at all.", title="Other")
    assert await find_paths(store, "granite") == ["title", "text"]


async def test_stop_words_do_not_count_beside_others(filled: Store) -> None:
    assert await find_paths(filled, "what is the moon") == ["tides"]


async def test_a_query_of_stop_words_is_looked_for_as_it_is(filled: Store) -> None:
    assert await find_paths(filled, "by an") == ["glass"]


async def test_a_phrase_must_be_there_as_it_stands(filled: Store) -> None:
    assert await find_paths(filled, '"open furnace"') == ["glass"]
    assert await find_paths(filled, '"furnace open"') == []
    assert await find_paths(filled, '"dry grass" glass') == ["fires"]


async def test_what_follows_a_minus_is_left_out(filled: Store) -> None:
    assert await find_paths(filled, "fire -furnace") == ["fires"]
    assert await find_paths(filled, 'fire -"dry grass"') == ["glass"]
    assert await find_paths(filled, "-furnace") == []


async def test_domains_are_taken_with_what_is_beneath_them(store: Store) -> None:
    for site in ("https://example.com", "https://docs.example.com", "https://notexample.com"):
        await save_page(store, "p", f"{TIDES} As told by {site}.", site=site)

    async def sites(filters: SearchFilters) -> set[str]:
        return {page.url.rpartition("/")[0] for page in await find(store, "tides", filters)}

    within = {"https://example.com", "https://docs.example.com"}
    assert await sites(SearchFilters(include_domains=("Example.com.",))) == within
    assert await sites(SearchFilters(include_domains=("docs.example.com", "nowhere.org"))) == {
        "https://docs.example.com"
    }
    assert await sites(SearchFilters(exclude_domains=("example.com",))) == {
        "https://notexample.com"
    }
    assert await sites(SearchFilters(include_domains=("%",))) == set()
    many = tuple(f"site{number}.org" for number in range(1_200))
    assert await sites(SearchFilters(include_domains=(*many, "docs.example.com"))) == {
        "https://docs.example.com"
    }


async def test_required_text_must_stand_in_the_page_as_written(filled: Store) -> None:
    assert await find_paths(filled, "fire", SearchFilters(required_text=("Dry  Grass",))) == [
        "fires"
    ]
    assert await find_paths(filled, "fire", SearchFilters(required_text=("dry grasses",))) == []
    assert await find_paths(
        filled, "fire", SearchFilters(required_text=("tools", "open furnace:"))
    ) == ["glass"]
    assert await find_paths(filled, "fire", SearchFilters(required_text=("grass", "furnace"))) == []


async def test_age_goes_by_the_date_of_publication_or_else_the_first_save(
    store: Store, clock: Clock
) -> None:
    await save_page(store, "old", f"{TIDES} One.", published="2020-01-01")
    await save_page(store, "new", f"{TIDES} Two.", published="2025-11-10T10:00:00+01:00")
    await save_page(store, "undated", f"{TIDES} Three.")
    assert set(await find_paths(store, "tides", SearchFilters(max_age_days=30))) == {
        "new",
        "undated",
    }
    clock.move_on(timedelta(days=20))
    await save_page(store, "undated", f"{TIDES} Four.", scraped_at=clock())
    assert await find_paths(store, "tides", SearchFilters(max_age_days=10)) == []
    assert set(await find_paths(store, "tides", SearchFilters(max_age_days=21))) == {"undated"}


async def test_of_two_alike_the_newer_comes_first(store: Store) -> None:
    await save_page(store, "old", f"{TIDES} It is so.", published="2001-01-01")
    await save_page(store, "new", f"{TIDES} So it is.", published="2025-11-01")
    assert await find_paths(store, "tides") == ["new", "old"]


async def test_pages_with_the_same_words_are_found_once(store: Store) -> None:
    await save_page(store, "one", TIDES)
    await save_page(store, "two", f"*{TIDES}*\n")
    await save_page(store, "three", f"{TIDES} And more.")
    found = await find_paths(store, "moon")
    assert len(found) == 2
    assert "three" in found


async def test_parts_of_an_answer_join_without_gap_or_repetition(store: Store) -> None:
    for number in range(25):
        await save_page(store, f"p{number}", "ember " * (number % 7 + 1) + f"number{number}")
    whole = await find_paths(store, "ember", limit=100)
    parts = [await find_paths(store, "ember", offset=start, limit=4) for start in range(0, 28, 4)]
    assert len(whole) == 25
    assert [path for part in parts for path in part] == whole
    assert await find_paths(store, "ember", offset=25) == []


async def test_the_passage_is_the_part_that_matches(store: Store) -> None:
    filler = "Plain words stand here that say nothing of it. " * 40
    text = f"# Start\n\n{filler}\n\nA [basalt column](https://example.com/x) has **six** sides."
    await save_page(store, "long", f"{text}\n\n{filler}")
    (page,) = await find(store, "basalt columns")
    assert "A basalt column has six sides." in page.passage
    assert len(page.passage) <= 300


async def test_scripts_without_spaces_are_found_by_what_stands_together(store: Store) -> None:
    await save_page(store, "tokyo", "東京都は日本の首都です。")
    await save_page(store, "kyoto", "京都市は古い都です。")
    assert await find_paths(store, "東京") == ["tokyo"]
    (page,) = await find(store, '"日本の首都"')
    assert page.passage == "東京都は日本の首都です。"
    mixed = "ラーメンは25分、Python 3.11で人々が作る。"
    await save_page(store, "noodles", mixed)
    for query in ("ラーメン", '"25分"', "python 人々"):
        (page,) = await find(store, query)
        assert page.passage == mixed
    assert await find_paths(store, "都", SearchFilters(required_text=("古い都",))) == ["kyoto"]


async def test_accents_and_case_do_not_matter(store: Store) -> None:
    await save_page(store, "cafe", "Ein CAFÉ in Zürich.")
    assert await find_paths(store, "cafe") == ["cafe"]
    assert await find_paths(store, "ZURICH") == ["cafe"]


@pytest.mark.parametrize("text", ["", "   ", "-", '""', '"', '-""', "!?*()", "\x00", "\ud800"])
async def test_a_query_without_words_finds_nothing(filled: Store, text: str) -> None:
    assert await find(filled, text) == []


OPERATORS = st.sampled_from(
    [
        *("AND", "OR", "NOT", "NEAR(", "NEAR/2", "(", ")", '"', "'", "*", "^", ":", "-", "+", "{"),
        *("title:", "text : fire", "<->", "<2>", "&", "|", "!", ":*", ":A", "\\", "%", "_", ";"),
        *("fire", "glass", "$1", "\x00", "\ud800", "東京", "ß", "İ", "ﬁre", "e\u0301", "--"),
    ]
)
QUERIES = st.one_of(
    st.text(max_size=80),
    st.lists(st.one_of(OPERATORS, st.text(max_size=5)), max_size=12).map(" ".join),
    st.lists(OPERATORS, max_size=12).map("".join),
)


def test_no_query_is_ever_an_error(store_url: str) -> None:
    with asyncio.Runner() as runner:
        store = runner.run(open_at(store_url, Clock()).__aenter__())
        try:
            runner.run(save_page(store, "fires", FIRES))
            runner.run(save_page(store, "glass", GLASS))

            @settings(max_examples=150, deadline=None, database=None)
            @given(text=QUERIES, phrase=QUERIES, domain=st.one_of(st.text(max_size=20), OPERATORS))
            @example(text="\x00", phrase="\ud800", domain="\x00")
            @example(text="fire", phrase="", domain="\ud800")
            def search(text: str, phrase: str, domain: str) -> None:
                found = runner.run(find(store, text, caller=text))
                assert len(found) <= 2
                filters = SearchFilters(required_text=(phrase,), exclude_domains=(domain,))
                narrowed = runner.run(find(store, f"fire {text}", filters))
                assert len(narrowed) <= 2

            search()
            assert runner.run(find_paths(store, "fire")) != []
        finally:
            runner.run(store.__aexit__())


async def test_an_expired_page_is_not_found(store: Store, clock: Clock) -> None:
    await save_page(store, "tides", TIDES, expires_at=NOW + timedelta(hours=1))
    assert await find_paths(store, "moon") == ["tides"]
    clock.move_on(timedelta(hours=2))
    assert await find_paths(store, "moon") == []


async def test_pages_are_saved_while_searches_run(store: Store) -> None:
    outcome = await save_while_searching(store, pages=300, searches_per_second=50)
    assert outcome.problems == []
    assert outcome.searches > 0


async def test_the_pages_of_a_site_are_listed_the_newest_first(filled: Store) -> None:
    await save_page(filled, "other", TIDES, title="Elsewhere", site="https://other.example")
    listed = await filled.index.list_site("example.com", "me", limit=10)
    assert [(page.url, page.title) for page in listed] == [
        ("https://example.com/tides", "Tides"),
        ("https://example.com/glass", "Glass blowing"),
        ("https://example.com/fires", "Grass fires"),
    ]
    assert len(await filled.index.list_site("example.com", "me", limit=2)) == 2
    assert await filled.index.list_site("ample.com", "me", limit=10) == []

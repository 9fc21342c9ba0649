"""Filters in every mode: domains, ages and required text."""

from datetime import timedelta

import pytest

from cinder.errors import CacheFailed
from cinder.models.search import SearchAnswer, SearchFilters, SearchMode
from tests.services.search.doubles import NOW, ListProvider, World, asking, hit

SHALLOW = (SearchMode.FAST, SearchMode.BALANCED)
EVERY_MODE = pytest.mark.parametrize("mode", list(SearchMode))


def domains(answer: SearchAnswer) -> list[str]:
    return sorted(result.domain for result in answer.results)


@EVERY_MODE
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (SearchFilters(include_domains=("a.example",)), ["a.example", "docs.a.example"]),
        (SearchFilters(include_domains=("docs.a.example",)), ["docs.a.example"]),
        (SearchFilters(exclude_domains=("a.example",)), ["banana.example", "c.test"]),
        (
            SearchFilters(include_domains=("example",), exclude_domains=("docs.a.example",)),
            ["a.example", "banana.example"],
        ),
    ],
)
async def test_domains_count_with_their_subdomains(
    mode: SearchMode, filters: SearchFilters, expected: list[str]
) -> None:
    sites = ("www.a.example", "docs.a.example", "banana.example", "c.test")
    provider = ListProvider("web", [hit(1, site) for site in sites])
    answer = await World(providers=[provider]).open().search(asking(mode=mode, filters=filters))
    assert domains(answer) == expected
    assert provider.asked[0].filters == filters


@EVERY_MODE
async def test_filtered_results_do_not_cost_a_page_its_others(mode: SearchMode) -> None:
    found = [hit(number, "a.example" if number % 5 else "b.example") for number in range(1, 51)]
    filters = SearchFilters(include_domains=("b.example",))
    search = World(providers=[ListProvider("web", found)]).open()
    first = await search.search(asking(mode=mode, num_results=6, filters=filters))
    second = await search.search(asking(mode=mode, num_results=6, filters=filters, offset=6))
    assert (len(first.results), first.has_more) == (6, True)
    assert (len(second.results), second.has_more) == (4, False)


@pytest.mark.parametrize("mode", SHALLOW)
async def test_undated_results_are_left_out_by_age_and_that_is_told(mode: SearchMode) -> None:
    found = [
        hit(1, published_at=NOW - timedelta(days=2)),
        hit(2, published_at=NOW - timedelta(days=20)),
        hit(3, first_seen_at=NOW - timedelta(days=3)),
        hit(4),
    ]
    search = World(providers=[ListProvider("web", found)]).open()
    answer = await search.search(asking(mode=mode, filters=SearchFilters(max_age_days=7)))
    assert [result.url[-1] for result in answer.results] == ["1", "3"]
    assert answer.results[0].published_at == NOW - timedelta(days=2)
    assert "One result was left out by maxAge" in " ".join(answer.warnings)


async def test_deep_reads_the_date_from_the_page() -> None:
    world = World(providers=[ListProvider("web", [hit(1), hit(2), hit(3)])])
    world.scraper.pages = {f"https://a.example/{n}": "Of coals." for n in (1, 2, 3)}
    world.scraper.published = {
        "https://a.example/1": "2026-11-15",
        "https://a.example/2": "2020-01-01T00:00:00+00:00",
    }
    filters = SearchFilters(max_age_days=7)
    answer = await world.open().search(asking(mode=SearchMode.DEEP, filters=filters))
    assert [result.url for result in answer.results] == ["https://a.example/1"]
    assert "One result was left out by maxAge" in " ".join(answer.warnings)


@pytest.mark.parametrize("mode", SHALLOW)
async def test_required_text_is_looked_for_in_title_summary_and_saved_text(
    mode: SearchMode,
) -> None:
    found = [
        hit(1, title="Banked  COALS", summary="They glow overnight."),
        hit(2, summary="They glow"),
        hit(3),
    ]
    world = World(providers=[ListProvider("web", found)])
    world.texts.texts = {"https://a.example/3": "**Banked** [coals](https://b.example/) glow."}
    filters = SearchFilters(required_text=("banked coals", "glow"))
    answer = await world.open().search(asking(mode=mode, filters=filters))
    assert sorted(result.url[-1] for result in answer.results) == ["1", "3"]
    warning = " ".join(answer.warnings)
    assert "titles, summaries and saved pages" in warning
    assert "One result was left out whose whole text was not checked" in warning


async def test_a_database_that_fails_leaves_out_what_cannot_be_checked() -> None:
    world = World(providers=[ListProvider("web", [hit(1)])])
    world.texts.error = CacheFailed()
    filters = SearchFilters(required_text=("banked",))
    answer = await world.open().search(asking(filters=filters))
    assert answer.results == ()
    assert "not checked" in " ".join(answer.warnings)


async def test_deep_looks_for_required_text_in_the_page_itself() -> None:
    found = [hit(1, summary="Banked coals."), hit(2), hit(3, summary="Banked coals.")]
    world = World(providers=[ListProvider("web", found)])
    world.scraper.pages = {
        "https://a.example/1": "Coals that nobody covered.",
        "https://a.example/2": "Coals are *banked* coals with ash on them.",
    }
    filters = SearchFilters(required_text=("banked coals",))
    answer = await world.open().search(asking(mode=SearchMode.DEEP, filters=filters))
    # The third cannot be read, and what is said of it suffices.
    assert sorted(result.url[-1] for result in answer.results) == ["2", "3"]
    assert "the pages themselves" in " ".join(answer.warnings)

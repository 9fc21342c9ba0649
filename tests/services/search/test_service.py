"""Searches, and the pages of their first results."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.errors import InvalidRequest, Overloaded, SearchFailed
from cinder.models.request import Mode, RenderOptions
from cinder.models.search import SearchAnswer, SearchFilters, SearchHit, SearchMode, SearchRequest
from cinder.search.base import ProviderFailed, ProviderQuery
from cinder.services.search.providers import LocalProvider
from cinder.services.search.query import MAX_QUERY_CHARS, clean_text
from cinder.services.search.ranked_list import HELD_SECONDS
from cinder.services.search.service import MAX_PAGES, ModeTimes, SearchAndScrape, SearchService
from tests.services.search.doubles import AllRights, ListProvider, World, asking, hit, hits

FAST, BALANCED, DEEP = SearchMode.FAST, SearchMode.BALANCED, SearchMode.DEEP


def urls(answer: SearchAnswer) -> list[str]:
    return [result.url for result in answer.results]


def error_of(answer: SearchAnswer, name: str) -> str | None:
    return next(report.error for report in answer.providers if report.name == name)


async def read_all(search: SearchService, request: SearchRequest) -> list[str]:
    """Follow nextOffset to the end."""
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        answer = await search.search(replace(request, offset=offset))
        found += urls(answer)
        assert answer.has_more == (answer.next_offset is not None)
        offset = answer.next_offset
    return found


async def test_fast_asks_the_first_provider_alone() -> None:
    first, second = ListProvider("first", hits(3)), ListProvider("second", hits(3, "b.example"))
    answer = await World(providers=[first, second]).open().search(asking(mode=FAST))
    assert urls(answer) == [f"https://a.example/{number}" for number in (1, 2, 3)]
    assert [report.name for report in answer.providers] == ["first"]
    assert not second.asked


async def test_fast_falls_to_the_next_provider_and_remembers_who_failed() -> None:
    world = World(
        providers=[
            first := ListProvider("first", error=ProviderFailed("first is down")),
            ListProvider("second", hits(3, "b.example")),
        ]
    )
    search = world.open()
    answer = await search.search(asking(mode=FAST))
    assert urls(answer)[0] == "https://b.example/1"
    assert error_of(answer, "first") == "first is down"
    again = await search.search(asking("other coals", mode=FAST))
    assert [report.name for report in again.providers] == ["second"]
    assert len(first.asked) == 1
    world.clock.seconds += 61
    await search.search(asking("more coals", mode=FAST))
    assert len(first.asked) == 2


async def test_fast_does_not_wait_for_a_provider_that_hangs() -> None:
    hanging = ListProvider("hanging", gate=asyncio.Event())
    # Those who come after the second only claim their time, so that much of it is left to it.
    others = [ListProvider(name) for name in ("third", "fourth", "fifth")]
    search = World(providers=[hanging, ListProvider("second", hits(2)), *others]).open()
    answer = await search.search(asking(mode=FAST))
    assert len(answer.results) == 2
    assert "No answer within" in (error_of(answer, "hanging") or "")
    assert answer.search_ms < 1_500


async def test_fast_goes_on_with_the_next_provider_where_one_finds_nothing() -> None:
    world = World(providers=[ListProvider("empty"), ListProvider("second", hits(2))])
    assert len((await world.open().search(asking(mode=FAST))).results) == 2


async def test_balanced_fuses_what_all_providers_found() -> None:
    shared = hit(7, "shared.example")
    world = World(
        providers=[
            ListProvider("first", [hit(1), shared]),
            ListProvider("second", [hit(1, "b.example"), shared]),
        ]
    )
    answer = await world.open().search(asking())
    assert urls(answer)[0] == shared.url
    assert answer.results[0].providers == ("first", "second")
    assert len(answer.results) == 3
    relevances = [result.relevance for result in answer.results]
    assert all(1 >= a >= b > 0 for a, b in pairwise(relevances))


async def test_balanced_reports_a_slow_provider_and_answers_with_the_others() -> None:
    slow = ListProvider("slow", hits(3, "slow.example"), gate=asyncio.Event())
    search = World(providers=[slow, ListProvider("quick", hits(3))]).open()
    answer = await search.search(asking(num_results=2))
    assert urls(answer) == ["https://a.example/1", "https://a.example/2"]
    assert "No answer within" in (error_of(answer, "slow") or "")
    assert error_of(answer, "quick") is None


async def test_a_provider_that_wants_a_pause_is_not_asked_meanwhile() -> None:
    failure = ProviderFailed("429: too many requests")
    failure.retry_after_seconds = 120
    limited = ListProvider("limited", error=failure)
    world = World(providers=[limited, ListProvider("second", hits(2))])
    search = world.open()
    await search.search(asking())
    answer = await search.search(asking("other coals"))
    assert len(limited.asked) == 1
    assert "for 120 s" in (error_of(answer, "limited") or "")
    world.clock.seconds += 121
    limited.error = None
    answer = await search.search(asking("more coals"))
    assert error_of(answer, "limited") is None


async def test_a_provider_that_breaks_unexpectedly_costs_only_its_own_answer() -> None:
    broken = ListProvider("broken", error=KeyError("results"))
    search = World(providers=[broken, ListProvider("second", hits(2))]).open()
    answer = await search.search(asking())
    assert len(answer.results) == 2
    assert "unexpectedly" in (error_of(answer, "broken") or "")


@pytest.mark.parametrize("mode", list(SearchMode))
async def test_where_all_fail_the_error_names_each(mode: SearchMode) -> None:
    world = World(
        providers=[
            ListProvider("first", error=ProviderFailed("first is down")),
            ListProvider("second", error=ProviderFailed("second has no key")),
        ]
    )
    with pytest.raises(SearchFailed) as failure:
        await world.open().search(asking(mode=mode, providers=("first", "second")))
    assert "first: first is down" in failure.value.message
    assert "second: second has no key" in failure.value.message


async def test_a_failed_search_is_tried_anew() -> None:
    provider = ListProvider("first", hits(2), error=ProviderFailed("down"))
    search = World(providers=[provider]).open()
    request = asking(providers=("first",))
    with pytest.raises(SearchFailed):
        await search.search(request)
    provider.error = None
    assert len((await search.search(request)).results) == 2


async def test_without_a_web_provider_saved_pages_are_searched_and_that_is_told() -> None:
    world = World()
    world.index.add("https://saved.example/", "Coals", "About coals.")
    search = world.open()
    answer = await search.search(asking())
    assert urls(answer) == ["https://saved.example/"]
    assert "search.providers" in answer.warnings[0]
    assert (await search.search(asking(providers=("local",)))).warnings == ()


async def test_where_only_memory_answers_that_is_told() -> None:
    world = World(providers=[ListProvider("web", error=ProviderFailed("down"))])
    answer = await world.open().search(asking())
    assert answer.results == ()
    assert answer.warnings[0].startswith("No web search provider answered")


async def test_an_unknown_provider_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="Known are: web, local"):
        await World(providers=[ListProvider("web")]).open().search(asking(providers=("bing",)))


@pytest.mark.parametrize("mode", list(SearchMode))
@pytest.mark.parametrize(("page", "count"), [(10, 10), (7, 3), (20, 25), (3, 100)])
async def test_pages_neither_repeat_nor_skip(mode: SearchMode, page: int, count: int) -> None:
    providers = [ListProvider("first", hits(23), page), ListProvider("second", hits(31), page)]
    search = World(providers=providers).open()
    found = await read_all(search, asking(mode=mode, num_results=count))
    expected = 23 if mode is FAST else 31
    assert len(found) == len(set(found)) == expected


@pytest.mark.parametrize("mode", list(SearchMode))
async def test_pages_stay_true_while_a_provider_changes_its_mind(mode: SearchMode) -> None:
    provider = Shuffling(hits(40))
    search = World(providers=[provider]).open()
    request = asking(mode=mode, num_results=7)
    found = await read_all(search, request)
    assert len(found) == len(set(found))
    again = [
        url for o in (0, 7, 14) for url in urls(await search.search(replace(request, offset=o)))
    ]
    assert again == found[:21]


class Shuffling:
    """Gives its list in another order each time."""

    name = "shuffling"

    def __init__(self, found: list[SearchHit]) -> None:
        self._found = found
        self._random = random.Random(7)

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        self._random.shuffle(self._found)
        return self._found[query.page * 10 : query.page * 10 + 10]


async def test_more_is_promised_only_where_there_is_more() -> None:
    search = World(providers=[ListProvider("web", hits(10), page_size=5)]).open()
    answer = await search.search(asking(num_results=10))
    assert (len(answer.results), answer.has_more, answer.next_offset) == (10, False, None)
    answer = await search.search(asking(num_results=9))
    assert (len(answer.results), answer.has_more, answer.next_offset) == (9, True, 9)


async def test_many_results_are_asked_for_several_pages_at_once() -> None:
    provider = ListProvider("web", hits(100), page_size=5)
    answer = await World(providers=[provider]).open().search(asking(num_results=60))
    assert urls(answer) == [f"https://a.example/{number}" for number in range(1, 61)]
    assert [query.page for query in provider.asked] == list(range(13))


async def test_a_page_that_fails_among_several_leaves_no_gap() -> None:
    provider = Stumbling(hits(60), fails_at=3)
    search = World(providers=[provider]).open()
    first = await search.search(asking(num_results=40))
    assert urls(first) == [f"https://a.example/{number}" for number in range(1, 16)]
    provider.fails_at = -1
    second = await search.search(asking(num_results=40, offset=15))
    assert urls(second) == [f"https://a.example/{number}" for number in range(16, 56)]


class Stumbling:
    """Has pages of five, and fails at one of them."""

    name = "stumbling"

    def __init__(self, found: list[SearchHit], fails_at: int) -> None:
        self._found = found
        self.fails_at = fails_at

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        if query.page == self.fails_at:
            raise ProviderFailed("A stumble")
        return self._found[query.page * 5 : query.page * 5 + 5]


async def test_a_balanced_search_waits_less_for_who_failed_lately() -> None:
    slow = ListProvider("slow", gate=asyncio.Event())
    times = dict.fromkeys(SearchMode, ModeTimes(3.5, 3.5, 3.5))
    search = World(providers=[slow, ListProvider("web", hits(30))], times=times).open()
    first = await search.search(asking())
    second = await search.search(asking("other coals"))
    assert second.search_ms < first.search_ms - 500


async def test_a_fast_search_of_memory_first_says_nothing_of_engines_it_did_not_ask() -> None:
    world = World()
    world.index.add("https://saved.example/", "Coals", "About coals.")
    world.providers = [LocalProvider(world.index, AllRights()), ListProvider("web", hits(3))]
    answer = await world.open().search(asking(mode=FAST))
    assert urls(answer) == ["https://saved.example/"]
    assert answer.warnings == ()


async def test_beyond_the_end_there_is_nothing_and_no_more() -> None:
    search = World(providers=[ListProvider("web", hits(4))]).open()
    answer = await search.search(asking(offset=50))
    assert (answer.results, answer.has_more) == ((), False)
    assert "it was repeated" in " ".join(answer.warnings)


async def test_a_provider_that_knows_no_pages_is_asked_once_more_and_no_further() -> None:
    provider = ListProvider("web", hits(5), knows_pages=False)
    answer = await World(providers=[provider]).open().search(asking(num_results=20))
    assert len(answer.results) == 5
    assert len(provider.asked) == 2


async def test_a_page_that_failed_is_tried_again_and_nothing_is_lost() -> None:
    provider = ListProvider("web", hits(30))
    search = World(providers=[provider]).open()
    first = await search.search(asking(num_results=9))
    provider.error = ProviderFailed("a moment of weakness")
    second = await search.search(asking(num_results=9, offset=9))
    assert urls(second) == ["https://a.example/10"]
    assert not second.has_more
    assert "Ask again" in " ".join(second.warnings)
    provider.error = None
    third = await search.search(asking(num_results=9, offset=9))
    assert urls(first) + urls(third) == [f"https://a.example/{n}" for n in range(1, 19)]


async def test_a_request_that_is_given_up_costs_the_next_one_nothing() -> None:
    gate = asyncio.Event()
    slow = ListProvider("slow", hits(3, "b.example"), gate=gate)
    search = World(providers=[ListProvider("web", hits(3)), slow]).open()
    async with asyncio.TaskGroup() as tasks:
        given_up = tasks.create_task(search.search(asking()))
        await slow.was_asked.wait()
        given_up.cancel()
    gate.set()
    assert len((await search.search(asking())).results) == 6


async def test_the_same_search_at_once_is_made_once() -> None:
    provider = ListProvider("web", hits(30))
    search = World(providers=[provider]).open()
    answers = await asyncio.gather(*(search.search(asking()) for _ in range(5)))
    assert len({tuple(urls(answer)) for answer in answers}) == 1
    assert [query.page for query in provider.asked] == [0, 1]


async def test_a_list_is_held_for_an_hour_and_then_made_anew() -> None:
    world = World(providers=[provider := ListProvider("web", hits(30))])
    search = world.open()
    await search.search(asking())
    world.clock.seconds += HELD_SECONDS - 1
    asked = len(provider.asked)
    await search.search(asking())
    assert len(provider.asked) == asked
    world.clock.seconds += 2
    await search.search(asking())
    assert len(provider.asked) > asked


async def test_a_search_from_the_start_finds_what_was_saved_since() -> None:
    world = World(providers=[ListProvider("web", hits(30))])
    search = world.open()
    before = await search.search(asking(num_results=29))
    world.index.add("https://new.example/", "Coals", "All of coals.")
    world.clock.seconds += 11
    after = await search.search(asking(num_results=29))
    assert "https://new.example/" not in urls(before)
    assert "https://new.example/" in urls(after)
    following = await search.search(asking(num_results=29, offset=29))
    assert len(set(urls(after) + urls(following))) == 31


async def test_memory_is_bounded() -> None:
    world = World(providers=[provider := ListProvider("web", hits(30))], max_results=50)
    search = world.open()
    for query in ("coals", "more coals", "many coals", "all coals"):
        await search.search(asking(query, num_results=10))
    asked = len(provider.asked)
    await search.search(asking("all coals", num_results=10))
    assert len(provider.asked) == asked
    await search.search(asking("coals", num_results=10))
    assert len(provider.asked) > asked


async def test_callers_and_filters_have_lists_of_their_own() -> None:
    world = World(providers=[provider := ListProvider("web", hits(30))])
    search = world.open()
    requests = [
        asking(),
        replace(asking(), caller="somebody"),
        asking(filters=SearchFilters(exclude_domains=("b.example",))),
        asking(mode=FAST),
    ]
    for request in requests:
        before = len(provider.asked)
        await search.search(request)
        assert len(provider.asked) > before


async def test_too_many_searches_at_once_are_turned_away_not_kept_waiting() -> None:
    gate = asyncio.Event()
    world = World(providers=[ListProvider("web", hits(30), gate=gate)])
    search = world.open()
    answers = await asyncio.gather(
        *(search.search(asking(f"coals {n}")) for n in range(60)), return_exceptions=True
    )
    assert any(isinstance(answer, Overloaded) for answer in answers)
    assert all(isinstance(answer, Overloaded | SearchAnswer) for answer in answers)


@pytest.mark.parametrize("query", ["", "  \n", "\x00\x07", "\ud800", "x" * (MAX_QUERY_CHARS + 1)])
async def test_a_query_must_have_words_and_an_end(query: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await World().open().search(asking(query))
    assert refusal.value.problems[0].field == "query"


@given(data=st.data())
async def test_whatever_providers_do_no_result_is_given_twice_or_lost(data: st.DataObject) -> None:
    mode = data.draw(st.sampled_from([FAST, BALANCED]))
    count = data.draw(st.integers(1, 12))
    lists = data.draw(st.lists(st.integers(0, 40), min_size=1, max_size=3))
    providers = [
        ListProvider(f"web{place}", hits(size)[place:], data.draw(st.integers(3, 15)))
        for place, size in enumerate(lists)
    ]
    search = World(providers=providers).open()
    found = await read_all(search, asking(mode=mode, num_results=count))
    whole = [{each.url for each in provider.found} for provider in providers]
    first = next((each for each in whole if each), set())
    assert len(found) == len(set(found))
    assert set(found) == (first if mode is FAST else set().union(*whole))


@given(query=st.text(min_size=1, max_size=60), mode=st.sampled_from(SearchMode))
async def test_any_text_is_a_query_or_refused(query: str, mode: SearchMode) -> None:
    world = World(providers=[ListProvider("web", [hit(1), hit(2, "b.example")])])
    world.index.add("https://saved.example/", query, query)
    world.scraper.pages = {"https://a.example/1": query}
    if not clean_text(query):
        with pytest.raises(InvalidRequest):
            await world.open().search(asking(query, mode=mode))
        return
    answer = await world.open().search(asking(query, mode=mode))
    assert {"https://a.example/1", "https://b.example/2"} <= set(urls(answer))


async def test_searches_and_providers_are_counted_and_timed() -> None:
    world = World(providers=[ListProvider("web", error=ProviderFailed("down"))])
    await world.open().search(asking(mode=FAST))
    told = world.metrics.render().decode()
    assert 'cinder_search_seconds_count{mode="fast",outcome="ok"} 1.0' in told
    assert 'cinder_search_provider_seconds_count{outcome="failed",provider="web"} 1.0' in told


URLS = [f"https://a.example/{number}" for number in (1, 2, 3)]


def opened(world: World) -> SearchAndScrape:
    return SearchAndScrape(world.open(), world.scraper)


async def test_each_result_has_its_page_in_the_order_of_the_search() -> None:
    world = World(providers=[ListProvider("web", hits(5))])
    world.scraper.pages = {url: f"Page {url}" for url in URLS}
    found = await opened(world).run(asking(num_results=3), RenderOptions(mode=Mode.STATIC))
    assert [page.result.url for page in found.pages] == URLS
    outcomes = [page.outcome for page in found.pages if page.outcome]
    assert [each.document.content.markdown for each in outcomes] == [f"Page {url}" for url in URLS]
    assert found.answer.has_more
    assert {request.render.mode for request in world.scraper.requests} == {Mode.STATIC}


async def test_a_page_that_fails_says_why_and_costs_the_others_nothing() -> None:
    world = World(providers=[ListProvider("web", hits(3))])
    world.scraper.pages = dict.fromkeys(URLS[:2], "Coals.")
    found = await opened(world).run(asking(num_results=3), RenderOptions(mode=Mode.SMART))
    assert [page.error is None for page in found.pages] == [True, True, False]
    assert "nobody answers" in ((found.pages[2].error and found.pages[2].error.message) or "")


async def test_a_page_that_takes_too_long_is_left_behind() -> None:
    world = World(providers=[ListProvider("web", hits(2))])
    world.scraper.pages = dict.fromkeys(URLS, "Coals.")
    world.scraper.gates = {URLS[0]: asyncio.Event()}
    found = await opened(world).run(
        asking(num_results=2), RenderOptions(mode=Mode.SMART), seconds=1
    )
    assert found.pages[0].error is not None
    assert found.pages[0].error.code == "SCRAPE_TIMEOUT"
    assert found.pages[1].outcome is not None


async def test_no_more_pages_are_scraped_than_may_be() -> None:
    world = World(providers=[ListProvider("web", hits(60), page_size=30)])
    found = await opened(world).run(asking(num_results=50), RenderOptions(mode=Mode.SMART))
    assert len(found.pages) == MAX_PAGES

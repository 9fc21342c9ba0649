"""Deep searches: expanded queries, further pages, and ranking by the text of pages."""

import asyncio

from cinder.models.document import VerdictKind
from cinder.models.search import SearchMode
from cinder.search.base import ProviderFailed
from tests.services.search.doubles import ListProvider, World, asking, hit, hits

QUERY = "how to bank coals overnight"


async def test_every_provider_is_asked_in_other_words_and_for_the_next_page() -> None:
    providers = [ListProvider("first", hits(25)), ListProvider("second", hits(25, "b.example"))]
    await World(providers=providers).open().search(asking(QUERY, mode=SearchMode.DEEP))
    for provider in providers:
        asked = [(query.text, query.page) for query in provider.asked]
        assert (QUERY, 0) in asked
        assert (QUERY, 1) in asked
        assert '"bank coals overnight"' in [text for text, _ in asked]


async def test_real_text_decides_the_order_and_gives_the_summary() -> None:
    world = World(providers=[ListProvider("web", [hit(1), hit(2)])])
    world.scraper.pages = {
        "https://a.example/1": "# Shop\n\nBuy our wonderful pots and pans.",
        "https://a.example/2": (
            "# Fire\n\nSome words on wood first.\n\n"
            "To bank coals overnight, rake them together and cover them with ash.\n\nThe end."
        ),
    }
    answer = await world.open().search(asking(QUERY, mode=SearchMode.DEEP))
    assert [result.url[-1] for result in answer.results] == ["2", "1"]
    assert answer.results[0].summary.startswith("To bank coals overnight, rake")
    assert answer.results[1].summary == "Of coals, part 1."


async def test_a_page_that_cannot_be_read_is_judged_by_what_is_said_of_it() -> None:
    never = asyncio.Event()
    world = World(providers=[ListProvider("web", hits(3))])
    world.scraper.pages = dict.fromkeys([f"https://a.example/{n}" for n in (1, 2, 3)], "Coals.")
    world.scraper.gates = {"https://a.example/1": never}
    world.scraper.verdicts = {"https://a.example/2": VerdictKind.LOGIN_WALL}
    answer = await world.open().search(asking("coals", mode=SearchMode.DEEP))
    assert len(answer.results) == 3
    assert answer.results[0].url == "https://a.example/3"
    assert answer.results[-1].summary in {"Of coals, part 1.", "Of coals, part 2."}


async def test_what_redirects_to_another_result_is_not_given_twice() -> None:
    world = World(providers=[ListProvider("web", hits(2))])
    world.scraper.pages = dict.fromkeys([f"https://a.example/{n}" for n in (1, 2)], "Coals.")
    world.scraper.final_urls = {"https://a.example/2": "https://a.example/1"}
    answer = await world.open().search(asking("coals", mode=SearchMode.DEEP))
    assert len(answer.results) == 1


async def test_deep_answers_as_long_as_one_provider_does() -> None:
    providers = [
        ListProvider("first", error=ProviderFailed("down")),
        ListProvider("second", error=ProviderFailed("down")),
        ListProvider("third", hits(3)),
    ]
    answer = await World(providers=providers).open().search(asking(mode=SearchMode.DEEP))
    assert len(answer.results) == 3
    assert [report.error for report in answer.providers] == ["down", "down", None, None]
    # Who failed is not asked in other words.
    assert len(providers[0].asked) == 1


async def test_pages_that_were_read_are_asked_for_as_the_caller() -> None:
    world = World(providers=[ListProvider("web", hits(1))])
    world.scraper.pages = {"https://a.example/1": "Coals."}
    await world.open().search(asking(mode=SearchMode.DEEP))
    assert [(r.url, r.caller) for r in world.scraper.requests] == [("https://a.example/1", "owner")]


async def test_saved_pages_alone_are_read_from_what_is_saved() -> None:
    world = World(providers=[ListProvider("web", hits(3))])
    world.index.add("https://saved.example/1", "Coals", "Coals.")
    world.index.add("https://saved.example/2", "Coals", "Coals.")
    world.texts.texts = {"https://saved.example/2": "Pots.\n\nBank coals overnight in ash."}
    request = asking(QUERY, mode=SearchMode.DEEP, providers=("local",))
    answer = await world.open().search(request)
    assert [result.url[-1] for result in answer.results] == ["2", "1"]
    assert answer.results[0].summary == "Bank coals overnight in ash."
    assert world.scraper.requests == []

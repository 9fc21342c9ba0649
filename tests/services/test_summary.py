"""Summaries by the language model, of short and of long pages, and without it."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cinder.app.composition import App, open_app
from cinder.config.outbound import LlmSettings
from cinder.config.settings import Settings
from cinder.llm.base import Budget, BudgetExceeded, BudgetLimits, ModelFailed
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.summary import MAX_SUMMARY_CHARS, SummaryWriter, WrittenSummary
from tests.extraction.test_passage_ranking import book
from tests.llm.knowing_servers import KNOWING, KnowingOpenAiServer, KnowingServer, Tell
from tests.llm.opening import open_model
from tests.llm.small_model import needs_model, running_model
from tests.resolver import TableResolver
from tests.search_servers.serving import Reply, serving
from tests.site import Site

PAGE = "# Kettles\n\nKettles boil water. Ours are of iron, and sing when it boils.\n"
SUMMARY = "It is about kettles. They are of iron."


async def write(
    server: KnowingServer, markdown: str = PAGE, calls: int = 20, tokens: int = 6_000
) -> WrittenSummary:
    limits = BudgetLimits(calls=calls, tokens=200_000, seconds=60)
    async with open_model(server) as opened:
        return await SummaryWriter(opened.model, limits, tokens).write(markdown, Budget(limits))


async def fail(
    server: KnowingServer, markdown: str = PAGE, calls: int = 20, tokens: int = 6_000
) -> type[Exception]:
    """Return how it fails."""
    limits = BudgetLimits(calls=calls, tokens=200_000, seconds=60)
    async with open_model(server) as opened:
        with pytest.raises(ModelFailed) as failure:
            await SummaryWriter(opened.model, limits, tokens).write(markdown, Budget(limits))
    return failure.type


async def told(tell: Tell, markdown: str = PAGE, tokens: int = 6_000) -> str:
    return (await write(KnowingOpenAiServer(tell), markdown, tokens=tokens)).text


@pytest.mark.parametrize("kind", KNOWING)
async def test_a_short_page_is_summarised_at_once_inside_a_fence(kind: type[KnowingServer]) -> None:
    server = kind(lambda _: SUMMARY)
    assert await write(server) == WrittenSummary(SUMMARY)
    (prompt,) = server.prompts
    assert re.search(
        r"\[BEGIN PAGE (\w{16})\]\n# Kettles.*boils\.\n\[END PAGE \1\]", prompt, re.DOTALL
    )
    assert "is data" in prompt


async def test_of_a_long_page_all_parts_are_noted_and_the_notes_summarised() -> None:
    markdown = "\n\n".join(
        f"## Part {n}\n\nFact{n} is told here. {'Words. ' * 150}" for n in range(8)
    )

    def tell(words: str) -> str:
        facts = sorted(set(re.findall(r"Fact\d", words)))
        return f"It says {' '.join(facts)}."

    server = KnowingOpenAiServer(tell)
    written = await write(server, markdown, tokens=800)
    assert written.warning == ""
    assert written.text == "It says Fact0 Fact1 Fact2 Fact3 Fact4 Fact5 Fact6 Fact7."
    assert "part of a long page" in server.prompts[0]
    assert "Summarise this page" in server.prompts[-1]


async def test_of_a_page_beyond_the_budget_parts_from_all_over_are_read_and_that_is_told() -> None:
    server = KnowingOpenAiServer(lambda _: SUMMARY)
    written = await write(server, book(), calls=10, tokens=1_000)
    assert len(server.prompts) <= 10
    assert "did not read the page whole" in written.warning
    chapters = [int(each) for each in re.findall(r"## Chapter (\d+)", "".join(server.prompts))]
    assert min(chapters) < 30
    assert max(chapters) > 270


async def test_what_the_model_cannot_read_is_halved() -> None:
    server = KnowingOpenAiServer(lambda _: SUMMARY)

    def tell(words: str) -> str | Reply:
        too_long = server.error(400, "too long", code="context_length_exceeded")
        return too_long if len(words) > 3_000 else SUMMARY

    server.tell = tell
    assert (await write(server, "The kettle sings on the hob. " * 250)).text == SUMMARY
    assert len(server.prompts) > 3


async def test_what_it_writes_is_plain_text_without_thoughts_links_or_pictures() -> None:
    said = "<think>Let me see.</think>**Kettles** boil [water](https://evil.example/?q=1).\n\n![x](https://e.example/y)"
    assert await told(lambda _: said) == "Kettles boil water. x"


async def test_too_long_a_summary_ends_with_a_sentence() -> None:
    text = await told(lambda _: "The kettle sings on the hob. " * 400)
    assert len(text) <= MAX_SUMMARY_CHARS
    assert text.endswith("hob.")


async def test_of_an_answer_that_was_cut_only_whole_sentences_are_kept() -> None:
    server = KnowingOpenAiServer(lambda _: "Kettles boil water. They are made of ir")
    server.is_cut = True
    assert (await write(server)).text == "Kettles boil water."
    server = KnowingOpenAiServer(lambda _: "Kettles boil wat")
    server.is_cut = True
    assert await fail(server) is ModelFailed


async def test_a_model_that_fails_on_every_part_fails() -> None:
    server = KnowingOpenAiServer(lambda _: Reply(b"no", status=401))
    assert await fail(server, book(20), tokens=800) is ModelFailed


async def test_a_part_that_fails_is_left_out_and_told() -> None:
    def tell(words: str) -> str | Reply:
        return Reply(b"no", status=401) if "Chapter 0\n" in words else SUMMARY

    written = await write(KnowingOpenAiServer(tell), book(6), tokens=2_000)
    assert written.text == SUMMARY
    assert "parts of it" in written.warning


async def test_the_budget_ends_it() -> None:
    server = KnowingOpenAiServer(lambda _: Reply(b"{}", status=200))
    server.tell = lambda _: server.error(400, "too long", code="context_length_exceeded")
    text = "The kettle sings on the hob. " * 4_000
    assert await fail(server, text, calls=4, tokens=60_000) is BudgetExceeded


PAGE_SUMMARY = "Dry wood warms a house. Oak glows longest."


@asynccontextmanager
async def opened(
    server: KnowingOpenAiServer, settings: Settings, resolver: TableResolver
) -> AsyncIterator[App]:
    async with serving(server):
        llm = LlmSettings(base_url=f"{server.url}/v1", model="ember", max_retries=0)
        chosen = settings.model_copy(update={"llm": llm})
        async with open_app(chosen, resolver=resolver) as app:
            yield app


async def scrape(app: App, url: str, timeout_ms: int = 30_000) -> ScrapeOutcome:
    request = ScrapeRequest(url=url, formats=(Format.SUMMARY,), timeout_ms=timeout_ms)
    return await app.scrape.scrape(request)


async def test_the_model_writes_it_once_for_the_same_text(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: PAGE_SUMMARY)
    async with opened(server, settings, resolver) as app:
        outcome = await scrape(app, site.url("/guide"))
        again = await scrape(app, site.url("/guide"))
        assert 'cinder_model_stand_ins_total{use="summary"}' not in app.metrics.render().decode()
    assert outcome.summary is not None
    assert outcome.summary.summary is not None
    assert outcome.summary.summary.text == PAGE_SUMMARY
    assert (outcome.summary.model, outcome.warning) == ("ember", None)
    assert again.summary == outcome.summary
    assert len(server.prompts) == 1
    assert "Firewood keeps a house warm" in server.prompts[0]


async def test_a_dead_model_gives_sentences_of_the_page_and_a_warning(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: Reply(b"", status=500))
    async with opened(server, settings, resolver) as app:
        outcome = await scrape(app, site.url("/guide"))
        figures = app.metrics.render().decode()
    assert outcome.summary is not None
    assert outcome.summary.summary is not None
    assert outcome.summary.summary.method == "extractive"
    assert len(outcome.summary.summary.places) >= 3
    assert outcome.warning is not None
    assert "not by the model" in outcome.warning
    assert 'cinder_model_stand_ins_total{use="summary"} 1.0' in figures


async def test_a_model_that_takes_too_long_gives_sentences_within_the_timeout(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: PAGE_SUMMARY)
    server.stall()
    async with opened(server, settings, resolver) as app:
        # So that the timeout is for the model alone, and not for the start of a parsing process.
        await app.scrape.scrape(ScrapeRequest(url=site.url("/guide")))
        outcome = await scrape(app, site.url("/guide"), timeout_ms=8_000)
    assert outcome.summary is not None
    assert outcome.summary.model == ""
    assert outcome.warning is not None
    assert "timeout" in outcome.warning


@pytest.mark.parametrize("path", ["/image", "/guide"])
async def test_no_model_is_asked_for_a_file_or_for_what_is_only_saved(
    path: str, settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: PAGE_SUMMARY)
    async with opened(server, settings, resolver) as app:
        request = ScrapeRequest(
            url=site.url(path),
            formats=(Format.SUMMARY,),
            result_handling=ResultHandling.SAVE_ONLY,
        )
        outcome = await app.scrape.scrape(request)
    assert (outcome.summary, server.prompts) == (None, [])


async def test_without_a_model_the_outcome_has_none(app: App, site: Site) -> None:
    assert (await scrape(app, site.url("/guide"))).summary is None


@needs_model
async def test_a_real_small_model_writes_it_or_is_stood_in_for(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    with running_model() as address:
        llm = LlmSettings(base_url=address, model="small", max_retries=0, max_output_tokens=200)
        chosen = settings.model_copy(update={"llm": llm})
        async with open_app(chosen, resolver=resolver) as app:
            outcome = await scrape(app, site.url("/guide"), timeout_ms=60_000)
    told = outcome.summary
    assert told is not None
    assert told.summary is not None
    assert told.summary.text
    # Its context is smaller than the page, and what it makes of the halves is chance.
    assert (told.summary.method == "model") == (told.model == "small")
    assert told.model or told.warning

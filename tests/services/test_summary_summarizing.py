"""Summaries by the model that the owner configured, and without it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cinder.app import App, open_app
from cinder.config import LlmSettings, Settings
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.llm.knowing_servers import KnowingOpenAiServer
from tests.llm.small_model import needs_model, running_model
from tests.resolver import TableResolver
from tests.search_servers.serving import Reply, serving
from tests.site import Site

SUMMARY = "Dry wood warms a house. Oak glows longest."


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
    server = KnowingOpenAiServer(lambda _: SUMMARY)
    async with opened(server, settings, resolver) as app:
        outcome = await scrape(app, site.url("/guide"))
        again = await scrape(app, site.url("/guide"))
        assert 'cinder_model_stand_ins_total{use="summary"}' not in app.metrics.render().decode()
    assert outcome.summary is not None
    assert outcome.summary.summary is not None
    assert outcome.summary.summary.text == SUMMARY
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
    server = KnowingOpenAiServer(lambda _: SUMMARY)
    server.stall()
    async with opened(server, settings, resolver) as app:
        outcome = await scrape(app, site.url("/guide"), timeout_ms=3_000)
    assert outcome.summary is not None
    assert outcome.summary.model == ""
    assert outcome.warning is not None
    assert "timeout" in outcome.warning


@pytest.mark.parametrize("path", ["/image", "/guide"])
async def test_no_model_is_asked_for_a_file_or_for_what_is_only_saved(
    path: str, settings: Settings, resolver: TableResolver, site: Site
) -> None:
    server = KnowingOpenAiServer(lambda _: SUMMARY)
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

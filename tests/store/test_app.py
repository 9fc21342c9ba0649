"""The whole of cinder on either database."""

from dataclasses import replace

import asyncpg
import pytest

from cinder.app.composition import open_app
from cinder.config.settings import Settings
from cinder.models.document import VerdictKind
from cinder.models.request import OWNER, CachePolicy, Mode, RenderOptions, ScrapeRequest
from tests.resolver import TableResolver
from tests.site import Site
from tests.store.postgres import PostgresServer


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> str:
    return postgres.create_database()


def on(settings: Settings, url: str) -> Settings:
    store = settings.store.model_copy(update={"url": url})
    return settings.model_copy(update={"store": store})


async def test_a_page_is_kept_and_found_again_after_a_restart(
    settings: Settings, resolver: TableResolver, site: Site, store_url: str
) -> None:
    request = ScrapeRequest(url=site.url("/article"))
    async with open_app(on(settings, store_url), resolver=resolver) as app:
        first = await app.scrape.scrape(request)
    async with open_app(on(settings, store_url), resolver=resolver) as app:
        second = await app.scrape.scrape(request)
        assert second.saved is not None
        kept = await app.archive.read(second.saved.primary_uri, OWNER)
    assert second.cached
    assert second.saved == first.saved
    assert kept is not None
    assert kept.text == first.document.content.markdown
    assert site.hits("/article") == 1


async def test_what_is_no_longer_good_is_answered_but_does_not_replace_what_was(
    settings: Settings, resolver: TableResolver, site: Site, store_url: str
) -> None:
    request = ScrapeRequest(url=site.url("/souring"), render=RenderOptions(mode=Mode.STATIC))
    async with open_app(on(settings, store_url), resolver=resolver) as app:
        good = await app.scrape.scrape(request)
        for cache in (CachePolicy(force_rescrape=True), CachePolicy(max_age_ms=0)):
            soured = await app.scrape.scrape(replace(request, cache=cache))
            assert soured.document.verdict.kind is VerdictKind.LOGIN_WALL
            assert soured.saved is None
            assert soured.warning is not None
            assert "a good copy of the page is kept" in soured.warning
        kept = await app.scrape.scrape(request)
    assert (kept.cached, kept.saved) == (True, good.saved)
    assert kept.document.verdict.kind is VerdictKind.OK


async def test_an_operator_reads_the_cache_with_sql(
    settings: Settings,
    resolver: TableResolver,
    site: Site,
    postgres_url: str,
) -> None:
    async with open_app(on(settings, postgres_url), resolver=resolver) as app:
        outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/article")))
    connection = await asyncpg.connect(postgres_url)
    try:
        row = await connection.fetchrow("SELECT * FROM webhook.scrape_cache")
    finally:
        await connection.close()
    assert row is not None
    assert row["url"] == site.url("/article")
    assert row["cleaned_content"] == outcome.document.content.markdown
    assert row["raw_content"] == outcome.document.content.text
    assert (row["source"], row["content_type"]) == ("native", "text/html")
    assert row["content_length_cleaned"] == len(row["cleaned_content"])

"""The source pages of an extraction, and the errors of those that failed."""

import asyncio
from dataclasses import replace

import pytest

from cinder.app.composition import App
from cinder.models.caller import EVERYDAY_SCOPES
from cinder.models.document import VerdictKind
from cinder.models.extraction import ExtractRequest
from cinder.models.request import OWNER, Mode
from cinder.services.extraction.stages import PageScraper
from tests.site import Site
from tests.site.verdict_pages import read_pages


def asking_for(*urls: str) -> ExtractRequest:
    return ExtractRequest(urls=urls, caller=OWNER, prompt="name", mode=Mode.STATIC)


def asked_of(verdict: str) -> str:
    return next(
        page.asked
        for page in read_pages()
        if page.verdict == verdict and not page.is_kept_apart and page.status == 200
    )


async def test_a_page_is_read_as_it_is_saved(app: App, site: Site) -> None:
    url = site.url("/redirect?to=/article&code=302")
    (found,) = await PageScraper(app.scrape, at_once=2).read(asking_for(url), 30)
    assert found.page is not None
    assert (found.source.url, found.source.final_url) == (url, site.url("/article"))
    assert found.source.uri is not None
    saved = await app.archive.read(found.source.uri, OWNER)
    assert saved is not None
    assert saved.text == found.page.markdown
    raw = await app.archive.read(found.source.page_uri or "", OWNER)
    assert raw is not None
    assert raw.text == found.page.text


@pytest.mark.parametrize("verdict", ["login_wall", "consent_only", "soft_404"])
async def test_a_page_that_is_another_one_is_not_read(app: App, site: Site, verdict: str) -> None:
    url = site.url(asked_of(verdict))
    (found,) = await PageScraper(app.scrape, at_once=2).read(asking_for(url), 30)
    assert found.page is None
    assert found.source.verdict is not None
    assert found.source.verdict.kind is VerdictKind(verdict)
    assert verdict in (found.source.error or "")


async def test_who_gives_no_answer_in_time_does_not_hold_up_the_rest(app: App, site: Site) -> None:
    urls = (site.url("/silent"), site.url("/article"))
    silent, article = await PageScraper(app.scrape, at_once=2).read(asking_for(*urls), 3)
    assert (silent.page, article.page is not None) == (None, True)
    assert (silent.source.error or "").startswith("SCRAPE_TIMEOUT")


async def test_pages_of_one_caller_do_not_hold_up_anothers(app: App, site: Site) -> None:
    alice, bob = [
        (await app.callers.create(name, EVERYDAY_SCOPES)).token.id for name in ("alice", "bob")
    ]
    scraper = PageScraper(app.scrape, at_once=2)
    slow = asking_for(*(site.url(f"/silent?n={n}") for n in range(4)))
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(scraper.read(replace(slow, caller=alice), 60))
        await site.asked("/silent")
        fast = replace(asking_for(site.url("/article")), caller=bob)
        (found,) = await scraper.read(fast, 30)
        assert found.page is not None
        assert not reading.done()
        site.release()


async def test_a_failure_says_its_verdict(app: App, site: Site) -> None:
    request = asking_for(site.url("/status?code=404"))
    scraper = PageScraper(app.scrape, at_once=2)
    (found,) = await scraper.read(replace(request, mode=Mode.STATIC), 30)
    assert found.source.verdict is not None
    assert found.source.verdict.kind is VerdictKind.HTTP_ERROR

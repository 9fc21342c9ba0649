"""Pages that are failures: their errors, and that they are not saved."""

from dataclasses import replace

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.errors import Blocked, ScrapeFailed
from cinder.models.document import VerdictKind
from cinder.models.request import (
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    RenderOptions,
    ScrapeRequest,
)
from tests.resolver import TableResolver
from tests.site import Site
from tests.site.verdict_pages import read_pages

STATIC = RenderOptions(mode=Mode.STATIC)


@pytest.mark.parametrize("code", [200, 403])
@pytest.mark.parametrize("keep_http_errors", [False, True])
async def test_a_blocked_page_is_a_failure_that_says_what_shows_it(
    app: App, site: Site, code: int, keep_http_errors: bool
) -> None:
    request = ScrapeRequest(
        url=site.url(f"/wall?code={code}"), render=STATIC, keep_http_errors=keep_http_errors
    )
    with pytest.raises(Blocked, match="blocked") as failure:
        await app.scrape.scrape(request)
    assert (failure.value.verdict, failure.value.status_code) == (VerdictKind.BLOCKED, code)
    assert "Just a moment" in failure.value.message
    assert failure.value.diagnostics is not None
    assert failure.value.diagnostics.attempts
    assert await app.archive.list_saved("owner") == []


async def test_a_blocked_page_never_replaces_a_good_one(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/turning"), render=STATIC)
    first = await app.scrape.scrape(request)
    with pytest.raises(ScrapeFailed):
        await app.scrape.scrape(replace(request, cache=CachePolicy(force_rescrape=True)))
    kept = await app.scrape.scrape(request)
    assert (kept.cached, kept.saved) == (True, first.saved)


async def test_an_answer_that_breaks_off_is_asked_for_again(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/breaking?times=1"), render=STATIC)
    outcome = await app.scrape.scrape(request)
    assert outcome.document.verdict.kind is VerdictKind.OK
    assert outcome.diagnostics.retry_count == 1
    assert "broke off" in (outcome.diagnostics.attempts[0].error or "")


async def test_an_answer_that_keeps_breaking_off_is_partial_and_not_taken_for_fresh(
    app: App, site: Site
) -> None:
    request = ScrapeRequest(url=site.url("/breaking?times=3"), render=STATIC)
    part = await app.scrape.scrape(request)
    assert part.document.verdict.kind is VerdictKind.PARTIAL
    assert part.document.content.metadata.title == "Ember care"
    whole = await app.scrape.scrape(request)
    assert (whole.cached, whole.document.verdict.kind) == (False, VerdictKind.OK)


async def test_a_part_is_not_asked_for_by_its_validators(app: App, site: Site) -> None:
    # The server says by the same ETag that the page, of which half came, is unchanged.
    request = ScrapeRequest(url=site.url("/breaking?times=3"), render=STATIC)
    part = await app.scrape.scrape(request)
    assert (part.document.verdict.kind, part.document.validators.etag) == ("partial", '"v1"')
    whole = await app.scrape.scrape(replace(request, cache=CachePolicy(max_age_ms=0)))
    assert (whole.document.verdict.kind, whole.document.status_code) == ("ok", 200)


async def test_a_page_that_ends_early_by_itself_is_fresh_as_long_as_others(
    app: App, site: Site
) -> None:
    page = next(
        page for page in read_pages() if page.verdict == "partial" and not page.missing_bytes
    )
    request = ScrapeRequest(url=site.url(page.asked), render=STATIC)
    first = await app.scrape.scrape(request)
    assert first.document.verdict.kind is VerdictKind.PARTIAL
    assert (await app.scrape.scrape(request)).cached


async def test_a_page_given_up_for_lack_of_time_is_tried_again_and_has_its_links(
    settings: Settings, resolver: TableResolver, site: Site
) -> None:
    scrape = settings.scrape.model_copy(update={"extract_timeout_seconds": 1})
    request = ScrapeRequest(
        url=site.url("/nested"),
        formats=(Format.MARKDOWN, Format.LINKS),
        content=ContentOptions(exclude_tags=("b div div div div div i",)),
        render=STATIC,
    )
    async with open_app(settings.model_copy(update={"scrape": scrape}), resolver=resolver) as app:
        first, second = [await app.scrape.scrape(request) for _ in range(2)]
    assert (first.document.verdict.kind, first.cached) == (VerdictKind.PARTIAL, False)
    assert first.document.content.links == (site.url("/article"),)
    assert first.saved is not None
    assert (second.cached, site.hits("/nested")) == (False, 2)


@pytest.mark.parametrize("keep", [3, 10, 150, 300])
async def test_a_gzip_body_that_ends_early_is_partial_and_not_taken_for_fresh(
    app: App, site: Site, keep: int
) -> None:
    request = ScrapeRequest(url=site.url(f"/gzip-members?keep={keep}"), render=STATIC)
    part = await app.scrape.scrape(request)
    assert part.document.verdict.kind is VerdictKind.PARTIAL
    assert part.diagnostics.retry_count == 2
    again = await app.scrape.scrape(request)
    assert not again.cached


async def test_what_came_of_a_gzip_body_before_it_ended_is_the_answer(app: App, site: Site) -> None:
    url = site.url("/gzip-members?keep=600")
    part = await app.scrape.scrape(ScrapeRequest(url=url, render=STATIC))
    assert part.document.content.metadata.title == "Ember care"
    assert part.document.content.markdown


async def test_a_gzip_body_that_ends_early_never_replaces_a_good_one(app: App, site: Site) -> None:
    good = await app.scrape.scrape(ScrapeRequest(url=site.url("/gzip-cut"), render=STATIC))
    assert good.document.verdict.kind is VerdictKind.OK
    fresh = CachePolicy(force_rescrape=True)
    request = ScrapeRequest(url=site.url("/gzip-cut"), render=STATIC, cache=fresh)
    part = await app.scrape.scrape(request)
    assert (part.document.verdict.kind, part.saved) == (VerdictKind.PARTIAL, None)
    kept = await app.scrape.scrape(replace(request, cache=CachePolicy()))
    assert (kept.cached, kept.saved) == (True, good.saved)


async def test_an_empty_body_that_is_said_to_be_packed_is_empty(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/gzip-members?keep=0"), render=STATIC)
    assert (await app.scrape.scrape(request)).document.verdict.kind is VerdictKind.EMPTY

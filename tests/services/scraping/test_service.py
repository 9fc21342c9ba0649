import asyncio
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.errors import (
    CinderError,
    ConnectionFailed,
    ContentTooLarge,
    DnsFailed,
    EgressBlocked,
    ErrorCode,
    InvalidRequest,
    ScrapeFailed,
    ScrapeTimeout,
    TlsFailed,
)
from cinder.models.document import FetchSource, VerdictKind
from cinder.models.request import (
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    RenderOptions,
    ResultHandling,
    ScrapeRequest,
)
from cinder.models.saved import SavedKind
from cinder.models.url import parse_requested_url
from tests.resolver import TableResolver
from tests.site import Canary, Site


async def test_a_page_comes_back_as_clean_markdown_with_what_it_says_of_itself(
    app: App, site: Site
) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/article")))
    document = outcome.document
    assert document.content.markdown is not None
    assert "Cover the [coals](" + site.url("/coals?x=1") + ")" in document.content.markdown
    assert "Copyright" not in document.content.markdown
    assert document.content.metadata.title == "Ember care"
    assert document.content.metadata.author == "Ada Stoker"
    assert document.content.metadata.canonical == site.url("/article")
    assert document.verdict.kind is VerdictKind.OK
    assert not outcome.cached
    assert outcome.diagnostics.strategies == ["native"]


async def test_a_shell_that_carries_its_text_as_data_needs_no_browser(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/next/harbour.html")))
    document = outcome.document
    assert (document.source, outcome.diagnostics.strategies) == (FetchSource.NATIVE, ["native"])
    assert (document.content.markdown or "").startswith("# The harbour at night")
    assert "__NEXT_DATA__" in (outcome.warning or "")


async def test_the_second_request_is_answered_from_the_cache(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/article"))
    first = await app.scrape.scrape(request)
    second = await app.scrape.scrape(request)
    assert second.cached
    assert second.saved == first.saved
    assert site.hits("/article") == 1


async def test_what_is_too_old_or_forced_is_fetched_anew(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/article"))
    first = await app.scrape.scrape(request)
    forced = await app.scrape.scrape(replace(request, cache=CachePolicy(force_rescrape=True)))
    old = await app.scrape.scrape(replace(request, cache=CachePolicy(max_age_ms=0)))
    assert (forced.cached, old.cached) == (False, False)
    assert site.hits("/article") == 3
    assert first.saved is not None
    kept = await app.archive.read(first.saved.uris[SavedKind.CLEANED], "owner")
    assert kept is not None
    assert kept.text == first.document.content.markdown


async def test_an_unchanged_page_is_confirmed_rather_than_sent_again(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/etag"), cache=CachePolicy(max_age_ms=0))
    first = await app.scrape.scrape(request)
    second = await app.scrape.scrape(request)
    assert site.hits("/etag") == 2
    assert second.cached
    assert second.saved is not None
    assert first.saved is not None
    assert second.saved.uris == first.saved.uris
    assert second.document.scraped_at > first.document.scraped_at
    fresh = await app.scrape.scrape(replace(request, cache=CachePolicy()))
    assert fresh.document.scraped_at == second.document.scraped_at


async def test_identical_requests_at_once_share_one_fetch(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/silent"))
    async with asyncio.TaskGroup() as callers:
        waiting = [callers.create_task(app.scrape.scrape(request)) for _ in range(20)]
        await site.asked("/silent")
        site.release()
    assert site.hits("/silent") == 1
    assert len({task.result().document.scraped_at for task in waiting}) == 1


async def test_return_only_reads_the_cache_and_saves_nothing(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/article"), result_handling=ResultHandling.RETURN_ONLY)
    assert (await app.scrape.scrape(request)).saved is None
    assert await app.archive.list_saved("owner") == []
    await app.scrape.scrape(replace(request, result_handling=ResultHandling.SAVE_ONLY))
    again = await app.scrape.scrape(request)
    assert (again.cached, again.saved) == (True, None)


async def test_a_failed_scrape_never_replaces_a_good_entry(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/flaky?failures=0"))
    await app.scrape.scrape(request)
    site.pages.hits["/flaky"] = -100
    with pytest.raises(ScrapeFailed) as failure:
        await app.scrape.scrape(replace(request, cache=CachePolicy(force_rescrape=True)))
    assert failure.value.diagnostics is not None
    assert failure.value.diagnostics.retry_count == 2
    assert (await app.scrape.scrape(request)).cached


async def test_a_busy_server_is_tried_again(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/flaky?failures=2")))
    assert outcome.diagnostics.retry_count == 2
    assert [attempt.error for attempt in outcome.diagnostics.attempts] == [
        "HTTP 503 Service Unavailable",
        "HTTP 503 Service Unavailable",
        None,
    ]


async def test_a_server_that_asks_for_an_hour_is_left_alone(app: App, site: Site) -> None:
    with pytest.raises(ScrapeFailed):
        await app.scrape.scrape(ScrapeRequest(url=site.url("/flaky?failures=9&retry-after=3600")))
    assert site.hits("/flaky") == 1


async def test_an_http_error_is_a_failure_that_names_the_status(app: App, site: Site) -> None:
    with pytest.raises(ScrapeFailed, match="404 Not Found"):
        await app.scrape.scrape(ScrapeRequest(url=site.url("/status?code=404")))


async def test_an_http_error_page_is_returned_where_it_is_wanted_and_not_kept(
    app: App, site: Site
) -> None:
    request = ScrapeRequest(url=site.url("/status?code=404"), keep_http_errors=True)
    outcome = await app.scrape.scrape(request)
    assert outcome.document.status_code == 404
    assert outcome.document.verdict.kind is VerdictKind.HTTP_ERROR
    assert outcome.saved is None


async def test_an_empty_page_is_called_empty(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/empty")))
    assert outcome.document.verdict.kind is VerdictKind.EMPTY


async def test_time_runs_out_with_diagnostics(app: App, site: Site) -> None:
    with pytest.raises(ScrapeTimeout) as failure:
        await app.scrape.scrape(ScrapeRequest(url=site.url("/silent"), timeout_ms=300))
    assert failure.value.diagnostics is not None
    assert failure.value.diagnostics.strategies == ["native"]
    assert failure.value.diagnostics.last_error is not None


@pytest.mark.parametrize("path", ["/huge", "/gzip-bomb", "/gzip-members?more=2000"])
async def test_a_body_beyond_the_limit_is_refused_while_it_arrives(
    settings: Settings, resolver: TableResolver, site: Site, path: str
) -> None:
    small = settings.scrape.model_copy(update={"max_body_bytes": 1024 * 1024})
    async with open_app(settings.model_copy(update={"scrape": small}), resolver=resolver) as app:
        with pytest.raises(ContentTooLarge):
            await app.scrape.scrape(ScrapeRequest(url=site.url(path)))


@pytest.mark.parametrize("path", ["/gzip-members", "/gzip-members?then=junk"])
async def test_a_page_packed_in_several_gzip_members_is_read_whole(
    app: App, site: Site, path: str
) -> None:
    packed = await app.scrape.scrape(ScrapeRequest(url=site.url(path)))
    plain = await app.scrape.scrape(ScrapeRequest(url=site.url("/article")))
    assert packed.document.content.markdown == plain.document.content.markdown
    assert packed.document.verdict.kind is VerdictKind.OK


async def test_a_damaged_gzip_member_is_a_failure(app: App, site: Site) -> None:
    damaged = site.url("/gzip-members?then=%1f%c2%8b%08damage")
    with pytest.raises(ScrapeFailed, match="decompressed"):
        await app.scrape.scrape(ScrapeRequest(url=damaged))


async def test_redirects_are_followed_and_end(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/redirect?to=/article")))
    assert outcome.document.final_url == site.url("/article")
    assert outcome.document.url == site.url("/redirect?to=/article")
    with pytest.raises(ScrapeFailed, match="more than 10"):
        await app.scrape.scrape(ScrapeRequest(url=site.url("/redirect-loop")))


async def test_a_cookie_set_by_a_redirect_is_brought_back(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/cookie-gate")))
    assert outcome.document.content.metadata.title == "Ember care"


async def test_credentials_do_not_follow_a_redirect_to_another_origin(app: App, site: Site) -> None:
    url = site.url(f"/redirect?to=http://site.test:{site.port}/echo")
    headers = (("Authorization", "Bearer secret"), ("Cookie", "a=b"), ("DNT", "1"))
    outcome = await app.scrape.scrape(ScrapeRequest(url=url, headers=headers))
    text = outcome.document.content.text or ""
    assert "dnt" in text
    assert "secret" not in text
    assert "a=b" not in text


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433:{port}/",
        "http://[::1]:{port}/",
        "http://private.test/",
        "http://mixed.test:{port}/",
        "https://private.test/",
        "https://127.0.0.1:{port}/",
    ],
)
async def test_private_addresses_are_refused_without_a_packet(
    app: App, canary: Canary, url: str
) -> None:
    with pytest.raises(EgressBlocked) as failure:
        await app.scrape.scrape(ScrapeRequest(url=url.format(port=canary.port)))
    assert "10.1.2.3" not in failure.value.message
    assert not canary.was_reached()


@pytest.mark.parametrize("target", ["http://127.0.0.1:{port}/", "http://mixed.test:{port}/"])
async def test_a_redirect_to_a_private_address_is_refused_without_a_packet(
    app: App, site: Site, canary: Canary, target: str
) -> None:
    url = f"http://site.test:{site.port}/redirect?to={target.format(port=canary.port)}"
    with pytest.raises(EgressBlocked):
        await app.scrape.scrape(ScrapeRequest(url=url))
    assert not canary.was_reached()


async def test_a_name_that_does_not_exist_is_a_dns_error(app: App) -> None:
    with pytest.raises(DnsFailed):
        await app.scrape.scrape(ScrapeRequest(url="http://nowhere.test/"))


async def test_a_closed_port_is_a_connection_that_is_tried_again(
    settings: Settings, resolver: TableResolver
) -> None:
    egress = settings.egress.model_copy(update={"allow": ("127.0.0.1:1",)})
    async with open_app(settings.model_copy(update={"egress": egress}), resolver=resolver) as app:
        with pytest.raises(ConnectionFailed) as failure:
            await app.scrape.scrape(ScrapeRequest(url="http://127.0.0.1:1/"))
    assert failure.value.diagnostics is not None
    assert failure.value.diagnostics.retry_count == 2


@pytest.mark.parametrize(
    ("path", "mime"),
    [
        ("/image", "image/png"),
        ("/paper", "application/pdf"),
        ("/attachment", "application/octet-stream"),
        ("/archive", "application/zip"),
    ],
)
async def test_media_is_handed_through_whatever_was_asked_for(
    app: App, site: Site, path: str, mime: str
) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url(path)))
    assert outcome.document.media is not None
    assert outcome.document.media.mime == mime
    assert outcome.document.verdict.kind is VerdictKind.OK
    assert outcome.saved is not None
    kept = await app.archive.read(outcome.saved.primary_uri, "owner")
    assert kept is not None
    assert (kept.data, kept.mime) == (outcome.document.media.data, mime)


async def test_callers_who_share_a_flight_each_get_what_they_asked_for(
    app: App, site: Site
) -> None:
    request = ScrapeRequest(url=site.url("/silent?code=404"))
    async with asyncio.TaskGroup() as callers:
        strict = callers.create_task(_code_of(app.scrape.scrape(request)))
        lenient = callers.create_task(
            app.scrape.scrape(replace(request, keep_http_errors=True, url=request.url + "#part"))
        )
        await site.asked("/silent")
        site.release()
    assert strict.result() is ErrorCode.TARGET_HTTP_ERROR
    assert lenient.result().document.status_code == 404
    assert lenient.result().document.url.endswith("#part")
    assert site.hits("/silent") == 1


async def _code_of(work: Awaitable[object]) -> ErrorCode | None:
    try:
        await work
    except CinderError as error:
        return error.code
    return None


async def test_a_confirmation_that_was_not_asked_for_is_no_page(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/unasked"), cache=CachePolicy(max_age_ms=0))
    await app.scrape.scrape(request)
    with pytest.raises(ScrapeFailed):
        await app.scrape.scrape(request)
    kept = await app.scrape.scrape(replace(request, cache=CachePolicy()))
    assert (kept.cached, kept.document.content.metadata.title) == (True, "Ember care")


async def test_a_stale_page_is_confirmed_only_by_the_address_that_sent_it(
    app: App, site: Site
) -> None:
    moving = ScrapeRequest(url=site.url("/moving"), cache=CachePolicy(max_age_ms=0))
    first = await app.scrape.scrape(moving)
    second = await app.scrape.scrape(moving)
    assert first.document.content.metadata.title == "Ember care"
    assert second.document.content.metadata.title == "A page of its own"


async def test_odd_header_bytes_do_not_break_a_fetch(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/odd-headers"), cache=CachePolicy(max_age_ms=0))
    for _ in range(2):
        outcome = await app.scrape.scrape(request)
        assert outcome.document.content.metadata.title == "Ember care"


async def test_a_wait_longer_than_the_time_left_is_not_begun(app: App, site: Site) -> None:
    url = site.url("/flaky?failures=9&retry-after=15")
    with pytest.raises(ScrapeFailed):
        await app.scrape.scrape(ScrapeRequest(url=url, timeout_ms=5_000))
    assert site.hits("/flaky") == 1


async def test_a_url_without_a_scheme_is_fetched_over_http_where_https_is_refused(
    app: App, site: Site
) -> None:
    request = ScrapeRequest(url=parse_requested_url(f"{site.address}/article"))
    assert request.url == f"https://{site.address}/article"
    outcome = await app.scrape.scrape(request)
    assert outcome.document.url == outcome.document.final_url == site.url("/article")
    assert outcome.warning == (
        f"https://{site.address} makes no secure connection: http:// was used."
    )
    again = await app.scrape.scrape(request)
    assert (again.cached, again.warning) == (True, outcome.warning)
    assert site.hits("/article") == 1


async def test_a_scheme_that_was_written_is_kept(app: App, site: Site) -> None:
    with pytest.raises(TlsFailed):
        await app.scrape.scrape(ScrapeRequest(url=f"https://{site.address}/article"))
    assert site.hits("/article") == 0


async def test_credentials_are_not_sent_unencrypted_unless_http_was_written(
    app: App, site: Site
) -> None:
    url = parse_requested_url(f"{site.address}/article")
    request = ScrapeRequest(url=url, headers=(("Authorization", "Bearer secret"),))
    with pytest.raises(TlsFailed):
        await app.scrape.scrape(request)
    assert site.hits("/article") == 0


async def test_other_formats_are_made_of_the_saved_page(app: App, site: Site) -> None:
    url = site.url("/no-robots")
    first = await app.scrape.scrape(ScrapeRequest(url=url, formats=(Format.MARKDOWN,)))
    formats = (Format.LINKS, Format.LINKS_DETAIL, Format.HTML)
    derived = await app.scrape.scrape(ScrapeRequest(url=url, formats=formats))
    assert (derived.cached, site.hits("/no-robots")) == (True, 1)
    assert derived.document.scraped_at == first.document.scraped_at
    fresh = await app.scrape.scrape(
        ScrapeRequest(url=url, formats=formats, cache=CachePolicy(force_rescrape=True))
    )
    assert site.hits("/no-robots") == 2
    assert derived.document.content == fresh.document.content
    assert derived.document.content.links
    assert derived.document.content.metadata.robots == "noindex, nofollow"
    assert derived.document.content.markdown is None
    assert derived.saved is not None
    again = await app.scrape.scrape(ScrapeRequest(url=url, formats=formats))
    assert (again.cached, site.hits("/no-robots")) == (True, 2)


async def test_a_page_without_a_declared_charset_is_derived_as_it_was_read(
    app: App, site: Site
) -> None:
    await app.scrape.scrape(ScrapeRequest(url=site.url("/latin")))
    derived = await app.scrape.scrape(ScrapeRequest(url=site.url("/latin"), formats=(Format.HTML,)))
    assert "Grüße aus der Küche" in (derived.document.content.html or "")
    assert site.hits("/latin") == 1


@pytest.mark.parametrize(
    "change",
    [
        {"cache": CachePolicy(max_age_ms=0)},
        {"content": ContentOptions(only_main_content=False)},
        {"headers": (("Accept-Language", "de"),)},
        {"formats": (Format.LINKS, Format.CHANGE_TRACKING)},
    ],
)
async def test_a_page_that_would_differ_is_fetched_again(
    app: App, site: Site, change: dict[str, Any]
) -> None:
    request = ScrapeRequest(url=site.url("/article"), formats=(Format.LINKS,))
    await app.scrape.scrape(replace(request, formats=(Format.MARKDOWN,)))
    await app.scrape.scrape(replace(request, **change))
    assert site.hits("/article") == 2


async def test_a_file_is_not_taken_for_a_saved_page(app: App, site: Site) -> None:
    await app.scrape.scrape(ScrapeRequest(url=site.url("/image")))
    other = await app.scrape.scrape(ScrapeRequest(url=site.url("/image"), formats=(Format.LINKS,)))
    assert (other.cached, site.hits("/image")) == (False, 2)


async def test_an_undeclared_charset_is_taken_from_the_page(app: App, site: Site) -> None:
    outcome = await app.scrape.scrape(ScrapeRequest(url=site.url("/latin")))
    assert outcome.document.content.metadata.title == "Café"
    assert "Grüße aus der Küche" in (outcome.document.content.markdown or "")


async def test_a_request_tells_its_own_attempts_only(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/status?code=503"))
    failures = []
    for _ in range(2):
        with pytest.raises(ScrapeFailed) as failed:
            await app.scrape.scrape(request)
        failures.append(failed.value)  # whoever keeps an error keeps what it knows
    retries = [failure.diagnostics.retry_count for failure in failures if failure.diagnostics]
    assert retries == [2, 2]


async def test_static_and_what_only_a_browser_can_do_exclude_each_other(app: App) -> None:
    render = RenderOptions(mode=Mode.STATIC, wait_for_ms=1)
    with pytest.raises(InvalidRequest) as refused:
        await app.scrape.scrape(ScrapeRequest(url="https://example.com/", render=render))
    assert [problem.field for problem in refused.value.problems] == ["mode"]


async def test_late_content_is_rendered_and_a_static_page_starts_no_browser(
    app: App, site: Site
) -> None:
    static = await app.scrape.scrape(ScrapeRequest(url=site.url("/article")))
    assert static.document.source is FetchSource.NATIVE
    assert b'cinder_browser_pool{profile="default",state="workers"} 0.0' in app.metrics.render()
    for mode in (Mode.SMART, Mode.DYNAMIC):
        outcome = await app.scrape.scrape(
            ScrapeRequest(url=site.url("/late"), render=RenderOptions(mode=mode))
        )
        assert (outcome.document.source, outcome.document.verdict.kind) == (
            FetchSource.BROWSER,
            VerdictKind.OK,
        )
        assert all(f"Story {n}" in (outcome.document.content.markdown or "") for n in range(3))


async def test_metrics_tell_hits_misses_and_attempts(app: App, site: Site) -> None:
    request = ScrapeRequest(url=site.url("/article"))
    await app.scrape.scrape(request)
    await app.scrape.scrape(request)
    shown = app.metrics.render().decode()
    assert 'cinder_cache_lookups_total{result="miss"} 1.0' in shown
    assert 'cinder_cache_lookups_total{result="hit"} 1.0' in shown
    assert 'cinder_strategy_attempts_total{outcome="ok",strategy="native"} 1.0' in shown
    assert 'cinder_scrape_seconds_count{origin="cache"} 1.0' in shown
    assert "cinder_database_seconds_count{" in shown

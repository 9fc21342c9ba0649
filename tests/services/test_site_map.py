"""Maps of sites: every source, the scope, the robots rules, the limits and the search."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import read_settings
from cinder.crawl.sitemaps import SitemapUse
from cinder.errors import CinderError, ErrorCode
from cinder.models.caller import CallerPolicy, TokenScope
from cinder.models.request import OWNER, ScrapeRequest
from cinder.models.site_map import MappedUrl, MapSource, SiteMap
from cinder.models.url import AssumedHttps
from cinder.services.jobs.specs import MapRequest
from tests.mapped_site import MappedSite, serve_mapped_site

START = """<html><head><title>The hearth</title>
<link rel="alternate" type="application/rss+xml" href="/feed.xml"></head><body>
<nav><a href="/guide">The guide</a></nav>
<main><h1>The hearth</h1><p>How to bank a fire overnight, and how to light it again.</p>
<a href="/guide#ash">Ash</a><a href="https://other.test/">Elsewhere</a>
<a href="/private/a">Secret</a><a href="/logo.png">Logo</a></main></body></html>"""
FEED = """<rss><channel><title>News</title><link>{site}/</link><item><title>Fresh &amp; hot</title>
<link>{site}/news/1</link><pubDate>Tue, 10 Jun 2025 04:00:00 GMT</pubDate></item></channel></rss>"""
SITEMAP = """<urlset><url><loc>{site}/guide</loc><lastmod>2026-02-03</lastmod></url>
<url><loc>{site}/shop/tongs</loc></url><url><loc>https://other.test/x</loc></url></urlset>"""
ROBOTS = "User-agent: *\nDisallow: /private\nAllow: /named/page\nAllow: /*.css$\n"


@pytest.fixture
def mapped() -> Iterator[MappedSite]:
    with serve_mapped_site() as running:
        running.put({"/": START, "/feed.xml": FEED, "/sitemap.xml": SITEMAP, "/robots.txt": ROBOTS})
        yield running


@pytest.fixture
async def app(tmp_path: Path, mapped: MappedSite) -> AsyncIterator[App]:
    settings = read_settings(
        data_dir=tmp_path,
        egress={"allow": [mapped.address]},
        scrape={"retry_wait_seconds": 0.01},
    )
    async with open_app(settings) as opened:
        yield opened


async def ask(app: App, site: MappedSite, **options: object) -> SiteMap:
    url = site.url(str(options.pop("path", "/")))
    return await app.site_map.map(MapRequest(url=url, caller=OWNER, **options))  # type: ignore[arg-type]  # of the test


def paths(site: MappedSite, found: SiteMap) -> list[str]:
    return [each.url.removeprefix(site.base) for each in found.urls]


async def test_a_map_joins_all_sources_each_url_once(app: App, mapped: MappedSite) -> None:
    mapped.put({"/old": "<title>An old page</title><p>Some words on ash and embers.</p>"})
    await app.scrape.scrape(ScrapeRequest(url=mapped.url("/old")))
    found = await ask(app, mapped)
    assert found.urls == [
        MappedUrl(mapped.url("/"), MapSource.PAGE, "The hearth"),
        MappedUrl(mapped.url("/guide"), MapSource.PAGE, "", "2026-02-03", "The guide"),
        MappedUrl(
            mapped.url("/news/1"), MapSource.FEED, "Fresh & hot", "2025-06-10T04:00:00+00:00"
        ),
        MappedUrl(mapped.url("/shop/tongs"), MapSource.SITEMAP),
        MappedUrl(mapped.url("/named/page"), MapSource.ROBOTS),
        MappedUrl(mapped.url("/old"), MapSource.SAVED, "An old page"),
    ]
    assert found.next_offset is None
    assert found.warnings == (
        "1 URLs are left out: robots.txt disallows them.",
        "1 URLs of sitemaps and feeds are outside the scope domain, or no pages.",
    )


async def test_the_title_of_a_saved_page_is_shown_and_the_words_of_links_are_searched(
    app: App, mapped: MappedSite
) -> None:
    mapped.put({"/guide": "<title>Banking a fire</title><p>Some words on ash and embers.</p>"})
    await app.scrape.scrape(ScrapeRequest(url=mapped.url("/guide")))
    saved = MappedUrl(mapped.url("/guide"), MapSource.PAGE, "Banking a fire", "2026-02-03")
    for words in ("banking", "the guide"):
        [found] = (await ask(app, mapped, search=words)).urls
        assert found._replace(link_text="") == saved
        assert found.link_text == "The guide"


async def test_a_site_without_https_is_mapped_over_http(app: App, mapped: MappedSite) -> None:
    url = AssumedHttps(f"https://{mapped.address}/")
    found = await app.site_map.map(MapRequest(url=url, caller=OWNER))
    assert mapped.url("/shop/tongs") in [each.url for each in found.urls]
    assert found.warnings[0].endswith("makes no secure connection: http:// was used.")


async def test_pages_are_listed_without_being_fetched(app: App, mapped: MappedSite) -> None:
    await ask(app, mapped)
    assert dict(mapped.asked) == {"/": 1, "/feed.xml": 1, "/sitemap.xml": 1, "/robots.txt": 1}


async def test_sitemaps_can_be_skipped_or_be_the_only_source(app: App, mapped: MappedSite) -> None:
    only = await ask(app, mapped, sitemap=SitemapUse.ONLY)
    assert paths(mapped, only) == ["/guide", "/shop/tongs"]
    assert mapped.asked["/"] == 0
    skipped = await ask(app, mapped, sitemap=SitemapUse.SKIP)
    assert paths(mapped, skipped) == ["/", "/guide", "/news/1", "/named/page"]
    assert mapped.asked["/sitemap.xml"] == 1


async def test_a_long_sitemap_index_is_whole_and_read_in_parts(
    app: App, mapped: MappedSite
) -> None:
    pages = [f"/part-{number // 100}/page-{number}" for number in range(3_000)]
    mapped.put_sitemaps(pages, 500)
    found = await ask(app, mapped, sitemap=SitemapUse.ONLY)
    assert paths(mapped, found) == pages
    assert found.urls[30] == MappedUrl(mapped.url(pages[30]), MapSource.SITEMAP, "", "2026-01-03")
    assert (found.next_offset, found.warnings) == (None, ())

    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        part = await ask(app, mapped, sitemap=SitemapUse.ONLY, limit=700, offset=offset)
        seen += paths(mapped, part)
        offset = part.next_offset
    assert seen == pages


async def test_no_more_sitemaps_are_read_than_the_limit_needs(app: App, mapped: MappedSite) -> None:
    mapped.put_sitemaps([f"/page-{number}" for number in range(1_000)], 10)
    found = await ask(app, mapped, sitemap=SitemapUse.ONLY, limit=20)
    assert (len(found.urls), found.next_offset) == (20, 20)
    assert sum(count for path, count in mapped.asked.items() if path.endswith(".gz")) < 10


async def test_the_next_part_of_a_search_asks_the_site_nothing(
    app: App, mapped: MappedSite
) -> None:
    mapped.put_sitemaps([f"/page-{number}" for number in range(50)], 10)
    first = await ask(app, mapped, search="page", limit=20)
    asked = mapped.asked.total()
    second = await ask(app, mapped, search="page", limit=20, offset=20)
    assert mapped.asked.total() == asked
    assert not {each.url for each in first.urls} & {each.url for each in second.urls}
    assert len(second.urls) == 20


async def test_what_was_not_read_is_said(app: App, mapped: MappedSite) -> None:
    mapped.put_sitemaps([f"/page-{number}" for number in range(30)], 10)
    mapped.put({"/sitemap-10.xml.gz": 500})
    found = await ask(app, mapped, sitemap=SitemapUse.ONLY)
    assert len(found.urls) == 20
    (warning,) = found.warnings
    assert "could not be read" in warning
    assert f"{mapped.url('/sitemap-10.xml.gz')} (HTTP 500)" in warning


@pytest.mark.parametrize(
    ("limit", "words"),
    [({"max_sitemaps": 5}, "a map reads at most 5"), ({"max_bytes": 3_000}, "bytes")],
)
async def test_the_number_of_sitemaps_and_their_bytes_are_bounded(
    mapped: MappedSite, tmp_path: Path, limit: dict[str, int], words: str
) -> None:
    mapped.put_sitemaps([f"/page-{number}" for number in range(30)], 1)
    settings = read_settings(data_dir=tmp_path, egress={"allow": [mapped.address]}, map=limit)
    async with open_app(settings) as narrow:
        found = await ask(narrow, mapped, sitemap=SitemapUse.ONLY)
    assert 0 < len(found.urls) < 30
    assert any("sitemaps were not read" in each and words in each for each in found.warnings)


async def test_the_time_of_a_request_bounds_its_map(app: App, mapped: MappedSite) -> None:
    mapped.put_sitemaps([f"/page-{number}" for number in range(30)], 1)
    mapped.put({"/robots.txt": "User-agent: *\nCrawl-delay: 60\n"})
    found = await ask(app, mapped, sitemap=SitemapUse.ONLY, timeout_ms=200)
    assert mapped.asked.total() == 2
    assert "30 or more sitemaps were not read: the time was up (200 ms)" in found.warnings[0]


async def test_a_site_whose_robots_file_fails_is_left_alone(app: App, mapped: MappedSite) -> None:
    mapped.put({"/robots.txt": 503})
    found = await ask(app, mapped)
    assert (found.urls, dict(mapped.asked)) == ([], {"/robots.txt": 1})
    assert found.warnings == (
        "Nothing was fetched from the site: disallowed by robots.txt for now: it answered 503.",
    )


async def test_a_disallowed_start_page_is_not_fetched(app: App, mapped: MappedSite) -> None:
    found = await ask(app, mapped, path="/private/start")
    assert mapped.asked["/private/start"] == 0
    assert paths(mapped, found) == ["/guide", "/shop/tongs", "/named/page"]
    assert "disallowed by robots.txt" in found.warnings[0]


async def test_a_start_page_that_fails_is_a_warning_where_others_are_known(
    app: App, mapped: MappedSite
) -> None:
    mapped.put({"/": 404})
    found = await ask(app, mapped)
    assert paths(mapped, found) == ["/guide", "/shop/tongs", "/named/page"]
    assert "404 Not Found" in found.warnings[0]


async def test_a_start_page_that_fails_is_an_error_where_nothing_is_known(
    app: App, mapped: MappedSite
) -> None:
    mapped.files.clear()
    with pytest.raises(CinderError) as failed:
        await ask(app, mapped)
    assert "404 Not Found" in failed.value.message


async def test_an_address_that_egress_refuses_is_an_error(app: App, mapped: MappedSite) -> None:
    with pytest.raises(CinderError) as refused:
        await app.site_map.map(MapRequest(url="http://127.0.0.1:1/", caller=OWNER))
    assert refused.value.code is ErrorCode.EGRESS_BLOCKED
    assert mapped.asked.total() == 0


async def test_a_token_maps_only_its_domains(app: App, mapped: MappedSite) -> None:
    new = await app.callers.create("other", [TokenScope.SCRAPE], CallerPolicy(domains=("a.test",)))
    with pytest.raises(CinderError) as refused:
        await app.site_map.map(MapRequest(url=mapped.url("/"), caller=new.token.id))
    assert refused.value.code is ErrorCode.FORBIDDEN


QUERIES = {
    "pricing": "/pricing",
    "how to install": "/docs/getting-started/installation",
    "installation on windows": "/docs/getting-started/install-windows",
    "api authentication": "/docs/api/authentication",
    "oauth tokens": "/docs/api/oauth-tokens",
    "rate limits": "/docs/api/rate-limits",
    "webhook signature": "/docs/webhooks/verifying-signatures",
    "retry webhooks": "/docs/webhooks/retries",
    "changelog 2.4": "/changelog/2-4",
    "careers": "/company/careers",
    "privacy policy": "/legal/privacy",
    "terms of service": "/legal/terms",
    "contact sales": "/contact/sales",
    "python sdk": "/docs/sdks/python",
    "javascript SDK": "/docs/sdks/javascript",
    "migrate database": "/docs/operations/database-migrations",
    "backup and restore": "/docs/operations/backups",
    "configuration file": "/docs/reference/ConfigurationFile",
    "状态页": "/status",
    "forgot password": "/help/reset-password",
}
TITLES = {"/status": "状态页", "/help/reset-password": "I forgot my password"}


async def test_a_search_puts_the_right_page_first(app: App, mapped: MappedSite) -> None:
    """Twenty searches, each for one page among thousands with words in common."""
    links = "".join(f'<a href="{path}">{title}</a>' for path, title in TITLES.items())
    mapped.put({"/": f"<title>Acme</title><main><h1>Acme</h1>{links}</main>"})
    words = ("docs", "api", "guide", "python", "database", "policy", "windows", "file", "service")
    noise = [
        f"/{words[n % 9]}/{words[n // 9 % 9]}-{n}/{words[n // 81 % 9]}.html" for n in range(3_000)
    ]
    mapped.put_sitemaps([*noise[:1_500], *QUERIES.values(), *noise[1_500:]], 1_000)
    right = {}
    for query in QUERIES:
        found = await ask(app, mapped, search=query, limit=5)
        right[query] = paths(mapped, found)[0]
    assert right == QUERIES


async def test_a_search_without_matches_says_so(app: App, mapped: MappedSite) -> None:
    found = await ask(app, mapped, search="zymurgy")
    assert found.urls == []
    assert "None of the 5 URLs has a word of the search" in found.warnings[0]

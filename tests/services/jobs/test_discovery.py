"""Crawls of small websites on both databases: the order of fetches, and a fate for every URL."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from cinder.app.composition import open_app
from cinder.config.settings import read_settings
from cinder.crawl.scope import ScopeKind, ScopeRules
from cinder.crawl.sitemaps import SitemapUse
from cinder.models.job import LedgerPage, PageStatus
from cinder.models.request import OWNER, Mode, RenderOptions, ScrapeRequest
from cinder.services.jobs.specs import CrawlSpec, Deduplication
from tests.resolver import TableResolver
from tests.services.jobs.linked_site import LinkedSite, a_page, serve_pages
from tests.store.postgres import PostgresServer, run_postgres

NAMES = ("site.test", "a.site.test", "b.site.test")


def a_sitemap(*paths: str) -> str:
    listed = (f"<url><loc>http://site.test:{{port}}{path}</loc></url>" for path in paths)
    return f"<urlset>{''.join(listed)}</urlset>"


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with run_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cinder.db'}"
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.create_database()


@dataclass(frozen=True)
class Crawled:
    """What a crawl did."""

    site: LinkedSite
    pages: Mapping[str, LedgerPage]
    """The rows of its ledger by path, with the host where that is not `site.test`."""
    texts: Mapping[str, str]
    """The saved texts."""

    @property
    def fetched(self) -> list[str]:
        return sorted(self.with_fate(PageStatus.FETCHED))

    def with_fate(self, fate: PageStatus) -> dict[str, str]:
        """Return the reasons of the URLs with a fate."""
        return {path: page.reason for path, page in self.pages.items() if page.fate is fate}


async def crawl(
    store_url: str, tmp_path: Path, site: LinkedSite, spec: CrawlSpec, **jobs: int
) -> Crawled:
    """Crawl a site to the end."""
    settings = read_settings(
        data_dir=tmp_path / "data",
        store={"url": store_url},
        egress={"allow": [f"{name}:{site.port}" for name in NAMES]},
        jobs=jobs,
    )
    resolver = TableResolver({name: ["127.0.0.1"] for name in NAMES})
    async with open_app(settings, resolver=resolver, works_on_jobs=True) as app:
        job = await app.jobs.start_crawl(spec, OWNER)
        async with asyncio.timeout(120):
            while not (await app.jobs.find(job.id, job.kind, OWNER)).status.is_over:  # noqa: ASYNC110 - the ledger has no event
                await asyncio.sleep(0.05)
        listed = await app.jobs.list_pages(job, None, offset=0, limit=1000)
        pages = {_name(page.url, site): page for page in listed}
        texts = {}
        for name, page in pages.items():
            for uri in page.uris[:1]:
                body = await app.archive.read(uri, OWNER)
                texts[name] = (body and body.text) or ""
    return Crawled(site, pages, texts)


def _name(url: str, site: LinkedSite) -> str:
    return (
        url.removeprefix(f"http://site.test:{site.port}")
        .removeprefix("http://")
        .replace(f":{site.port}", "")
    )


NAVIGATION = ("/", "/docs/", "/blog/", "/shop/", "/ja", "/ar")
DOCS = ("/docs/install", "/docs/use", "/docs/faq")
SITE = {
    **{path: a_page(path, *NAVIGATION) for path in (*NAVIGATION, *DOCS)},
    "/docs/": a_page("docs", *NAVIGATION, *DOCS),
    "/sitemap.xml": a_sitemap("/listed", "/docs/listed"),
    "/listed": a_page("listed"),
    "/docs/listed": a_page("docs listed"),
}


async def test_a_crawl_takes_its_own_path_first_then_its_host(
    store_url: str, tmp_path: Path
) -> None:
    with serve_pages(SITE) as site:
        spec = CrawlSpec(url=site.url("/docs/"), max_pages=6)
        done = await crawl(store_url, tmp_path, site, spec, host_concurrency=1)

    assert site.asked == [
        *("/sitemap.xml", "/docs/", "/docs/listed", "/docs/install", "/docs/use", "/docs/faq"),
        "/",
    ]
    assert set(done.with_fate(PageStatus.LEFT)) == {"/blog/", "/shop/", "/ja", "/ar", "/listed"}


async def test_pages_that_only_a_sitemap_lists_come_behind_links_of_their_depth(
    store_url: str, tmp_path: Path
) -> None:
    listed = {"/sitemap.xml": a_sitemap("/listed", "/shop/", "/docs/listed")}
    with serve_pages(SITE | listed) as site:
        spec = CrawlSpec(url=site.url("/docs/"))
        await crawl(store_url, tmp_path, site, spec, host_concurrency=1)

    # The shop is linked as well.
    assert set(site.asked[6:11]) == {"/", "/blog/", "/shop/", "/ja", "/ar"}
    assert site.asked[11:] == ["/listed"]


async def test_a_crawl_spends_no_page_on_other_hosts_before_its_own(
    store_url: str, tmp_path: Path
) -> None:
    others = [f"http://{name}:{{port}}/{n}" for name in NAMES[1:] for n in range(4)]
    own = [f"/{n}" for n in range(6)]
    pages = {"/": a_page("start", *others, *own), **{path: a_page(path) for path in own}}
    pages |= {f"{name}/{n}": a_page(f"{name} {n}") for name in NAMES[1:] for n in range(4)}
    with serve_pages(pages) as site:
        done = await crawl(store_url, tmp_path, site, CrawlSpec(url=site.url("/"), max_pages=7))

    assert done.fetched == ["/", *own]
    assert set(site.asked) == {"/sitemap.xml", "/", *own}


async def test_secret_headers_of_a_crawl_go_to_the_origin_of_its_start_alone(
    store_url: str, tmp_path: Path
) -> None:
    secrets = {"authorization": "Bearer secret", "cookie": "a=secret", "x-ticket": "secret"}
    listed = "<urlset><url><loc>http://b.site.test:{port}/listed</loc></url></urlset>"
    canonical = '<link rel="canonical" href="http://a.site.test:{port}/canonical">'
    pages = {
        "/": a_page("start", "/own", "http://a.site.test:{port}/linked"),
        "/own": a_page("own", head=canonical),
        "/sitemap.xml": listed,
        "a.site.test/linked": a_page("linked", "http://site.test:{port}/linked-back"),
        "a.site.test/canonical": a_page("canonical"),
        "b.site.test/listed": a_page("listed"),
        "/linked-back": a_page("linked back"),
    }
    options = ScrapeRequest(
        url="",
        headers=(*secrets.items(), ("User-Agent", "visitor/1")),
        render=RenderOptions(mode=Mode.STATIC),
    )
    with serve_pages(pages) as site:
        scope = ScopeRules(max_depth=3)
        spec = CrawlSpec(url=site.url("/"), scope=scope, scrape_options=options)
        await crawl(store_url, tmp_path, site, spec)

    for page in ("/", "/own", "/linked-back"):
        assert site.received[page].items() >= secrets.items()
    for page in ("a.site.test/linked", "a.site.test/canonical", "b.site.test/listed"):
        assert site.received[page].keys().isdisjoint(secrets)
        assert site.received[page]["user-agent"] == "visitor/1"


async def test_a_crawl_of_a_path_stays_below_it(store_url: str, tmp_path: Path) -> None:
    with serve_pages(SITE) as site:
        scope = ScopeRules(kind=ScopeKind.PATH)
        done = await crawl(
            store_url, tmp_path, site, CrawlSpec(url=site.url("/docs/"), scope=scope)
        )

    assert done.fetched == sorted(("/docs/", "/docs/listed", *DOCS))
    assert done.with_fate(PageStatus.OUTSIDE)["/shop/"] == "not below /docs/"


@pytest.mark.parametrize(
    ("use", "fetched"),
    [
        (SitemapUse.SKIP, sorted((*NAVIGATION, *DOCS))),
        (SitemapUse.ONLY, ["/docs/", "/docs/listed", "/listed"]),
    ],
)
async def test_sitemaps_are_skipped_or_all_that_is_read(
    store_url: str, tmp_path: Path, use: SitemapUse, fetched: list[str]
) -> None:
    with serve_pages(SITE) as site:
        spec = CrawlSpec(url=site.url("/docs/"), sitemap=use)
        done = await crawl(store_url, tmp_path, site, spec)

    assert done.fetched == fetched


SAME = "This text is the same on both of these pages, word by word, to the very last of them."
LONG = " ".join(f"word{number}" for number in range(400))
COPIES = {
    "/": a_page(
        "start",
        *("/auth/", "/auth/default.html", "/index.php", "/one", "/index.html", "/short/"),
        *("/short/index.html", "/releases/1.3.5.html", "/releases/1.4.3.html"),
    ),
    "/index.html": a_page(
        "start",
        *("/auth/", "/auth/default.html", "/index.php", "/one", "/index.html", "/short/"),
        *("/short/index.html", "/releases/1.3.5.html", "/releases/1.4.3.html"),
    ),
    "/auth/": a_page("auth"),
    "/auth/default.html": a_page("The default authentication backend"),
    "/index.php": a_page("one", text=SAME),
    "/one": a_page("one", text=SAME),
    "/short/": a_page("short", text="Hi"),
    "/short/index.html": a_page("short", text="Hi"),
    "/releases/1.3.5.html": a_page("release", text=f"{LONG} 1.3.5"),
    "/releases/1.4.3.html": a_page("release", text=f"{LONG} 1.4.3"),
}


async def test_urls_are_one_page_only_where_their_contents_agree(
    store_url: str, tmp_path: Path
) -> None:
    with serve_pages(COPIES) as site:
        spec = CrawlSpec(url=site.url("/"))
        done = await crawl(store_url, tmp_path, site, spec, host_concurrency=1)

    assert done.with_fate(PageStatus.DUPLICATE) == {
        "/index.html": f"{site.url('/')} (same content)",
        "/one": f"{site.url('/index.php')} (same content)",
        "/short/index.html": f"{site.url('/short/')} (same content)",
    }
    assert set(done.pages) == set(COPIES)
    assert len(done.fetched) == len(COPIES) - 3
    assert SAME in done.texts["/one"]


@pytest.mark.parametrize(
    ("way", "kept"), [(Deduplication.NEAR, len(COPIES) - 4), (Deduplication.OFF, len(COPIES))]
)
async def test_near_duplicates_are_dropped_on_request_and_none_where_they_are_wanted(
    store_url: str, tmp_path: Path, way: Deduplication, kept: int
) -> None:
    with serve_pages(COPIES) as site:
        spec = CrawlSpec(url=site.url("/"), deduplicate=way)
        done = await crawl(store_url, tmp_path, site, spec, host_concurrency=1)

    assert len(done.fetched) == kept
    assert "1.4.3" in done.texts["/releases/1.4.3.html"]


WAYS = {
    "/": a_page(
        "start",
        *("/frames", "/twin-1", "/closed", "/huge"),
        head='<meta http-equiv="refresh" content="30; url=/refreshed">'
        '<link rel="next" href="/page-2"><link rel="alternate" hreflang="de" href="/de/">',
    ).replace("</nav>", '<a rel="nofollow ugc" href="/marked">marked</a></nav>'),
    "/frames": '<frameset><frame src="/framed"></frameset>',
    "/framed": a_page("framed"),
    "/refreshed": a_page("refreshed"),
    "/page-2": a_page("page two"),
    "/closed": a_page("closed", "/behind"),
    "/huge": "<div>" * 6_000 + '<a href="/in-huge">x</a><iframe src="/huge-frame"></iframe>',
    "/in-huge": a_page("in huge"),
    "/huge-frame": a_page("huge frame"),
    "/twin-1": a_page("twin one", head='<link rel="canonical" href="/twin-2">'),
    "/twin-2": a_page("twin two", head='<link rel="canonical" href="/twin-1">'),
}


async def test_pages_are_found_by_every_way_that_leads_to_them(
    store_url: str, tmp_path: Path
) -> None:
    with serve_pages(WAYS) as site:
        site.headers["/closed"] = {"X-Robots-Tag": "noindex, nofollow"}
        spec = CrawlSpec(url=site.url("/"), scope=ScopeRules(max_depth=4))
        done = await crawl(store_url, tmp_path, site, spec)

    assert done.with_fate(PageStatus.DUPLICATE) == {
        "/twin-2": f"{site.url('/twin-1')} (its canonical URL)"
    }
    assert done.fetched == sorted(set(WAYS) - {"/twin-2"})
    unfollowed = done.with_fate(PageStatus.OUTSIDE)
    assert set(unfollowed) == {"/marked", "/behind"}
    assert all("nofollow" in reason for reason in unfollowed.values())
    assert "twin two" in done.texts["/twin-2"]


def naming(path: str, name: str = "") -> str:
    """Return a page that names another URL as its own."""
    return a_page(name or path, head=f'<link rel="canonical" href="{path}">')


async def test_a_page_is_kept_where_the_url_that_it_names_redirects_to_it(
    store_url: str, tmp_path: Path
) -> None:
    """A folder named without its slash, as by Docusaurus; pages named at their former host."""
    pages = {
        "/": a_page("start", "/docs", "/guide/", "/page"),
        "/docs/": naming("/docs"),
        "/guide/": naming("/guide"),
        "/page": naming("http://a.site.test:{port}/page"),
    }
    with serve_pages(pages) as site:
        site.redirects = {
            "/docs": site.url("/docs/"),
            "/guide": site.url("/guide/"),
            "a.site.test/page": site.url("/page"),
        }
        done = await crawl(store_url, tmp_path, site, CrawlSpec(url=site.url("/")))

    assert done.fetched == sorted(pages)
    assert done.with_fate(PageStatus.DUPLICATE) == {
        "/docs": f"{site.url('/docs/')} (redirect)",
        "/guide": f"{site.url('/guide/')} (redirect)",
        "a.site.test/page": f"{site.url('/page')} (redirect)",
    }


async def test_a_page_is_kept_where_the_url_that_it_names_is_never_fetched(
    store_url: str, tmp_path: Path
) -> None:
    pages = {
        "/": a_page("start", "/one", "/two", "/three"),
        "/one": naming("/gone"),
        "/two": naming("/private/two"),
        "/three": naming("/left"),
        "/left": a_page("left"),
        "/robots.txt": "User-agent: *\nDisallow: /private\n",
    }
    with serve_pages(pages) as site:
        site.headers["/robots.txt"] = {"Content-Type": "text/plain"}
        spec = CrawlSpec(url=site.url("/"), max_pages=4)
        done = await crawl(store_url, tmp_path, site, spec, host_concurrency=1)

    assert done.fetched == ["/", "/one", "/three", "/two"]


async def test_of_a_page_and_the_url_that_it_names_the_first_is_kept(
    store_url: str, tmp_path: Path
) -> None:
    pages = {
        "/": a_page("start", "/article", "/print", "/variant"),
        "/article": a_page("article"),
        "/print": naming("/article", "print"),
        "/variant": naming("/plain"),
        "/plain": a_page("/plain"),
    }
    with serve_pages(pages) as site:
        spec = CrawlSpec(url=site.url("/"))
        done = await crawl(store_url, tmp_path, site, spec, host_concurrency=1)

    assert done.with_fate(PageStatus.DUPLICATE) == {
        "/print": f"{site.url('/article')} (its canonical URL)",
        "/plain": f"{site.url('/variant')} (same content)",
    }

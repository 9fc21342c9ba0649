"""The stored specifications of jobs."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.scope import ScopeKind, ScopeRules
from cinder.crawl.sitemaps import SitemapUse
from cinder.models.request import (
    Action,
    ActionType,
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    Profile,
    ProxyTier,
    RenderOptions,
    ResultHandling,
    ScrapeRequest,
)
from cinder.services.jobs.specs import (
    CrawlSpec,
    batch_request,
    crawl_request,
    crawl_spec_from_json,
    request_from_json,
)
from cinder.services.scraping.cache_key import RequestKeys
from cinder.services.webhooks import SPEC_KEY

TEXT = st.text(max_size=20)
TAGS = st.lists(TEXT, max_size=3).map(tuple)
NUMBER = st.integers(min_value=0, max_value=10**9)
CONTENT = st.builds(
    ContentOptions,
    clean=st.booleans(),
    only_main_content=st.booleans(),
    include_tags=TAGS,
    exclude_tags=TAGS,
    pdf_parser=st.none() | st.builds(PdfParser, max_pages=st.none() | NUMBER),
)
RENDER = st.builds(RenderOptions, actions=st.lists(st.builds(Action), max_size=3).map(tuple))
REQUEST = st.builds(
    ScrapeRequest,
    url=st.just("https://site.test/"),
    formats=st.lists(st.sampled_from(Format), unique=True).map(tuple),
    headers=st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple),
    cache=st.builds(CachePolicy, max_age_ms=NUMBER, force_rescrape=st.booleans()),
    content=CONTENT,
    render=RENDER,
    extract=st.none() | TEXT,
    keep_http_errors=st.booleans(),
    result_handling=st.sampled_from(ResultHandling),
    caller=TEXT,
)
SPEC = st.builds(
    CrawlSpec,
    url=st.just("https://site.test/"),
    scope=st.builds(
        ScopeRules,
        kind=st.sampled_from(ScopeKind),
        include=TAGS,
        exclude=TAGS,
        max_depth=st.integers(1, 100),
    ),
    max_pages=NUMBER,
    delay_ms=st.none() | NUMBER,
)


# As the version before msgspec wrote them.
GOLDEN = Path(__file__).parent / "golden"
BATCH = ScrapeRequest(
    url="",
    formats=(Format.MARKDOWN, Format.RAW_HTML, Format.SCREENSHOT),
    result_handling=ResultHandling.SAVE_ONLY,
    timeout_ms=5000,
    headers=(("Cookie", "a=1"), ("X-A", "ü")),
    cache=CachePolicy(max_age_ms=0, force_rescrape=True),
    content=ContentOptions(
        clean=False,
        only_main_content=False,
        include_tags=("main",),
        exclude_tags=("nav", ".ad"),
        pdf_parser=PdfParser(max_pages=3),
    ),
    render=RenderOptions(
        mode=Mode.DYNAMIC,
        wait_for_ms=10,
        actions=(
            Action(type=ActionType.CLICK, selector="#more"),
            Action(type=ActionType.WAIT, milliseconds=20),
        ),
        block_ads=False,
        mobile=True,
        proxy=ProxyTier.STEALTH,
        profile=Profile.MASTER,
    ),
    extract="prices",
    caller="token_1",
    keep_http_errors=True,
)
CRAWL = CrawlSpec(
    url="https://site.test/",
    scope=ScopeRules(kind=ScopeKind.SUBDOMAINS, include=("/a",), exclude=("/b", "/c"), max_depth=4),
    max_pages=7,
    render=True,
    only_main_content=False,
    sitemap=SitemapUse.SKIP,
    delay_ms=250,
)


@pytest.mark.parametrize(
    ("name", "request_"),
    [("batch", BATCH), ("batch_defaults", batch_request(ScrapeRequest(url="")))],
)
def test_a_stored_batch_stays_readable_and_is_written_the_same_but_for_new_options(
    name: str, request_: ScrapeRequest
) -> None:
    stored = json.loads((GOLDEN / f"{name}.json").read_text())["request"]

    assert request_from_json(stored, "") == request_
    written = json.loads(json.dumps(msgspec.to_builtins(request_)))
    assert written.keys() >= stored.keys()
    for option, value in stored.items():
        if isinstance(value, dict):
            assert written[option].items() >= value.items()
        else:
            assert written[option] == value


@pytest.mark.parametrize(
    ("name", "spec"),
    [("crawl", CRAWL), ("crawl_defaults", CrawlSpec(url="https://site.test/"))],
)
def test_a_crawl_that_an_earlier_version_stored_stays_readable(name: str, spec: CrawlSpec) -> None:
    stored = json.loads((GOLDEN / f"{name}.json").read_text())

    assert crawl_spec_from_json(stored) == spec


@given(REQUEST)
def test_a_request_is_read_as_it_was_written(request: ScrapeRequest) -> None:
    written = json.loads(json.dumps(msgspec.to_builtins(request)))

    assert request_from_json(written, request.url) == request


@given(SPEC)
def test_a_crawl_is_read_as_it_was_written_whatever_its_webhook(spec: CrawlSpec) -> None:
    written = json.loads(
        json.dumps({**msgspec.to_builtins(spec), SPEC_KEY: {"url": "https://hook.test"}})
    )

    assert crawl_spec_from_json(written) == spec


def test_each_page_of_a_batch_is_scraped_by_the_options_that_all_share() -> None:
    request = batch_request(ScrapeRequest(url="", formats=(Format.LINKS,)))
    page = request_from_json(msgspec.to_builtins(request), "https://site.test/a")

    assert (page.url, page.formats) == ("https://site.test/a", (Format.LINKS,))
    assert page.keep_http_errors
    assert page.content.pdf_parser == PdfParser()


def test_a_batch_keeps_the_number_of_pages_that_its_documents_are_read_to() -> None:
    content = ContentOptions(pdf_parser=PdfParser(max_pages=3))

    assert batch_request(ScrapeRequest(url="", content=content)).content == content


def test_a_page_of_a_crawl_is_asked_for_as_it_is_now_with_its_links() -> None:
    spec = CrawlSpec(url="https://site.test/", only_main_content=False)
    request = crawl_request(spec, "https://site.test/a", "alice", 5_000)

    assert (request.url, request.caller, request.timeout_ms) == (
        "https://site.test/a",
        "alice",
        5_000,
    )
    assert Format.LINKS in request.formats
    assert request.cache.force_rescrape
    assert not request.content.only_main_content


@pytest.mark.parametrize(
    ("url", "is_home"),
    [
        ("https://site.test/a", True),
        ("https://site.test:443/a", True),
        ("http://site.test/a", False),
        ("https://site.test:8443/a", False),
        ("https://user.site.test/a", False),
    ],
)
def test_a_page_of_another_origin_is_asked_for_without_the_secret_headers(
    url: str, is_home: bool
) -> None:
    harmless = ("Accept-Language", "de")
    headers = (("Authorization", "Bearer secret"), harmless, ("X-Ticket", "secret"))
    options = ScrapeRequest(url="", headers=headers)
    spec = CrawlSpec(url="https://site.test/", scrape_options=options)

    request = crawl_request(spec, url, "alice", 5_000)
    assert request.headers == (headers if is_home else (harmless,))
    assert request.is_private == is_home


def test_a_page_of_another_origin_is_kept_like_one_that_was_asked_for_without_secrets() -> None:
    url = "https://user.site.test/a"
    options = ScrapeRequest(url="", headers=(("Authorization", "Bearer secret"),))
    spec = CrawlSpec(url="https://site.test/", scrape_options=options)
    bare = replace(spec, scrape_options=replace(options, headers=()))

    keys = RequestKeys(crawl_request(spec, url, "alice", 5_000))
    assert not keys.is_own
    assert keys.cache == RequestKeys(crawl_request(bare, url, "bob", 5_000)).cache
    own, other = (
        RequestKeys(crawl_request(each, "https://site.test/a", "alice", 5_000))
        for each in (spec, bare)
    )
    assert own.is_own
    assert own.cache != other.cache

"""The stored specifications of jobs, as JSON, and the request for a map."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated

import msgspec

from cinder.crawl.scope import ScopeKind, ScopeRules, compile_patterns
from cinder.crawl.sitemaps import SitemapUse
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.options import Option, options_of
from cinder.models.redaction import without_secret_headers
from cinder.models.request import (
    MAX_TIMEOUT_MS,
    ONLY_MAIN_CONTENT,
    CachePolicy,
    Format,
    Mode,
    PdfParser,
    ProxyPoolOption,
    RenderOptions,
    ScrapeRequest,
    option_for_browser,
)
from cinder.models.site_map import MAX_URLS
from cinder.models.url import origin_of

MAX_DELAY_MS = 600_000
MAX_SEARCH_CHARS = 1_000

# A crawl fetches and saves each page again, needs its markdown, has a timeout by setting, and one
# pool of proxies for its pages, robots.txt and sitemaps.
_NOT_FOR_CRAWLS = frozenset(
    ("timeout", "maxAge", "forceRescrape", "resultHandling", "cleanScrape", "proxyPool")
)
PAGE_OPTIONS = tuple(
    option.name for option in options_of(ScrapeRequest) if option.name not in _NOT_FOR_CRAWLS
)
"""The names of the options that a crawl takes for the scrape of each page."""


class Deduplication(StrEnum):
    """Which pages of a crawl count as duplicates of an earlier one."""

    EXACT = "exact"
    NEAR = "near"
    OFF = "off"


class Following(StrEnum):
    """Links that a crawl follows only where it is asked to."""

    LANGUAGES = "languages"
    FEEDS = "feeds"
    NOFOLLOW = "nofollow"


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpec:
    """A site to explore; a job stores it as JSON, beside a webhook if it has one."""

    url: str
    scope: ScopeRules = field(default_factory=ScopeRules)
    max_pages: Annotated[
        int, Option("The most pages to fetch.", bounds={"ge": 1}, hint="Most pages to fetch")
    ] = 100
    render: Annotated[
        bool,
        Option("Render every page in a browser, which takes longer.", hint="In a browser; slow"),
    ] = False
    only_main_content: Annotated[bool, replace(ONLY_MAIN_CONTENT, in_tools=False)] = True
    sitemap: Annotated[
        SitemapUse,
        Option(
            "The site's sitemaps: `include` their pages, `skip` them, or fetch `only` the pages "
            "that they list, and the start.",
            in_tools=False,
        ),
    ] = SitemapUse.INCLUDE
    deduplicate: Annotated[
        Deduplication,
        Option(
            "Which pages are duplicates of another one: those with `exact`ly its text and those "
            "that name it as canonical, those with `near`ly its text as well, or none (`off`).",
            in_tools=False,
        ),
    ] = Deduplication.EXACT
    follow: Annotated[
        tuple[Following, ...],
        Option(
            "Further links to follow: translations (`languages`) and `feeds` that a page declares, "
            "and links marked `nofollow`.",
            in_tools=False,
            flag_help="Follow such links, too: languages, feeds, nofollow; repeatable.",
        ),
    ] = ()
    delay_ms: Annotated[
        int | None,
        Option(
            "The least milliseconds between two requests to one host; more where the site wants "
            "more.",
            name="delay",
            bounds={"ge": 0, "le": MAX_DELAY_MS},
            in_tools=False,
        ),
    ] = None
    """None for the server's setting."""
    proxy_pool: ProxyPoolOption = None
    scrape_options: Annotated[
        ScrapeRequest | None,
        Option(
            "How each page is scraped, with the options of a scrape: `formats`, `includeTags`, "
            "`headers`, `mode` and so on.",
            hint='As JSON: {"formats": ["html"]}',
            flags=None,
        ),
    ] = None


def crawl_spec_from_json(data: dict[str, Json]) -> CrawlSpec:
    """Return the stored specification of a crawl.

    Raises:
        ValueError: the object does not have this shape.
    """
    # Crawls that were started before there was `sitemap` stored a Boolean.
    if data.get("sitemaps") is False:
        data = {**data, "sitemap": SitemapUse.SKIP}
    return msgspec.convert(data, CrawlSpec)


@dataclass(frozen=True, slots=True, kw_only=True)
class MapRequest:
    """A site whose URLs are listed; its pages are not scraped."""

    url: str
    caller: str
    search: Annotated[
        str | None,
        Option(
            "Only URLs with some of these words in the URL, link text or title, best match first.",
            bounds={"min_length": 1, "max_length": MAX_SEARCH_CHARS},
            hint="Words to rank by",
        ),
    ] = None
    limit: Annotated[
        int,
        Option(
            "How many URLs to return.",
            bounds={"ge": 1, "le": MAX_URLS},
            hint="How many",
            flags=("--limit", "-n"),
        ),
    ] = 5_000
    offset: Annotated[
        int,
        Option(
            "How many to skip: `nextOffset` of the last answer.",
            bounds={"ge": 0, "le": MAX_URLS},
            hint="nextOffset of the last answer",
        ),
    ] = 0
    scope: Annotated[
        ScopeKind,
        Option("Which URLs belong to the site, as in a crawl.", hint="Which hosts belong to it"),
    ] = ScopeKind.DOMAIN
    sitemap: Annotated[
        SitemapUse,
        Option(
            "`include`: sitemaps and all other sources; `skip`: no sitemaps; `only`: sitemaps "
            "alone.",
            hint="Use of sitemaps",
        ),
    ] = SitemapUse.INCLUDE
    proxy_pool: ProxyPoolOption = None
    timeout_ms: Annotated[
        int,
        Option(
            "Milliseconds to spend; what was found by then is returned.",
            name="timeout",
            bounds={"ge": 1, "le": MAX_TIMEOUT_MS},
            in_tools=False,
        ),
    ] = 60_000


def find_pattern_problems(field: str, patterns: Sequence[str]) -> tuple[FieldProblem, ...]:
    """Return what is wrong with the patterns of a crawl; `field` is their name in the request."""
    try:
        compile_patterns(field, patterns)
    except InvalidRequest as error:
        return error.problems
    return ()


def request_from_json(data: Json, url: str) -> ScrapeRequest:
    """Return the stored request for one of the URLs of a batch.

    Raises:
        ValueError: the object does not have this shape.
    """
    return replace(msgspec.convert(data, ScrapeRequest), url=url)


def with_crawl_mode(request: ScrapeRequest) -> ScrapeRequest:
    """Return the options for each page without a browser, unless one of them needs it."""
    needs_browser = option_for_browser(request.render, request.screenshot)
    mode = Mode.DYNAMIC if needs_browser else Mode.STATIC
    return replace(request, render=replace(request.render, mode=mode))


def crawl_request(spec: CrawlSpec, url: str, caller: str, timeout_ms: int) -> ScrapeRequest:
    """Return the request for one page of a crawl: fetched from the web, with its links.

    Secret headers are for the origin of the start alone. The scope does not protect them: it may
    cover hosts of other people, and treats http like https.
    """
    static = RenderOptions(mode=Mode.STATIC)
    options = spec.scrape_options or ScrapeRequest(url=url, formats=(), render=static)
    content, headers = options.content, options.headers
    is_home = origin_of(url) == origin_of(spec.url)
    return replace(
        options,
        url=url,
        headers=headers if is_home else without_secret_headers(headers),
        formats=tuple(dict.fromkeys((Format.MARKDOWN, Format.LINKS, *options.formats))),
        timeout_ms=timeout_ms,
        cache=CachePolicy(force_rescrape=True),
        content=replace(
            content,
            only_main_content=spec.only_main_content and content.only_main_content,
            pdf_parser=content.pdf_parser or PdfParser(),
        ),
        render=replace(
            options.render,
            mode=Mode.DYNAMIC if spec.render else options.render.mode,
            proxy_pool=spec.proxy_pool,
        ),
        caller=caller,
        keep_http_errors=True,
    )


def batch_request(request: ScrapeRequest) -> ScrapeRequest:
    """Return the request for each page of a batch: PDFs are parsed, HTTP errors are kept."""
    content = request.content
    if content.pdf_parser is None:
        content = replace(content, pdf_parser=PdfParser())
    return replace(request, content=content, keep_http_errors=True)

"""The stored specification of a job: its scrape options and a crawl's limits, as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import msgspec

from cinder.crawl.scope import ScopeRules, compile_patterns
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.options import Option
from cinder.models.request import (
    ONLY_MAIN_CONTENT,
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    RenderOptions,
    ScrapeRequest,
)

MAX_DELAY_MS = 600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpec:
    """A site to explore; a job stores it as JSON, beside a webhook if it has one."""

    url: str
    scope: ScopeRules = field(default_factory=ScopeRules)
    max_pages: Annotated[
        int, Option("The most pages to fetch.", bounds={"ge": 1}, hint="Default 100")
    ] = 100
    render: Annotated[
        bool,
        Option("Render every page in a browser, which takes longer.", hint="In a browser; slow"),
    ] = False
    only_main_content: Annotated[bool, replace(ONLY_MAIN_CONTENT, in_tools=False)] = True
    sitemaps: Annotated[
        bool,
        Option(
            "Read the site's sitemaps, too, for pages that no link leads to.",
            in_tools=False,
            flag_help="Find pages by links alone.",
        ),
    ] = True
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


def crawl_request(spec: CrawlSpec, url: str, caller: str, timeout_ms: int) -> ScrapeRequest:
    """Return the request for one page of a crawl: fetched from the web, with its links."""
    return ScrapeRequest(
        url=url,
        formats=(Format.MARKDOWN, Format.LINKS),
        timeout_ms=timeout_ms,
        cache=CachePolicy(force_rescrape=True),
        content=ContentOptions(only_main_content=spec.only_main_content, pdf_parser=PdfParser()),
        render=RenderOptions(mode=Mode.DYNAMIC if spec.render else Mode.STATIC),
        caller=caller,
        keep_http_errors=True,
    )


def batch_request(request: ScrapeRequest) -> ScrapeRequest:
    """Return the request for each page of a batch: PDFs are parsed, HTTP errors are kept."""
    content = request.content
    if content.pdf_parser is None:
        content = replace(content, pdf_parser=PdfParser())
    return replace(request, content=content, keep_http_errors=True)

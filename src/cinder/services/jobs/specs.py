"""The stored specification of a job: its scrape options and a crawl's limits, as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import msgspec

from cinder.crawl.scope import MAX_PATTERNS, ScopeKind, ScopeRules, compile_patterns
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.request import (
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    RenderOptions,
    ScrapeRequest,
)

__all__ = [
    "MAX_PATTERNS",
    "CrawlSpec",
    "ScopeKind",
    "ScopeRules",
    "batch_request",
    "crawl_request",
    "find_pattern_problems",
    "request_from_json",
    "request_to_json",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSpec:
    """A site to explore."""

    url: str
    scope: ScopeRules = field(default_factory=ScopeRules)
    max_pages: int = 100
    render: bool = False
    only_main_content: bool = True
    sitemaps: bool = True
    """Whether the site's sitemaps are read for pages that no link leads to."""
    delay_ms: int | None = None
    """The minimum time between two requests to one host; None for the server's setting."""

    def to_json(self) -> dict[str, Json]:
        """Return the JSON object that is stored."""
        data: dict[str, Json] = msgspec.to_builtins(self)
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> Self:
        """Return the spec of a stored JSON object; keys of others, such as a webhook, are ignored.

        Raises:
            ValueError: the object does not have this shape.
        """
        return msgspec.convert(data, cls)


def find_pattern_problems(field: str, patterns: Sequence[str]) -> tuple[FieldProblem, ...]:
    """Return what is wrong with the patterns of a crawl; `field` is their name in the request."""
    try:
        compile_patterns(field, patterns)
    except InvalidRequest as error:
        return error.problems
    return ()


def request_to_json(request: ScrapeRequest) -> dict[str, Json]:
    """Return the JSON object that is stored. It includes headers until the job ends."""
    data: dict[str, Json] = msgspec.to_builtins(request)
    return data


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

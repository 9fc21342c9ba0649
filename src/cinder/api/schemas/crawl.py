"""Crawls: the arguments of POST /v1/crawl and the tool `cinder_crawl`."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from cinder.api.arguments import Arguments, CrossCheck, IdempotencyKey, WebUrl
from cinder.api.options import WireForm, build_request, with_options
from cinder.api.schemas.actions import check_actions
from cinder.api.schemas.scrape import (
    WIRE_FORMS,
    check_formats,
    check_selectors,
    check_sent_headers,
)
from cinder.errors import FieldProblem
from cinder.models.request import Format, Mode, ScrapeRequest
from cinder.services.jobs.specs import (
    PAGE_OPTIONS,
    CrawlSpec,
    find_pattern_problems,
    with_crawl_mode,
)


@with_options(ScrapeRequest, forms=WIRE_FORMS, only=PAGE_OPTIONS)
class CrawledPageArguments(Arguments):
    """How each page of a crawl is scraped."""

    def to_request(self) -> ScrapeRequest:
        """Return the request that holds for all pages; without a mode, as a crawl fetches."""
        request = build_request(ScrapeRequest, self, WIRE_FORMS, url="")
        return request if "mode" in self.model_fields_set else with_crawl_mode(request)


_FORMS = {
    "scrapeOptions": WireForm(
        CrawledPageArguments | None,
        lambda options: None if options is None else options.to_request(),
        lambda: None,
    )
}


@with_options(CrawlSpec, forms=_FORMS)
class CrawlArguments(Arguments):
    """A site to explore."""

    # In other crawlers, 0 means no limit, or the start page only.
    meaningful_zeros: ClassVar[frozenset[str]] = frozenset({"maxPages", "maxDepth"})

    url: WebUrl
    """Where to start; https:// is added where the scheme is missing."""
    idempotency_key: IdempotencyKey | None = None
    """A name for this start: a second one of the same name answers with the first one's crawl."""

    def to_spec(self) -> CrawlSpec:
        """Return the specification of the crawl."""
        return build_request(CrawlSpec, self, _FORMS, url=self.url)


def crawl_checks(max_pages: int) -> tuple[CrossCheck, ...]:
    """Return the checks across the fields of a crawl, which may have so many pages."""

    def check_size(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
        count = raw.get("maxPages")
        if isinstance(count, int) and count > max_pages:
            yield FieldProblem("maxPages", f"At most {max_pages} (setting jobs.max-pages)")

    return (*CRAWL_CHECKS, check_size)


def check_patterns(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield the patterns that are not valid."""
    for name in ("includePatterns", "excludePatterns"):
        patterns = raw.get(name)
        if not isinstance(patterns, list) or not all(
            isinstance(pattern, str) for pattern in patterns
        ):
            continue
        for problem in find_pattern_problems(name, patterns):
            field, dot, index = problem.field.partition(".")
            yield FieldProblem(f"{field}[{index}]" if dot else field, problem.message)


def check_scrape_options(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield what is wrong with the options for each page."""
    options = raw.get("scrapeOptions")
    if not isinstance(options, Mapping):
        return
    for check in (check_formats, check_actions, check_sent_headers, check_selectors):
        for problem in check(options):
            yield FieldProblem(f"scrapeOptions.{problem.field}", problem.message)
    formats = options.get("formats")
    if isinstance(formats, list) and Format.CHANGE_TRACKING in formats:
        message = "A crawl keeps no changes: scrape a page, or compare its saved versions"
        yield FieldProblem("scrapeOptions.formats", message)
    if raw.get("render") is True and options.get("mode") == Mode.STATIC:
        message = "'static' fetches without a browser, and render needs one"
        yield FieldProblem("scrapeOptions.mode", message)


CRAWL_CHECKS: tuple[CrossCheck, ...] = (check_patterns, check_scrape_options)

"""Crawls: the arguments of POST /v1/crawl and the tool `cinder_crawl`."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from cinder.api.arguments import Arguments, CrossCheck, StrictBool, StrictInt
from cinder.api.schemas.scrape import IdempotencyKey, WebUrl
from cinder.errors import FieldProblem
from cinder.services.jobs.specs import (
    MAX_PATTERNS,
    CrawlSpec,
    ScopeKind,
    ScopeRules,
    find_pattern_problems,
)

MAX_DEPTH = 1_000
MAX_DELAY_MS = 600_000

Patterns = Annotated[list[str], Field(max_length=MAX_PATTERNS)]


class CrawlArguments(Arguments):
    """A site to explore."""

    url: WebUrl
    """Where to start; https:// is added where the scheme is missing."""
    render: StrictBool = False
    """Render every page in a browser, which takes longer."""
    max_depth: Annotated[StrictInt, Field(ge=1, le=MAX_DEPTH)] = 2
    """How far to go: 1 is the start alone, 2 the pages that it links to as well, and so on."""
    max_pages: Annotated[StrictInt, Field(ge=1)] = 100
    """Most pages to fetch."""
    include_patterns: Patterns = Field(default_factory=list)
    """Regular expressions (RE2); only URLs in which one is found are fetched, and the start."""
    exclude_patterns: Patterns = Field(default_factory=list)
    """Regular expressions (RE2); URLs in which one is found are not fetched."""
    scope: ScopeKind = ScopeKind.DOMAIN
    """How far from the start: its `host` alone, its registered `domain`, or its `subdomains`."""
    only_main_content: StrictBool = True
    """Leave out everything around the main content; else navigation, headers and footers alone."""
    sitemaps: StrictBool = True
    """Read the site's sitemaps, too, for pages that no link leads to."""
    delay: Annotated[StrictInt, Field(ge=0, le=MAX_DELAY_MS)] | None = None
    """The least milliseconds between two requests to one host; more where the site wants more."""
    idempotency_key: IdempotencyKey | None = None
    """A name for this start: a second one of the same name answers with the first one's crawl."""

    def to_spec(self) -> CrawlSpec:
        """Return the crawl that these arguments ask for."""
        return CrawlSpec(
            url=self.url,
            scope=ScopeRules(
                kind=self.scope,
                include=tuple(self.include_patterns),
                exclude=tuple(self.exclude_patterns),
                max_depth=self.max_depth,
            ),
            max_pages=self.max_pages,
            render=self.render,
            only_main_content=self.only_main_content,
            sitemaps=self.sitemaps,
            delay_ms=self.delay,
        )


def crawl_checks(max_pages: int) -> tuple[CrossCheck, ...]:
    """Return what is checked of a crawl beside its fields, where so many pages may be asked for."""

    def check_size(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
        wanted = given.get("maxPages")
        if isinstance(wanted, int) and wanted > max_pages:
            yield FieldProblem("maxPages", f"At most {max_pages} (setting jobs.max-pages)")

    return (check_patterns, check_size)


def check_patterns(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name the patterns that are not valid."""
    for name in ("includePatterns", "excludePatterns"):
        patterns = given.get(name)
        if not isinstance(patterns, list) or not all(isinstance(each, str) for each in patterns):
            continue
        for problem in find_pattern_problems(name, patterns):
            yield FieldProblem(_bracketed(problem.field), problem.message)


def _bracketed(field: str) -> str:
    name, dot, place = field.partition(".")
    return f"{name}[{place}]" if dot else name

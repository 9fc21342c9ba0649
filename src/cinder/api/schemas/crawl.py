"""Crawls: the arguments of POST /v1/crawl and the tool `cinder_crawl`."""

from collections.abc import Iterable, Mapping
from typing import Any

from cinder.api.arguments import Arguments, CrossCheck
from cinder.api.options import build_request, with_options
from cinder.api.schemas.scrape import IdempotencyKey, WebUrl
from cinder.errors import FieldProblem
from cinder.services.jobs.specs import CrawlSpec, find_pattern_problems


@with_options(CrawlSpec)
class CrawlArguments(Arguments):
    """A site to explore."""

    url: WebUrl
    """Where to start; https:// is added where the scheme is missing."""
    idempotency_key: IdempotencyKey | None = None
    """A name for this start: a second one of the same name answers with the first one's crawl."""

    def to_spec(self) -> CrawlSpec:
        """Return the crawl that these arguments ask for."""
        return build_request(CrawlSpec, self, url=self.url)


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

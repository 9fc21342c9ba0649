"""Crawls: the arguments of POST /v1/crawl and the tool `cinder_crawl`."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from cinder.api.arguments import Arguments, CrossCheck, IdempotencyKey, WebUrl
from cinder.api.options import build_request, with_options
from cinder.errors import FieldProblem
from cinder.services.jobs.specs import CrawlSpec, find_pattern_problems


@with_options(CrawlSpec)
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
        return build_request(CrawlSpec, self, url=self.url)


def crawl_checks(max_pages: int) -> tuple[CrossCheck, ...]:
    """Return the checks across the fields of a crawl, which may have so many pages."""

    def check_size(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
        count = raw.get("maxPages")
        if isinstance(count, int) and count > max_pages:
            yield FieldProblem("maxPages", f"At most {max_pages} (setting jobs.max-pages)")

    return (check_patterns, check_size)


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

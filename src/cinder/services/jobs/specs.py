"""The stored specification of a job: its scrape options and a crawl's limits, as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from cinder.crawl.scope import MAX_PATTERNS, ScopeKind, ScopeRules, compile_patterns
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
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
from cinder.services.webhooks import SPEC_KEY

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
    """The least time between two requests to one host; None for what is set."""

    def to_json(self) -> dict[str, Json]:
        """Return it as it is kept."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:  # Any: what `to_json` made
        """Return what `to_json` was called on."""
        data = {name: value for name, value in data.items() if name != SPEC_KEY}
        scope = data["scope"]
        rules = ScopeRules(
            kind=ScopeKind(scope["kind"]),
            include=tuple(scope["include"]),
            exclude=tuple(scope["exclude"]),
            max_depth=scope["max_depth"],
        )
        return cls(**{**data, "scope": rules})


def find_pattern_problems(field: str, patterns: Sequence[str]) -> tuple[FieldProblem, ...]:
    """Return what is wrong with a crawl's patterns, given as a field of this name."""
    try:
        compile_patterns(field, patterns)
    except InvalidRequest as error:
        return error.problems
    return ()


def request_to_json(request: ScrapeRequest) -> dict[str, Json]:
    """Return a request as it is kept; its headers are, too, until the job ends."""
    return asdict(request)


def request_from_json(data: dict[str, Any], url: str) -> ScrapeRequest:  # Any: as above
    """Return the request that was written down, for one of its URLs."""
    content, render = data["content"], data["render"]
    parser = content["pdf_parser"]
    return ScrapeRequest(
        **{
            **data,
            "url": url,
            "formats": tuple(map(Format, data["formats"])),
            "result_handling": ResultHandling(data["result_handling"]),
            "headers": tuple((name, value) for name, value in data["headers"]),
            "cache": CachePolicy(**data["cache"]),
            "content": ContentOptions(
                clean=content["clean"],
                only_main_content=content["only_main_content"],
                include_tags=tuple(content["include_tags"]),
                exclude_tags=tuple(content["exclude_tags"]),
                pdf_parser=None if parser is None else PdfParser(**parser),
            ),
            "render": RenderOptions(
                **{
                    **render,
                    "mode": Mode(render["mode"]),
                    "actions": tuple(map(_action_from_json, render["actions"])),
                    "proxy": ProxyTier(render["proxy"]),
                    "profile": Profile(render["profile"]),
                }
            ),
        }
    )


def crawl_request(spec: CrawlSpec, url: str, caller: str, timeout_ms: int) -> ScrapeRequest:
    """Return the request for one page of a crawl: as the site is now, links and all."""
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
    """Return what a batch asks for each of its pages."""
    content = request.content
    if content.pdf_parser is None:
        content = replace(content, pdf_parser=PdfParser())
    return replace(request, content=content, keep_http_errors=True)


def _action_from_json(data: dict[str, Any]) -> Action:  # Any: as above
    return Action(**{**data, "type": ActionType(data["type"])})

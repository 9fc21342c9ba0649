"""The outcome of a scrape, authorized and returned as each caller requested it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Protocol, TypeAlias

from cinder.errors import Blocked, Diagnostics, ScrapeFailed, TargetHttpError
from cinder.fetch.base import RedirectRefused
from cinder.models.caller import CallerPolicy, is_url_within, require_domain
from cinder.models.document import Document, VerdictKind
from cinder.models.request import ScrapeRequest
from cinder.models.saved import ChangeStatus, PageChange, SavedDocument
from cinder.models.url import is_within
from cinder.services.summary import PageSummary
from cinder.store.ledger.page_commits import PageCommit


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """Which URLs a scrape may reach, by the caller's policy and the job's rule."""

    policy: CallerPolicy
    may_land: Callable[[str], bool] | None = None
    """The job's rule for redirects."""

    @property
    def landing_check(self) -> Callable[[str], bool] | None:
        """Tells which URLs a page may redirect to; None for any."""
        may_land, domains = self.may_land, self.policy.domains
        if not domains:
            return may_land
        return lambda url: (may_land is None or may_land(url)) and is_url_within(url, domains)

    def connection_check(self, request: ScrapeRequest) -> Callable[[str], bool] | None:
        """Tells which hosts a browser may connect to; None for all that egress allows.

        A page may load resources from anywhere, unless a script of the caller could read them.
        """
        domains = self.policy.domains
        if not domains or not request.runs_script:
            return None
        return lambda host: is_within(host, domains)

    @contextmanager
    def explaining_refusal(self) -> Iterator[None]:
        """Raise `Forbidden` instead if the token's policy is why a redirect was refused."""
        try:
            yield
        except RedirectRefused as refused:
            require_domain(self.policy, refused.target)
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeOutcome:
    """The result of a scrape: the document, where it is saved, and how it was fetched."""

    document: Document
    saved: SavedDocument | None = None
    cached: bool = False
    age_ms: int = 0
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    change: PageChange | None = None
    """How the page changed since it was last saved; None unless requested."""
    is_committed: bool = False
    """Whether the job's `BuildCommit` has been written."""
    summary: PageSummary | None = None
    """None if it was not requested, or no language model is configured."""
    notices: tuple[str, ...] = ()
    """Warnings about the request."""

    @property
    def warning(self) -> str | None:
        """The warnings about the content, the change and the summary."""
        of_change = (self.change.warning,) if self.change and self.change.warning else ()
        of_summary = (self.summary.warning,) if self.summary and self.summary.warning else ()
        of_content = self.document.content.warnings
        return " ".join((*self.notices, *of_content, *of_change, *of_summary)) or None

    @property
    def is_removed(self) -> bool:
        """Whether the page was saved before and no longer exists."""
        return self.change is not None and self.change.status is ChangeStatus.REMOVED


class Scraper(Protocol):
    """Scrapes a URL; implemented by `ScrapeService`."""

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        """Return a URL's content.

        Raises:
            CinderError: the page could not be scraped.
        """
        ...


# Builds what a job writes in the transaction that saves a page.
BuildCommit: TypeAlias = Callable[[ScrapeOutcome], PageCommit]


def authorize(outcome: ScrapeOutcome, access_policy: AccessPolicy) -> ScrapeOutcome:
    """Return an outcome, if the token allows the domain that the page came from.

    Raises:
        Forbidden: the token does not allow it.
    """
    require_domain(access_policy.policy, outcome.document.final_url)
    return outcome


def as_requested(outcome: ScrapeOutcome, request: ScrapeRequest) -> ScrapeOutcome:
    """Return a shared outcome with the URL that this caller requested.

    Raises:
        Blocked: the site blocked the request.
        TargetHttpError: the server responded with an error, and the request does not keep errors.
    """
    document = outcome.document
    kind = None if outcome.is_removed else _failure_kind(document, request)
    if kind is not None:
        evidence, wait = document.verdict.evidence, document.retry_after_seconds
        is_blocked = kind is Blocked
        reason = f"blocked the request ({evidence})" if is_blocked else f"answered {evidence}"
        request_to_wait = "" if wait is None else f". It asks to wait for {wait} seconds"
        raise kind(
            f"Failed to scrape {request.url}: The {'site' if is_blocked else 'server'} "
            f"{reason}{request_to_wait}",
            url=request.url,
            diagnostics=outcome.diagnostics,
            verdict=document.verdict.kind,
            status_code=document.status_code,
            retry_after_seconds=wait,
        )
    if document.url == request.url:
        return outcome
    return replace(outcome, document=replace(document, url=request.url))


def _failure_kind(document: Document, request: ScrapeRequest) -> type[ScrapeFailed] | None:
    """Return the kind of failure that a page is for its request; None if it is none."""
    kind = document.verdict.kind
    is_limited = document.status_code == HTTPStatus.TOO_MANY_REQUESTS
    if kind is VerdictKind.BLOCKED and not is_limited:
        return Blocked
    is_error = kind in (VerdictKind.HTTP_ERROR, VerdictKind.BLOCKED)
    return TargetHttpError if is_error and not request.keep_http_errors else None


def is_failure(document: Document, request: ScrapeRequest) -> bool:
    """Whether a page is a failure for its request."""
    return _failure_kind(document, request) is not None

"""The outcome of a scrape, authorized and returned as each caller requested it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cinder.errors import Diagnostics, ScrapeFailed
from cinder.models.document import Document, Verdict, VerdictKind
from cinder.models.request import ScrapeRequest
from cinder.models.saved import ChangeStatus, PageChange, SavedDocument
from cinder.services.auth import AccessPolicy, require_domain
from cinder.services.summary import PageSummary
from cinder.store.ledger import PageCommit


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeOutcome:
    """What came of a scrape: the document, where it is kept, and the way it was got."""

    document: Document
    saved: SavedDocument | None = None
    cached: bool = False
    age_ms: int = 0
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    change: PageChange | None = None
    """What has become of the page since it was last saved, where that was asked."""
    is_committed: bool = False
    """Whether what was to be written with it has been."""
    summary: PageSummary | None = None
    """None where none was asked for, or there is no language model to write it."""

    @property
    def warning(self) -> str | None:
        """What the reader should know before trusting the content."""
        of_change = (self.change.warning,) if self.change and self.change.warning else ()
        of_summary = (self.summary.warning,) if self.summary and self.summary.warning else ()
        return " ".join((*self.document.content.warnings, *of_change, *of_summary)) or None

    @property
    def is_removed(self) -> bool:
        """Whether the page was there before and is gone."""
        return self.change is not None and self.change.status is ChangeStatus.REMOVED


# What a job writes in the transaction that saves a page, given what came of scraping it.
BuildCommit: TypeAlias = Callable[[ScrapeOutcome], PageCommit]


def authorize(outcome: ScrapeOutcome, access_policy: AccessPolicy) -> ScrapeOutcome:
    """Return an outcome, if the token goes as far as where the page came from.

    Raises:
        Forbidden: it does not.
    """
    require_domain(access_policy.policy, outcome.document.final_url)
    return outcome


def as_requested(outcome: ScrapeOutcome, request: ScrapeRequest) -> ScrapeOutcome:
    """Return a shared outcome as one of its callers asked for it.

    Raises:
        ScrapeFailed: the page was blocked, or the server answered with an error and this caller
            wants none.
    """
    document = outcome.document
    failure = None if outcome.is_removed else _describe_failure(document.verdict, request)
    if failure:
        raise ScrapeFailed(
            f"Failed to scrape {request.url}: {failure}",
            url=request.url,
            diagnostics=outcome.diagnostics,
            verdict=document.verdict.kind,
        )
    return replace(outcome, document=replace(document, url=request.url))


def _describe_failure(verdict: Verdict, request: ScrapeRequest) -> str | None:
    """Return what is wrong with a page that is no answer; None where it is one."""
    if verdict.kind is VerdictKind.BLOCKED:
        return f"The site blocked the request ({verdict.evidence})"
    if verdict.kind is VerdictKind.HTTP_ERROR and not request.keep_http_errors:
        return f"The server answered {verdict.evidence}"
    return None


def is_failure(document: Document, request: ScrapeRequest) -> bool:
    """Whether a page is no answer to its request."""
    return _describe_failure(document.verdict, request) is not None

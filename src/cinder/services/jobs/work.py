"""What tells a batch from a crawl: the request for a page, and what becomes of its answer."""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Protocol

from cinder.crawl.addresses import Address
from cinder.model.document import Document, VerdictKind
from cinder.model.job import Claim, ContentPrint, Fate, NewPage, PageResult
from cinder.model.request import ScrapeRequest
from cinder.model.saved import SavedDocument
from cinder.model.url import origin_of
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store.ledger_base import IsNear

_MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a page's answer means for the ledger."""

    result: PageResult
    found: Sequence[NewPage] = ()
    is_near: IsNear | None = None
    """Tells pages that are nearly the same; None where no two are."""


class Work(Protocol):
    """A job's kind, as those who work on its pages see it."""

    @property
    def least_delay_ms(self) -> int:
        """The least time between two requests to one host that the job was started with."""
        ...

    def request(self, claim: Claim) -> ScrapeRequest:
        """Return how a page is to be scraped."""
        ...

    def read(self, claim: Claim, outcome: ScrapeOutcome) -> Reading:
        """Return what became of a page."""
        ...

    def settled(self, reading: Reading) -> None:
        """Note that what was read stands in the ledger."""
        ...

    def refuse_landing(self, claim: Claim, url: str) -> str | None:
        """Return why a page must not be redirected to, or None where it may."""
        ...

    def seed(self) -> Coroutine[None, None, None]:
        """Put all URLs that the job begins with into its ledger."""
        ...

    async def end(self) -> None:
        """Note that nothing is left to be done."""
        ...


def new_page(
    address: Address, *, depth: int = 1, fate: Fate | None = None, reason: str = ""
) -> NewPage:
    """Return an address as the ledger takes it."""
    return NewPage(
        url=address.url,
        fingerprint=address.fingerprint,
        host=origin_of(address.url),
        depth=depth,
        fate=fate,
        reason=reason,
    )


def fetched_page(outcome: ScrapeOutcome, content: ContentPrint | None = None) -> PageResult:
    """Return what the ledger keeps of a page that was got."""
    document = outcome.document
    length = len(document.content.markdown or document.content.text or "")
    title = document.content.metadata.title
    return PageResult(
        fate=Fate.FETCHED,
        status_code=document.status_code,
        verdict=document.verdict.kind,
        title=None if title is None else title[:_MAX_TITLE_CHARS],
        content_length=length,
        body_bytes=_body_bytes(document),
        content=content,
    )


def failure_of(outcome: ScrapeOutcome) -> PageResult | None:
    """Return what the ledger keeps of an answer that is none; None where it is one."""
    document = outcome.document
    if document.verdict.kind not in (VerdictKind.HTTP_ERROR, VerdictKind.SOFT_404):
        return None
    return PageResult(
        fate=Fate.FAILED,
        reason=document.verdict.evidence or f"HTTP {document.status_code}",
        status_code=document.status_code,
        verdict=document.verdict.kind,
        body_bytes=_body_bytes(document),
    )


def _body_bytes(document: Document) -> int:
    file = document.media or document.original
    return len(file.data) if file else len((document.content.text or "").encode(errors="replace"))


def uris_of(saved: SavedDocument | None) -> tuple[str, ...]:
    """Return where a page is saved, the body a reader most likely wants first."""
    if saved is None:
        return ()
    primary = saved.primary_uri
    return (primary, *(uri for uri in saved.uris.values() if uri != primary))

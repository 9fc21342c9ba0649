"""Jobs with pages to export."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from cinder.models.document import Document, Media
from cinder.models.job import Job, PageLease, PageResult, PageStatus
from cinder.models.request import ScrapeRequest
from cinder.models.saved import SavedDocument
from cinder.services.export.base import ExportRequest
from cinder.services.export.exporter import Exporter
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.store.documents import Store
from tests.store.ledger.samples import HOST, a_job, a_page, limits
from tests.store.samples import NOW, Clock, a_document, a_full_document, a_key


class TickingClock(Clock):
    """A clock that goes on by a millisecond whenever somebody looks."""

    def __call__(self) -> datetime:
        self.move_on(timedelta(milliseconds=1))
        return self.now


def some_documents() -> list[Document]:
    """A plain page, one with every field, a PDF with its text, a file, one that broke off."""
    return [
        page_at("/plain", a_document("<p>Grüße &amp; 你好</p>")),
        page_at("/full", a_full_document()),
        page_at(
            "/paper.pdf",
            replace(
                a_document("The paper's text"),
                content_type="application/pdf",
                original=Media("application/pdf", b"%PDF-1.7\r\n\r\n\x00\xff"),
            ),
        ),
        page_at(
            "/picture.png",
            replace(
                a_document(None),
                content_type="image/png",
                media=Media("image/png", b"\x89PNG\r\n\x1a\n\x00"),
            ),
        ),
        page_at("/cut", replace(a_document("<p>half of"), is_cut=True)),
    ]


def page_at(path: str, document: Document) -> Document:
    return replace(document, url=HOST + path, final_url=f"{HOST}{path}?landed")


async def add_job_with(
    store: Store, documents: Sequence[Document], *, failing: Sequence[str] = ()
) -> Job:
    """Keep a job of which these pages were fetched and these paths failed, in this order."""
    pages = [a_page(document.url.removeprefix(HOST)) for document in documents]
    disallowed = a_page(
        "/private", fate=PageStatus.DISALLOWED, reason="robots.txt: Disallow: /private"
    )
    await store.ledger.add_job(a_job(max_pages=10_000), [*pages, *map(a_page, failing), disallowed])
    claims = await claim_all(store)
    for number, document in enumerate(documents):
        await save_page(store, claims[document.url], document, number)
    failure = PageResult(fate=PageStatus.FAILED, reason="DNS_ERROR: no such host")
    for path in failing:
        await store.ledger.commit(store.ledger.page_commit(claims[HOST + path], lambda _: failure))
    job = await store.ledger.find_job("job")
    assert job is not None
    return job


async def claim_all(store: Store) -> dict[str, PageLease]:
    lease = await store.ledger.lease("job", limits(count=10_000, host_concurrency=10_000))
    return {claim.url: claim for claim in lease.claims}


async def save_page(
    store: Store, claim: PageLease, document: Document, number: int, *, owner: str | None = None
) -> SavedDocument:
    def result_of(saved: SavedDocument | None) -> PageResult:
        assert saved is not None
        return PageResult(
            fate=PageStatus.FETCHED,
            status_code=document.status_code,
            verdict=document.verdict.kind,
            title=document.content.metadata.title,
            uris=tuple(saved.uris.values()),
        )

    moment = NOW + timedelta(seconds=number)
    return await store.save(
        replace(document, scraped_at=moment),
        a_key(document.url, owner=owner),
        store.ledger.page_commit(claim, result_of),
    )


class NothingToScrape:
    """Stands where an export without images needs no scraper."""

    async def scrape(self, request: ScrapeRequest) -> ScrapeOutcome:
        raise AssertionError(f"{request.url} was requested")


async def export(store: Store, job: Job, request: ExportRequest) -> bytes:
    return b"".join(
        [chunk async for chunk in Exporter(store, NothingToScrape()).export(job, request)]
    )

"""Jobs, URLs and limits for the ledger's tests."""

from datetime import UTC, datetime
from hashlib import blake2b

from cinder.models.job import (
    Job,
    JobKind,
    LeaseLimits,
    LedgerPage,
    NewJob,
    NewPage,
    PageLease,
    PageResult,
    PageStatus,
)
from cinder.store.documents import Store

HOST = "https://site.test"


def a_job(
    job_id: str = "job", *, max_pages: int = 100, idempotency_key: str | None = None
) -> NewJob:
    return NewJob(
        id=job_id,
        kind=JobKind.CRAWL,
        owner="owner",
        spec={"url": HOST},
        expires_at=datetime(2030, 1, 1, tzinfo=UTC),
        max_pages=max_pages,
        idempotency_key=idempotency_key,
    )


def a_page(
    path: str,
    *,
    host: str = HOST,
    fate: PageStatus | None = None,
    reason: str = "",
    template: str = "",
    depth: int = 1,
) -> NewPage:
    url = host + path
    return NewPage(
        url=url,
        fingerprint=blake2b(url.encode(), digest_size=16).digest(),
        host=host,
        depth=depth,
        fate=fate,
        reason=reason,
        template=template,
    )


def limits(
    *,
    count: int = 10,
    seconds: float = 30,
    host_concurrency: int = 100,
    least_delay_ms: int = 0,
    is_alone: bool = False,
    crash_tries: int = 3,
) -> LeaseLimits:
    return LeaseLimits(
        count=count,
        seconds=seconds,
        host_concurrency=host_concurrency,
        least_delay_ms=least_delay_ms,
        is_alone=is_alone,
        crash_tries=crash_tries,
    )


FETCHED = PageResult(fate=PageStatus.FETCHED, status_code=200)


async def claim_one(store: Store, *, is_alone: bool = False) -> PageLease:
    lease = await store.ledger.lease("job", limits(count=1, is_alone=is_alone))
    (claim,) = lease.claims
    return claim


async def commit_page(
    store: Store, claim: PageLease, result: PageResult = FETCHED, found: tuple[NewPage, ...] = ()
) -> None:
    await store.ledger.commit(store.ledger.page_commit(claim, lambda _: result, found))


async def the_job(store: Store, job_id: str = "job") -> Job:
    job = await store.ledger.find_job(job_id)
    assert job is not None
    return job


async def ledger_of(store: Store) -> dict[str, LedgerPage]:
    """Return the rows of the job's ledger by path."""
    pages = await store.ledger.list_pages("job", None, offset=0, limit=1000)
    return {page.url.removeprefix(HOST): page for page in pages}

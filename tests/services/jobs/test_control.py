"""Starting, listing and cancelling jobs: their owners, limits and invalid URLs."""

from datetime import timedelta

import pytest

from cinder.crawl.scope import ScopeRules
from cinder.errors import (
    BatchExpired,
    BatchNotFound,
    CrawlExpired,
    CrawlNotFound,
    ErrorCode,
    InvalidRequest,
    Overloaded,
    RateLimited,
)
from cinder.models.job import Job, JobCounts, JobKind, JobStatus, PageResult, PageStatus
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.services.jobs.control import JobControl, JobLimits, JobReport
from cinder.services.jobs.specs import CrawlSpec, request_from_json
from cinder.store.documents import Store
from tests.store.ledger.samples import commit_page, limits
from tests.store.samples import Clock

START = "https://site.test/"


class Waker:
    """Records the jobs that were woken."""

    def __init__(self) -> None:
        self.woken: list[str] = []

    async def __call__(self, job_id: str) -> None:
        self.woken.append(job_id)


@pytest.fixture
def waker() -> Waker:
    return Waker()


@pytest.fixture
def control(store: Store, waker: Waker, clock: Clock) -> JobControl:
    bounds = JobLimits(retention=timedelta(hours=1), max_open=3, max_batch_urls=5, max_pages=50)
    return JobControl(store.ledger, waker, bounds, clock)


async def start_batch(control: JobControl, *urls: str, key: str | None = None) -> Job:
    return (await control.start_batch(urls, ScrapeRequest(url=""), key)).job


async def test_a_crawl_begins_with_its_start_and_somebody_is_woken(
    control: JobControl, waker: Waker, store: Store, clock: Clock
) -> None:
    job = await control.start_crawl(CrawlSpec(url=f"{START}#top", max_pages=9), "alice")

    assert (job.kind, job.owner, job.max_pages, job.found) == (JobKind.CRAWL, "alice", 9, 1)
    assert job.expires_at - job.created_at == timedelta(hours=1)
    assert not job.is_seeded
    assert waker.woken == [job.id]
    (claim,) = (await store.ledger.lease(job.id, limits())).claims
    assert (claim.url, claim.host, claim.depth) == (START, "https://site.test", 1)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (CrawlSpec(url="mailto:x@site.test"), "url"),
        (CrawlSpec(url=START, max_pages=51), "maxPages"),
        (CrawlSpec(url=START, scope=ScopeRules(include=("(",))), "includePatterns"),
    ],
)
async def test_a_crawl_that_cannot_be_is_refused_before_anything_is_kept(
    control: JobControl, store: Store, spec: CrawlSpec, field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await control.start_crawl(spec, "owner")

    assert refused.value.problems[0].field.startswith(field)
    assert await store.ledger.count_open() == 0


async def test_a_batch_has_each_url_once_and_tells_of_the_others(
    control: JobControl, store: Store
) -> None:
    urls = [f"{START}a", f"{START}a#part", "no url", "HTTPS://SITE.TEST:443/a", f"{START}b"]
    request = ScrapeRequest(url="", formats=(Format.HTML,))
    started = await control.start_batch(urls, request)

    assert started.duplicates == 2
    assert [problem.field for problem in started.invalid] == ["urls[2]"]
    pages = await control.list_pages(started.job, None, offset=0, limit=10)
    assert [(page.url, page.fate) for page in pages] == [
        (f"{START}a", None),
        ("no url", PageStatus.FAILED),
        (f"{START}b", None),
    ]
    written = started.job.spec["request"]
    assert isinstance(written, dict)
    assert request_from_json(written, "").formats == (Format.HTML,)


async def test_an_invalid_url_of_a_batch_is_among_its_errors(
    control: JobControl, clock: Clock
) -> None:
    job = await start_batch(control, f"{START}a", "no \x00 url \ud800", "ftp://site.test/")
    clock.move_on(timedelta(seconds=1))

    errors = await control.list_pages(job, [PageStatus.FAILED], offset=0, limit=10)
    assert [error.url for error in errors] == ["no \ufffd url \ufffd", "ftp://site.test/"]
    assert errors[1].reason == "Only http and https URLs can be fetched, not 'ftp'"


@pytest.mark.parametrize(
    ("urls", "handling", "field"),
    [
        ([], ResultHandling.SAVE_ONLY, "urls"),
        ([f"{START}{n}" for n in range(6)], ResultHandling.SAVE_ONLY, "urls"),
        ([START], ResultHandling.RETURN_ONLY, "resultHandling"),
        (["no url", "none either"], ResultHandling.SAVE_ONLY, "urls[0]"),
    ],
)
async def test_a_batch_that_cannot_be_is_refused(
    control: JobControl, store: Store, urls: list[str], handling: ResultHandling, field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await control.start_batch(urls, ScrapeRequest(url="", result_handling=handling))

    assert refused.value.problems[0].field == field
    assert await store.ledger.count_open() == 0


async def test_a_key_starts_a_job_once(control: JobControl) -> None:
    first = await start_batch(control, START, key="once")
    again = await start_batch(control, f"{START}other", key="once")

    assert first.id == again.id


async def test_too_many_jobs_are_refused_until_one_is_over(control: JobControl) -> None:
    first = await start_batch(control, START)
    for _ in range(2):
        await start_batch(control, START)

    with pytest.raises(Overloaded) as refused:
        await start_batch(control, START)
    assert refused.value.code is ErrorCode.OVERLOADED
    await control.cancel(first)
    await start_batch(control, START)


async def test_a_job_is_only_its_owners_and_of_its_kind(control: JobControl) -> None:
    job = await start_batch(control, START)

    assert await control.find(job.id, JobKind.BATCH, "owner") == job
    with pytest.raises(BatchNotFound):
        await control.find(job.id, JobKind.BATCH, "bob")
    with pytest.raises(CrawlNotFound):
        await control.find(job.id, JobKind.CRAWL, "owner")
    with pytest.raises(BatchNotFound):
        await control.find("batch-none\x00" + "x" * 10_000, JobKind.BATCH, "owner")


async def test_a_job_that_has_expired_is_told_from_one_that_never_was(
    control: JobControl, store: Store, clock: Clock
) -> None:
    batch = await start_batch(control, START)
    crawl = await control.start_crawl(CrawlSpec(url=START, max_pages=9), "owner")
    clock.move_on(timedelta(hours=1))

    with pytest.raises(BatchExpired):
        await control.find(batch.id, JobKind.BATCH, "owner")
    await store.ledger.drop_expired(clock.now)
    with pytest.raises(BatchExpired):
        await control.find(batch.id, JobKind.BATCH, "owner")
    with pytest.raises(CrawlExpired):
        await control.find(crawl.id, JobKind.CRAWL, "owner")
    with pytest.raises(CrawlNotFound):
        await control.find(crawl.id, JobKind.CRAWL, "bob")


async def test_a_cancelled_job_stays_cancelled_and_one_that_is_over_stays_as_it_is(
    control: JobControl, store: Store
) -> None:
    job = await start_batch(control, START)
    cancelled = await control.cancel(job)
    assert cancelled.status is JobStatus.CANCELLED
    assert (await store.ledger.lease(job.id, limits())).is_over
    assert await control.cancel(cancelled) == cancelled

    done = await start_batch(control, START)
    await store.ledger.finish_job(done.id, JobStatus.COMPLETED)
    assert (await control.cancel(done)).status is JobStatus.COMPLETED


async def test_jobs_are_listed_to_who_started_them(control: JobControl) -> None:
    job = await start_batch(control, START)

    assert [each.id for each in await control.list_jobs("owner")] == [job.id]
    assert await control.list_jobs("bob") == []


async def test_a_report_tells_how_much_is_done(control: JobControl, store: Store) -> None:
    job = await start_batch(control, *(f"{START}{n}" for n in range(4)))
    first, second = (await store.ledger.lease(job.id, limits(count=2))).claims
    await commit_page(store, first)
    await commit_page(store, second, PageResult(fate=PageStatus.FAILED))

    report = await control.report(job)
    assert (report.found, report.finished, report.progress) == (4, 2, 50.0)


async def test_what_does_not_belong_to_a_crawl_is_not_counted_among_its_pages(
    control: JobControl,
) -> None:
    job = await start_batch(control, START)
    fates = {
        PageStatus.FETCHED: 1,
        PageStatus.OUTSIDE: 50,
        PageStatus.TRAP: 5,
        PageStatus.DUPLICATE: 5,
    }
    report = JobReport(job=job, counts=JobCounts(queued=1, fates=fates))

    assert (report.found, report.finished) == (2, 1)


async def test_one_caller_has_only_so_many_jobs_at_once(store: Store, waker: Waker) -> None:
    control = JobControl(store.ledger, waker, JobLimits(max_open_per_caller=2))
    first = await control.start_crawl(CrawlSpec(url=START), "alice")
    await control.start_crawl(CrawlSpec(url=START), "alice")

    with pytest.raises(RateLimited, match=r"jobs\.max-open-per-caller"):
        await control.start_crawl(CrawlSpec(url=START), "alice")
    with pytest.raises(RateLimited):
        await control.start_batch([START], ScrapeRequest(url="", caller="alice"))
    await control.start_crawl(CrawlSpec(url=START), "bob")
    await control.cancel(first)
    await control.start_crawl(CrawlSpec(url=START), "alice")

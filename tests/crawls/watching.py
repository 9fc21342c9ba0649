"""A crawl, started and watched from outside of the processes that work on it."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from cinder.crawl.scope import ScopeRules
from cinder.models.job import Job, JobKind, JobStatus, LedgerPage, PageStatus
from cinder.services.jobs.control import JobControl, JobLimits
from cinder.services.jobs.specs import CrawlSpec, Deduplication
from cinder.store import open_store
from cinder.store.documents import Store
from tests.crawled_site import SITE, CrawledSite

CALLER = "somebody"
_LOOK_SECONDS = 0.05
_LISTED_AT_ONCE = 1000
_DEEPEST = 60


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the website: where a crawl of it starts, and which pages it has."""

    start: str = "/"
    section: str = ""

    @property
    def pages(self) -> set[str]:
        """The pages that a crawl of it fetches."""
        return {path for path in SITE.pages if path.startswith(f"/{self.section}")}

    def spec(self, site: CrawledSite) -> CrawlSpec:
        """Return the crawl of it."""
        include = (f"^{site.base}/{self.section}",) if self.section else ()
        return CrawlSpec(
            url=site.url(self.start),
            scope=ScopeRules(include=include, max_depth=_DEEPEST),
            max_pages=2 * len(SITE.pages),
            deduplicate=Deduplication.NEAR,
        )


WHOLE = Part()
# 65 pages, with copies and redirects of their own.
SECTION = Part("/ashes/", "ashes/")


class Watch:
    """One crawl, as its ledger tells of it."""

    def __init__(self, store: Store, job: Job) -> None:
        self.store = store
        self.job = job

    @classmethod
    async def start(cls, store: Store, spec: CrawlSpec) -> "Watch":
        """Start a crawl; whoever works on the database finds it by sweeping."""
        return cls(store, await _control(store).start_crawl(spec, CALLER))

    async def status(self) -> JobStatus:
        """Return how it stands."""
        return (await self.find()).status

    async def cancel(self) -> None:
        """Stop it."""
        await _control(self.store).cancel(self.job)

    async def count_fetched(self) -> int:
        """Return how many pages have been fetched."""
        return (await self.find()).fetched

    async def pages(self, *fates: PageStatus) -> list[LedgerPage]:
        """Return the URLs with these fates; every URL where none is named."""
        listed: list[LedgerPage] = []
        while len(listed) % _LISTED_AT_ONCE == 0:
            offset = len(listed)
            listed += await self.store.ledger.list_pages(
                self.job.id, fates or None, offset=offset, limit=_LISTED_AT_ONCE
            )
            if len(listed) == offset:
                break
        return listed

    async def until_fetched(self, count: int, seconds: float) -> None:
        """Wait for so many pages, or the end."""

        async def is_reached() -> bool:
            job = await self.find()
            return job.fetched >= count or job.status.is_over

        await until(is_reached, seconds, f"{count} fetched pages")

    async def until_over(self, seconds: float) -> JobStatus:
        """Wait for the end; return how it ended."""
        await until(self._is_over, seconds, "the end of the crawl")
        return await self.status()

    async def first_after(self, moment: datetime, seconds: float) -> float:
        """Wait for a page that got its fate after a moment; return how long after."""
        found: list[float] = []

        async def is_there() -> bool:
            if await self._is_over():
                return True
            pages = await self.pages(PageStatus.FETCHED, PageStatus.FAILED, PageStatus.DUPLICATE)
            ends = [page.finished_at for page in pages if page.finished_at is not None]
            found[:] = sorted((end - moment).total_seconds() for end in ends if end > moment)
            return bool(found)

        await until(is_there, seconds, "the next page after a kill")
        return found[0] if found else 0.0

    async def _is_over(self) -> bool:
        return (await self.find()).status.is_over

    async def find(self) -> Job:
        """Return the job as it is now."""
        job = await self.store.ledger.find_job(self.job.id)
        assert job is not None
        assert job.kind is JobKind.CRAWL
        return job


def open_watched(url: str) -> Store:
    """Return the database, opened beside those who work on it."""
    return open_store(url, pool_size=2, observe=lambda _name, _seconds: None)


async def until(is_so: Callable[[], Awaitable[bool]], seconds: float, what: str) -> None:
    """Wait until a question is answered with yes.

    Raises:
        TimeoutError: it was not, for as long as that.
    """
    deadline = time.monotonic() + seconds
    while not await is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited {seconds:g} s in vain for {what}")
        await asyncio.sleep(_LOOK_SECONDS)


async def until_time(moment: float) -> None:
    """Wait for a moment of the steady clock: until then, something is not to happen."""
    await asyncio.sleep(max(0, moment - time.monotonic()))


def _control(store: Store) -> JobControl:
    return JobControl(store.ledger, _leave_it_to_sweeping, JobLimits())


async def _leave_it_to_sweeping(_job_id: str) -> None:
    pass

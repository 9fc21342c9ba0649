"""The work of each job, kept from one slice of time to the next."""

from collections import OrderedDict

from cinder.model.job import Job, JobKind
from cinder.services.jobs.batch_work import BatchWork
from cinder.services.jobs.crawl_work import CrawlWork
from cinder.services.jobs.seeds import SitemapReader
from cinder.services.jobs.work import Work
from cinder.store.ledger_base import Ledger

_MAX_KEPT = 50


class Works:
    """Finds the work of a job: what a crawl has met spares the database many questions."""

    def __init__(self, ledger: Ledger, sitemaps: SitemapReader, *, page_timeout_ms: int) -> None:
        self._ledger = ledger
        self._sitemaps = sitemaps
        self._page_timeout_ms = page_timeout_ms
        self._kept: OrderedDict[str, Work] = OrderedDict()

    async def of(self, job: Job) -> Work:
        """Return the work of a job."""
        work = self._kept.pop(job.id, None) or await self._make(job)
        self._kept[job.id] = work
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
        return work

    async def _make(self, job: Job) -> Work:
        if job.kind is JobKind.BATCH:
            return BatchWork(job, self._ledger)
        templates = await self._ledger.count_templates(job.id)
        return CrawlWork(
            job, self._ledger, self._sitemaps, templates, timeout_ms=self._page_timeout_ms
        )

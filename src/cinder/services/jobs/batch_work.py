"""The work of a batch: its URLs, each scraped by the options that all of them share."""

from typing import Any

from cinder.model.job import Claim, Job, JobStatus
from cinder.model.request import ScrapeRequest
from cinder.services.jobs.specs import request_from_json
from cinder.services.jobs.work import Reading, failure_of, fetched_page
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.services.webhook_events import JobEvents
from cinder.store.ledger_base import Ledger


class BatchWork:
    """One batch."""

    def __init__(self, job: Job, ledger: Ledger) -> None:
        self._job = job
        self._ledger = ledger
        self._request: Any = job.spec["request"]  # what `request_to_json` made

    @property
    def least_delay_ms(self) -> int:
        """Return none: a batch has no delay of its own."""
        return 0

    def request(self, claim: Claim) -> ScrapeRequest:
        """Return how a page is to be scraped."""
        return request_from_json(self._request, claim.url)

    def read(self, claim: Claim, outcome: ScrapeOutcome) -> Reading:  # noqa: ARG002 - as all work
        """Return what became of a page."""
        return Reading(result=failure_of(outcome) or fetched_page(outcome))

    def settled(self, reading: Reading) -> None:
        """Do nothing: no page of a batch leads to another."""

    def refuse_landing(self, claim: Claim, url: str) -> str | None:  # noqa: ARG002 - the same
        """Return None: wherever a URL leads, that is its page."""
        return None

    async def seed(self) -> None:
        """Do nothing: a batch has all its URLs from the start."""

    async def end(self) -> None:
        """Note that every URL has been tried; those that failed do not fail the batch."""
        teller = JobEvents.of(self._job)
        await self._ledger.finish_job(self._job.id, JobStatus.COMPLETED, teller=teller)

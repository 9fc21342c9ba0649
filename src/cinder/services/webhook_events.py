"""Webhook events: what a job tells of itself, as signed messages that are ready to be sent."""

import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from cinder import __version__
from cinder.model.document import Json
from cinder.model.job import Job, JobStatus, PageResult
from cinder.model.saved import format_timestamp
from cinder.model.webhook import EventKind, NewEvent, WebhookTarget
from cinder.services.webhook_targets import target_of


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Tells a job's target how the job goes. See `cinder.store.outbox_base.Teller`."""

    target: WebhookTarget
    job: Job
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @classmethod
    def of(cls, job: Job) -> Self | None:
        """Return what tells of a job; None where nobody is to be told."""
        target = target_of(job)
        return None if target is None else cls(target, job)

    def started(self, job: Job) -> NewEvent | None:
        """Tell that work on a job has begun."""
        return self._make(EventKind.STARTED, _describe_job(job))

    def page(self, url: str, result: PageResult) -> NewEvent | None:
        """Tell what became of a URL."""
        return self._make(EventKind.PAGE, {"jobId": self.job.id, **_describe_page(url, result)})

    def ended(self, job: Job) -> NewEvent | None:
        """Tell that a job is over; one that was cancelled is completed, with that status."""
        is_failed = job.status is JobStatus.FAILED
        kind = EventKind.FAILED if is_failed else EventKind.COMPLETED
        return self._make(kind, _describe_job(job))

    def _make(self, kind: EventKind, data: dict[str, Json]) -> NewEvent | None:
        if kind not in self.target.events:
            return None
        event_id, event_type = f"evt_{secrets.token_hex(16)}", f"{self.job.kind}.{kind}"
        body = json.dumps(
            {
                "id": event_id,
                "type": event_type,
                "createdAt": format_timestamp(self.clock()),
                "data": data,
            }
        )
        return NewEvent(
            id=event_id,
            type=event_type,
            job_id=self.job.id,
            owner=self.job.owner,
            url=self.target.url,
            headers={
                **dict(self.target.headers),
                "Content-Type": "application/json",
                "User-Agent": f"cinder-webhooks/{__version__}",
                "X-Cinder-Event": event_type,
                "X-Cinder-Delivery": event_id,
                "X-Cinder-Signature": sign(self.target.secret, body.encode()),
            },
            body=body,
        )


def sign(secret: str, body: bytes) -> str:
    """Return the signature of a message, as its header has it."""
    return "sha256=" + hmac.digest(secret.encode(), body, "sha256").hex()


def _describe_job(job: Job) -> dict[str, Json]:
    return {
        "jobId": job.id,
        "status": job.status.value,
        "found": job.found,
        "fetched": job.fetched,
        "failed": job.failed,
        "startedAt": _format(job.started_at),
        "finishedAt": _format(job.finished_at),
        "endedBy": None if job.ended_by is None else job.ended_by.value,
        "leftOut": {reason.value: count for reason, count in job.left_out.items()},
        "error": job.error,
    }


def _describe_page(url: str, result: PageResult) -> dict[str, Json]:
    return {
        "url": url,
        "fate": result.fate.value,
        "reason": result.reason or None,
        "statusCode": result.status_code,
        "verdict": result.verdict,
        "title": result.title,
        "savedUris": list(result.uris),
    }


def _format(moment: datetime | None) -> str | None:
    return None if moment is None else format_timestamp(moment)

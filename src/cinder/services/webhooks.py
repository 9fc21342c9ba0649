"""Webhook targets, checked before a job starts, and the signed events about its progress."""

import hmac
import json
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from cinder import __version__
from cinder.errors import DnsFailed, EgressBlocked, FieldProblem, Forbidden, InvalidRequest
from cinder.models.document import Json
from cinder.models.http import check_headers
from cinder.models.job import Job, JobStatus, PageResult
from cinder.models.saved import format_timestamp
from cinder.models.url import host_and_port, parse_web_url
from cinder.models.webhook import EventKind, NewEvent, WebhookTarget, read_target
from cinder.services.auth import TokenService, may_fetch_from

SPEC_KEY = "webhook"
"""Under which a job's spec has its target; never to be shown."""

_MIN_SECRET, _MAX_SECRET = 16, 256
_OWN_HEADERS = ("content-type", "user-agent")
_OWN_PREFIX = "x-cinder-"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """What a caller asks for."""

    url: str
    secret: str | None = field(default=None, repr=False)
    events: Collection[str] | None = None
    """Names of kinds of events; None for all."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def make_target(options: WebhookOptions, *, default_secret: str | None = None) -> WebhookTarget:
    """Return the target that a caller asks for, with a secret in any case.

    Raises:
        InvalidRequest: something in it cannot be; all of it is named.
    """
    problems = [*_check_url(options.url), *_check_events(options.events)]
    problems += [*_check_secret(options.secret), *_check_headers(options.headers)]
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    given = options.secret or default_secret
    return WebhookTarget(
        url=parse_web_url(options.url),
        secret=given or f"whsec_{secrets.token_urlsafe(32)}",
        events=frozenset(EventKind(name) for name in options.events or EventKind),
        headers=tuple(options.headers.items()),
        is_secret_generated=given is None,
    )


class WebhookCheck:
    """Tells, before a job is started, whether its events may be sent where they are to go."""

    def __init__(self, callers: TokenService, judge: Callable[[str, int], Awaitable[None]]) -> None:
        """Take who knows how far tokens go, and what judges a host and port for egress."""
        self._callers = callers
        self._judge = judge

    async def require(self, target: WebhookTarget, caller: str) -> None:
        """Return if events may be sent there. Each delivery is judged again.

        Raises:
            Forbidden: the caller's token is for other domains.
            EgressBlocked: the address is not a public one, and no rule allows it.
        """
        policy = await self._callers.policy_of(caller)
        host, port = host_and_port(target.url)
        if not may_fetch_from(policy, target.url):
            allowed = ", ".join(policy.domains)
            raise Forbidden(f"webhook.url: This token may not reach {host}, only {allowed}.")
        try:
            await self._judge(host, port)
        except EgressBlocked as error:
            raise EgressBlocked(f"webhook.url: {error.message}") from error
        except DnsFailed:
            return  # deliveries are tried for a day: the name may resolve by then


def target_of(job: Job) -> WebhookTarget | None:
    """Return whom a job tells; None where it tells nobody, or has expired."""
    written = job.spec.get(SPEC_KEY)
    return read_target(written) if isinstance(written, dict) else None


def _check_url(url: str) -> list[FieldProblem]:
    try:
        parse_web_url(url)
    except ValueError as error:
        return [FieldProblem("webhook.url", str(error))]
    return []


def _check_events(events: Collection[str] | None) -> list[FieldProblem]:
    known = ", ".join(EventKind)
    if events is not None and not events:
        return [FieldProblem("webhook.events", f"At least one is needed of: {known}")]
    return [
        FieldProblem("webhook.events", f"{name[:50]!r} is none of: {known}")
        for name in events or ()
        if name not in list(EventKind)
    ][:1]


def _check_secret(secret: str | None) -> list[FieldProblem]:
    if secret is None or _MIN_SECRET <= len(secret) <= _MAX_SECRET:
        return []
    message = f"A secret has {_MIN_SECRET} to {_MAX_SECRET} characters"
    return [FieldProblem("webhook.secret", f"{message}; without one, cinder makes one")]


def _check_headers(headers: Mapping[str, str]) -> list[FieldProblem]:
    problems = [
        FieldProblem(f"webhook.{problem.field}", problem.message)
        for problem in check_headers(headers)
    ]
    own = [name for name in headers if _is_own(name)]
    message = "This header is set by cinder and cannot be overridden"
    return problems or [FieldProblem(f"webhook.headers.{name[:100]}", message) for name in own]


def _is_own(name: str) -> bool:
    return name.lower() in _OWN_HEADERS or name.lower().startswith(_OWN_PREFIX)


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Tells a job's target how the job goes. See `cinder.store.ledger.EventEmitter`."""

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

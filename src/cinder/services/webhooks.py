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
from cinder.models.caller import CallerPolicy, is_url_within
from cinder.models.document import Json
from cinder.models.http import check_headers
from cinder.models.job import Job, JobStatus, PageResult
from cinder.models.saved import format_timestamp
from cinder.models.url import host_and_port, parse_web_url
from cinder.models.webhook import EventKind, NewEvent, WebhookTarget, read_target

SPEC_KEY = "webhook"
"""The key of the target in a job's spec, which must never be shown."""

_MIN_SECRET, _MAX_SECRET = 16, 256
_OWN_HEADERS = ("content-type", "user-agent")
_OWN_PREFIX = "x-cinder-"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookOptions:
    """A caller's options for a webhook."""

    url: str
    secret: str | None = field(default=None, repr=False)
    events: Collection[str] | None = None
    """The kinds of events; None for all."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def make_target(options: WebhookOptions, *, default_secret: str | None = None) -> WebhookTarget:
    """Return the target of a caller's options, with a generated secret if there is none.

    Raises:
        InvalidRequest: options are not valid; all of them are named.
    """
    problems = _find_problems(options)
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    secret = options.secret or default_secret
    return WebhookTarget(
        url=parse_web_url(options.url),
        secret=secret or f"whsec_{secrets.token_urlsafe(32)}",
        events=frozenset(EventKind(name) for name in options.events or EventKind),
        headers=tuple(options.headers.items()),
        is_secret_generated=secret is None,
    )


async def check_webhook(
    target: WebhookTarget,
    caller: str,
    *,
    policy_of: Callable[[str], Awaitable[CallerPolicy]],
    judge: Callable[[str, int], Awaitable[None]],
) -> None:
    """Return if the events of a job may be sent to a target. Each delivery is checked again.

    `policy_of` looks up the policy of a caller's token, `judge` is the egress check of an address.

    Raises:
        Forbidden: the caller's token is for other domains.
        EgressBlocked: the address is not public, and no rule allows it.
    """
    policy = await policy_of(caller)
    host, port = host_and_port(target.url)
    if not is_url_within(target.url, policy.domains):
        allowed = ", ".join(policy.domains)
        raise Forbidden(f"webhook.url: This token may not reach {host}, only {allowed}.")
    try:
        await judge(host, port)
    except EgressBlocked as error:
        raise EgressBlocked(f"webhook.url: {error.message}") from error
    except DnsFailed:
        return  # deliveries are retried for a day: the name may resolve by then


def target_of(job: Job) -> WebhookTarget | None:
    """Return the target of a job's events; None if it has none, or has expired."""
    data = job.spec.get(SPEC_KEY)
    return read_target(data) if isinstance(data, dict) else None


def _find_problems(options: WebhookOptions) -> list[FieldProblem]:
    problems = []
    try:
        parse_web_url(options.url)
    except ValueError as error:
        problems.append(FieldProblem("webhook.url", str(error)))
    kinds = ", ".join(EventKind)
    unknown = [name for name in options.events or () if name not in list(EventKind)]
    if unknown:
        problems.append(FieldProblem("webhook.events", f"{unknown[0][:50]!r} is none of: {kinds}"))
    elif options.events is not None and not options.events:
        problems.append(FieldProblem("webhook.events", f"At least one is needed of: {kinds}"))
    if options.secret is not None and not _MIN_SECRET <= len(options.secret) <= _MAX_SECRET:
        message = f"A secret has {_MIN_SECRET} to {_MAX_SECRET} characters"
        problems.append(FieldProblem("webhook.secret", f"{message}; without one, cinder makes one"))
    invalid = check_headers(options.headers)
    own = [
        name
        for name in options.headers
        if name.lower() in _OWN_HEADERS or name.lower().startswith(_OWN_PREFIX)
    ]
    message = "This header is set by cinder and cannot be overridden"
    problems += [FieldProblem(f"webhook.{header.field}", header.message) for header in invalid]
    if not invalid:
        problems += [FieldProblem(f"webhook.headers.{name[:100]}", message) for name in own]
    return problems


@dataclass(frozen=True, slots=True)
class JobEvents:
    """Builds the signed events of a job. See `cinder.store.ledger`."""

    target: WebhookTarget
    job: Job
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @classmethod
    def of(cls, job: Job) -> Self | None:
        """Return the events of a job; None if it has no target."""
        target = target_of(job)
        return None if target is None else cls(target, job)

    def started(self, job: Job) -> NewEvent | None:
        """Return the event that a job has started."""
        return self._make(EventKind.STARTED, _describe_job(job))

    def page(self, url: str, result: PageResult) -> NewEvent | None:
        """Return the event of a page's status."""
        data: dict[str, Json] = {
            "jobId": self.job.id,
            "url": url,
            "fate": result.fate.value,
            "reason": result.reason or None,
            "statusCode": result.status_code,
            "verdict": result.verdict,
            "title": result.title,
            "savedUris": list(result.uris),
        }
        return self._make(EventKind.PAGE, data)

    def ended(self, job: Job) -> NewEvent | None:
        """Return the event that a job has ended; a cancelled one is completed, with that status."""
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
    """Return the value of a message's signature header."""
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


def _format(timestamp: datetime | None) -> str | None:
    return None if timestamp is None else format_timestamp(timestamp)

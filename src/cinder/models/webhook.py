"""Webhooks: the target of a job's events, the events, and the state of their delivery."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from cinder.models.document import Json


class EventKind(StrEnum):
    """The events of a job that a webhook can subscribe to."""

    STARTED = "started"
    PAGE = "page"
    """One of its URLs is done."""
    COMPLETED = "completed"
    """The job completed, or was cancelled."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """The receiver of a job's events."""

    url: str
    secret: str = field(repr=False)
    """The key that events are signed with."""
    events: frozenset[EventKind] = frozenset(EventKind)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Extra headers, such as those that a gateway in front of the receiver requires."""
    is_secret_generated: bool = False
    """Whether cinder generated the secret, so that the response must include it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """One signed message to a webhook; every retry sends the same bytes."""

    id: str
    type: str
    """The event type, such as `crawl.page`."""
    job_id: str
    owner: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: str


@dataclass(frozen=True, slots=True)
class DueEvent:
    """An event that is due, claimed by this process."""

    row_id: int
    tries: int
    """How often it was claimed, including now; a smaller number is an outdated claim."""
    event: NewEvent


class EventState(StrEnum):
    """The state of an event's delivery."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    """Delivery was given up; its owner can request another try."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventListing:
    """An event as its owner sees it."""

    id: str
    type: str
    job_id: str
    url: str
    state: EventState
    tries: int
    created_at: datetime
    next_at: datetime | None
    """The earliest time of the next try; None where there is none."""
    finished_at: datetime | None
    error: str | None
    """Why the last try failed."""


def write_target(target: WebhookTarget) -> dict[str, Json]:
    """Return a target as JSON for a job's spec; it contains the secret."""
    return {
        "url": target.url,
        "secret": target.secret,
        "events": [kind.value for kind in EventKind if kind in target.events],
        "headers": dict(target.headers),
        "isSecretGenerated": target.is_secret_generated,
    }


def read_target(data: dict[str, Any]) -> WebhookTarget:  # Any: JSON of known shape
    """Return the target that `write_target` encoded."""
    return WebhookTarget(
        url=data["url"],
        secret=data["secret"],
        events=frozenset(EventKind(name) for name in data["events"]),
        headers=tuple(data["headers"].items()),
        is_secret_generated=data["isSecretGenerated"],
    )

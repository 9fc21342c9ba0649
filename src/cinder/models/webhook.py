"""Webhooks: the target of a job's events, the events, and the state of their delivery."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from cinder.models.document import Json


class EventKind(StrEnum):
    """What a webhook can be told of a job."""

    STARTED = "started"
    PAGE = "page"
    """A URL of it has its fate."""
    COMPLETED = "completed"
    """It is over, to its end or because it was cancelled."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookTarget:
    """Who is told of a job."""

    url: str
    secret: str = field(repr=False)
    """What events are signed with."""
    events: frozenset[EventKind] = frozenset(EventKind)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What to send along, such as what a gateway before the receiver asks for."""
    is_secret_generated: bool = False
    """Whether the caller gave no secret, and has to be told the one that was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """One message to a webhook, whole and signed: sent again, it is the same to the byte."""

    id: str
    type: str
    """What it tells, such as `crawl.page`."""
    job_id: str
    owner: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: str


@dataclass(frozen=True, slots=True)
class DueEvent:
    """An event that is to be sent now, by whoever claimed it."""

    row_id: int
    tries: int
    """How often it was claimed, this time included; whoever has an older number lost the claim."""
    event: NewEvent


class EventState(StrEnum):
    """Where an event stands."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    """It is not tried any more; its owner can have it tried anew."""


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
    """When it is tried next, at the soonest; None where it is not."""
    finished_at: datetime | None
    error: str | None
    """Why the last try failed."""


def write_target(target: WebhookTarget) -> dict[str, Json]:
    """Return a target for a job's spec; it has the secret in it, and is not to be shown."""
    return {
        "url": target.url,
        "secret": target.secret,
        "events": [kind.value for kind in EventKind if kind in target.events],
        "headers": dict(target.headers),
        "isSecretGenerated": target.is_secret_generated,
    }


def read_target(written: dict[str, Any]) -> WebhookTarget:  # Any: as it was written to JSON
    """Return the target that `write_target` wrote."""
    return WebhookTarget(
        url=written["url"],
        secret=written["secret"],
        events=frozenset(EventKind(name) for name in written["events"]),
        headers=tuple(written["headers"].items()),
        is_secret_generated=written["isSecretGenerated"],
    )

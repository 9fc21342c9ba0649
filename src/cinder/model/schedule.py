"""Schedules: jobs that are started by the clock."""

from dataclasses import dataclass
from datetime import datetime

from cinder.model.document import Json
from cinder.model.job import JobKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What is to be started, and when."""

    name: str
    owner: str
    kind: JobKind
    cron: str
    """Five fields, in UTC: minute, hour, day of month, month, day of week."""
    spec: dict[str, Json]
    next_at: datetime

"""Schedules as rows: what is started next, and by whom first."""

import json
from datetime import datetime

from cinder.model.job import JobKind
from cinder.model.schedule import Schedule
from cinder.store.codec import from_milliseconds, to_milliseconds
from cinder.store.dialect import Dialect
from cinder.store.procedure import Procedure, Row, Statement

MAX_DUE = 100

_COLUMNS = "name, owner, kind, cron, next_at, spec"

_ADD = f"""
INSERT INTO webhook.schedules ({_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, cron = excluded.cron,
    next_at = excluded.next_at, spec = excluded.spec
 WHERE schedules.owner = excluded.owner
RETURNING name
"""  # noqa: S608 - columns of ours

_LIST = f"SELECT {_COLUMNS} FROM webhook.schedules WHERE owner = $1 ORDER BY name LIMIT $2"  # noqa: S608 - the same

_DUE = f"""
SELECT {_COLUMNS} FROM webhook.schedules WHERE next_at <= $1 ORDER BY next_at LIMIT $2
"""  # noqa: S608 - the same

_REMOVE = "DELETE FROM webhook.schedules WHERE owner = $1 AND name = $2 RETURNING name"

_MOVE = """
UPDATE webhook.schedules SET next_at = $4 WHERE name = $1 AND owner = $2 AND next_at = $3
RETURNING name
"""


def add_schedule(schedule: Schedule, dialect: Dialect) -> Procedure[bool]:
    """Keep a schedule, over its owner's of that name; False if the name is another's."""
    spec = dialect.pack_text(json.dumps(schedule.spec))
    next_at = to_milliseconds(schedule.next_at)
    args = (schedule.name, schedule.owner, schedule.kind, schedule.cron, next_at, spec)
    rows = yield Statement(_ADD, args)
    return bool(rows)


def list_schedules(owner: str, limit: int, dialect: Dialect) -> Procedure[list[Schedule]]:
    """Return somebody's schedules, by name."""
    rows = yield Statement(_LIST, (owner, limit))
    return [_read_schedule(row, dialect) for row in rows]


def list_due(now: int, dialect: Dialect) -> Procedure[list[Schedule]]:
    """Return the schedules whose time has come."""
    rows = yield Statement(_DUE, (now, MAX_DUE))
    return [_read_schedule(row, dialect) for row in rows]


def remove_schedule(owner: str, name: str) -> Procedure[bool]:
    """Delete somebody's schedule; False if there is none."""
    rows = yield Statement(_REMOVE, (owner, name))
    return bool(rows)


def move_schedule(schedule: Schedule, next_at: datetime) -> Procedure[bool]:
    """Set when a schedule is next due, unless somebody else has."""
    known = to_milliseconds(schedule.next_at)
    args = (schedule.name, schedule.owner, known, to_milliseconds(next_at))
    rows = yield Statement(_MOVE, args)
    return bool(rows)


def _read_schedule(row: Row, dialect: Dialect) -> Schedule:
    return Schedule(
        name=row["name"],
        owner=row["owner"],
        kind=JobKind(row["kind"]),
        cron=row["cron"],
        spec=json.loads(dialect.unpack_text(row["spec"])),
        next_at=from_milliseconds(row["next_at"]),
    )

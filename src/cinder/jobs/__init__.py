"""Durable background jobs: the engines that wake workers, the worker, and schedules."""

from cinder.errors import requires_extra
from cinder.jobs.base import JobEngine


def engine_for(store_url: str, *, heartbeat_seconds: float = 10) -> JobEngine:
    """Return the engine for the database that stores the jobs.

    A process without a heartbeat for `heartbeat_seconds` loses its jobs to other processes.

    Raises:
        ValueError: the database is unknown; the message names those that are supported.
    """
    # Each engine is imported only where it is used, as the driver of its database is.
    scheme = store_url.partition(":")[0]
    if scheme == "sqlite":
        from cinder.jobs.embedded import EmbeddedEngine  # noqa: PLC0415

        return EmbeddedEngine()
    if scheme in ("postgresql", "postgres"):
        with requires_extra("postgres"):
            from cinder.jobs.pgqueuer_engine import PgqueuerEngine  # noqa: PLC0415

        return PgqueuerEngine(store_url, heartbeat_seconds=heartbeat_seconds)
    raise ValueError(
        f"Unknown kind of database {scheme!r}: use sqlite:///path or postgresql://user@host/name"
    )

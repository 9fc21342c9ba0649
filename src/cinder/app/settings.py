"""Settings for parts: errors that name the setting, and each worker's share of the limits."""

from collections.abc import Iterator
from contextlib import contextmanager

from cinder.config.settings import Settings
from cinder.errors import SettingsError


@contextmanager
def settings_errors() -> Iterator[None]:
    """Raise a ValueError of a part as a SettingsError."""
    try:
        yield
    except ValueError as error:
        raise SettingsError(str(error)) from error


DIVIDED_SETTINGS = {
    "server": (
        "max_connections",
        "max_connections_per_address",
        "max_unauthenticated_connections_per_address",
        "max_streams_per_caller",
        "mcp_max_sessions_per_caller",
        "spared_requests",
    ),
    "store": ("pool_size",),
    "egress": ("max_connections",),
    "scrape": (
        "max_concurrency",
        "max_in_flight",
        "max_in_flight_per_caller",
        "max_queued",
        "extract_workers",
        "extract_slow_workers",
        "extract_slow_waiting",
        "pdf_workers",
    ),
    "browser": (
        "worker_pool_min_size_per_process",
        "worker_pool_max_size_per_process",
        "queue_max_waiting",
        "max_starting",
    ),
    "jobs": ("slots", "concurrency", "extract_workers"),
    "webhooks": ("concurrency",),
    "search": ("max_concurrency", "held_results"),
    "llm": ("max_concurrency",),
    "extract": ("max_concurrency", "held_values"),
}
"""By section, the settings that limit all processes of a server together."""


def worker_share(settings: Settings, number: int, size: int) -> Settings:
    """Return the settings of one of `size` workers, numbered from 0.

    The shares add up to the whole, but each worker gets at least one.
    """
    sections = {}
    for name, fields in DIVIDED_SETTINGS.items():
        section = getattr(settings, name)
        # None has a default that follows from another setting, and 0 stays 0.
        shares = {
            field: max(1, whole // size + (number < whole % size))
            for field in fields
            if (whole := getattr(section, field))
        }
        sections[name] = section.model_copy(update=shares)
    return settings.model_copy(update=sections)

"""Builds the rate limits from the settings, counted in memory or together with other processes."""

import time
from pathlib import Path

from cinder.config.serving import ServerSettings
from cinder.errors import SettingsError
from cinder.services.rate_limits import (
    DatabaseCounterStorage,
    MemoryCounterStorage,
    RateLimitBucket,
    RateLimits,
    longest_window,
)
from cinder.store.counts import ScratchCounts, SharedCounts


def make_rate_limits(
    server: ServerSettings, shared: SharedCounts | None, scratch: Path | None = None
) -> RateLimits:
    """Return the limits, counted with other servers where there are any, else in memory.

    The workers of one server count in the file `scratch`.

    Raises:
        SettingsError: one is not written as such.
    """
    check_rate_limits(server)
    limits = {
        RateLimitBucket.TOKEN: server.rate_limit,
        RateLimitBucket.ADDRESS: server.address_rate_limit,
        RateLimitBucket.FAILED_LOGIN: server.failed_login_limit,
    }
    if shared is None and scratch is not None:
        counts = DatabaseCounterStorage(ScratchCounts(scratch), longest_window(limits.values()))
        return RateLimits(counts, limits, clock=time.monotonic)
    if shared is None:
        return RateLimits(MemoryCounterStorage(), limits, clock=time.monotonic)
    return RateLimits(DatabaseCounterStorage(shared, longest_window(limits.values())), limits)


def check_rate_limits(server: ServerSettings) -> None:
    """Return if every limit can be read.

    Raises:
        SettingsError: one is not written as such.
    """
    for name in ("rate_limit", "address_rate_limit", "failed_login_limit"):
        try:
            longest_window([getattr(server, name)])
        except ValueError as error:
            raise SettingsError(f"server.{name.replace('_', '-')}: {error}") from error

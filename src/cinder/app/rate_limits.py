"""The server's rate limits, as its settings have them."""

from limits.aio.storage import MemoryStorage

from cinder.config import ServerSettings, SettingsError
from cinder.services.rate_limits import Bucket, RateLimits
from cinder.services.shared_storage import SharedStorage
from cinder.store.count_base import SharedCounts


def make_rate_limits(server: ServerSettings, shared: SharedCounts | None) -> RateLimits:
    """Return the limits, counted with other servers where there are any, else in memory.

    Raises:
        SettingsError: one is not written as such.
    """
    storage = MemoryStorage() if shared is None else SharedStorage(shared)
    limits = {
        Bucket.TOKEN: server.rate_limit,
        Bucket.ADDRESS: server.address_rate_limit,
        Bucket.FAILED_LOGIN: server.failed_login_limit,
    }
    try:
        return RateLimits(storage, limits)
    except ValueError as error:
        raise SettingsError(f"server: {error}") from error

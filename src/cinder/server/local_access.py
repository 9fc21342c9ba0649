"""Access to the server of a data directory: its API token, and the lock on its port.

The token is meant only for the server of its data directory. Any process on the machine could
listen on the port of a server that is down, so clients check the lock before they send the token.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock, Timeout

from cinder.config.settings import Settings
from cinder.errors import SettingsError

TOKEN_FILE = "api-token"  # noqa: S105 - a file's name


class UnsafeSettings(SettingsError):
    """The server would be open to anyone who can reach it."""


def find_token(settings: Settings) -> str | None:
    """Return the token that callers must send, creating it if needed; None if auth is off.

    Raises:
        UnsafeSettings: the server listens beyond loopback without a configured token.
    """
    if settings.server.auth == "off":
        if not settings.is_loopback:
            raise UnsafeSettings(
                f"server.auth: It is off while the server listens on {settings.server.host}. "
                "Turn it on, or listen on 127.0.0.1."
            )
        return None
    if settings.server.api_token is not None:
        return settings.server.api_token.get_secret_value()
    if not settings.is_loopback:
        raise UnsafeSettings(
            f"server.host: The server would listen on {settings.server.host} without a "
            "configured token. Set CINDER_SERVER__API_TOKEN to a long random string, or listen on "
            "127.0.0.1."
        )
    path = settings.data_dir / TOKEN_FILE
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        # Written completely or not at all; the first of several processes wins.
        with NamedTemporaryFile("w", dir=path.parent, prefix=".token-") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            with suppress(FileExistsError):
                os.link(file.name, path)
    token = path.read_text().strip()
    if not token:
        raise UnsafeSettings(f"The token file {path} is empty. Delete it to have a new one made.")
    return token


# Commands that probe hold it for an instant; only a server holds it longer.
_PROBE_SECONDS = 0.05
_START_SECONDS = 5


@contextmanager
def hold_port_lock(data_dir: Path, port: int) -> Iterator[None]:
    """Hold the lock of a port; it is released when the process ends."""
    with _port_lock(data_dir, port).acquire(timeout=_START_SECONDS):
        yield


def is_port_locked(data_dir: Path, port: int) -> bool:
    """Whether a server of this data directory listens on a port."""
    lock = _port_lock(data_dir, port)
    if not Path(lock.lock_file).exists():
        return False
    try:
        with lock.acquire(timeout=_PROBE_SECONDS, poll_interval=_PROBE_SECONDS / 10):
            return False
    except Timeout:
        return True


def _port_lock(data_dir: Path, port: int) -> FileLock:
    return FileLock(data_dir / f"server-{port}.lock", is_singleton=False, thread_local=False)

"""Access to the server of a data directory: its API token, and the lock on its port.

The token in the data directory is for that directory's server alone. Anybody on the machine may
listen on a port that no server has, and would be given the token by whoever merely asked it.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

from filelock import FileLock, Timeout

from cinder.config import Settings, SettingsError

TOKEN_FILE = "api-token"  # noqa: S105 - a file's name


class UnsafeSettings(SettingsError):
    """The server would be open to anyone who can reach it."""


def find_token(settings: Settings) -> str | None:
    """Return the token callers must send, made if there is none yet; None where auth is off.

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
    return _read_or_make_token(settings.data_dir / TOKEN_FILE)


def _read_or_make_token(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _write_token(path, secrets.token_urlsafe(32))
    token = path.read_text().strip()
    if not token:
        raise UnsafeSettings(f"The token file {path} is empty. Delete it to have a new one made.")
    return token


def _write_token(path: Path, token: str) -> None:
    """Write the file whole or not at all; whoever was first wins."""
    with NamedTemporaryFile("w", dir=path.parent, prefix=".token-") as file:
        file.write(token + "\n")
        file.flush()
        with suppress(FileExistsError):
            os.link(file.name, path)


# Other commands that look hold it for an instant: longer than that, only a server does.
_PROBE_SECONDS = 0.05
_START_SECONDS = 5


@contextmanager
def hold_port_lock(data_dir: Path, port: int) -> Iterator[None]:
    """Hold the mark of a port; it goes with the process, however that ends."""
    lock = _port_lock(data_dir, port)
    lock.acquire(timeout=_START_SECONDS)
    try:
        yield
    finally:
        lock.release()


def is_port_locked(data_dir: Path, port: int) -> bool:
    """Whether a server that uses this directory listens on a port."""
    if not _port_lock_path(data_dir, port).exists():
        return False
    lock = _port_lock(data_dir, port)
    try:
        lock.acquire(timeout=_PROBE_SECONDS, poll_interval=_PROBE_SECONDS / 10)
    except Timeout:
        return True
    lock.release()
    return False


def _port_lock(data_dir: Path, port: int) -> FileLock:
    return FileLock(_port_lock_path(data_dir, port), is_singleton=False, thread_local=False)


def _port_lock_path(data_dir: Path, port: int) -> Path:
    return data_dir / f"server-{port}.lock"

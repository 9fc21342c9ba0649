"""The API token: made at the first start, kept where its owner alone can read it."""

import os
import secrets
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

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
    return _read_or_make(settings.data_dir / TOKEN_FILE)


def _read_or_make(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not path.exists():
        _put(path, secrets.token_urlsafe(32))
    token = path.read_text().strip()
    if not token:
        raise UnsafeSettings(f"The token file {path} is empty. Delete it to have a new one made.")
    return token


def _put(path: Path, token: str) -> None:
    """Write the file whole or not at all; whoever was first wins."""
    with NamedTemporaryFile("w", dir=path.parent, prefix=".token-") as file:
        file.write(token + "\n")
        file.flush()
        with suppress(FileExistsError):
            os.link(file.name, path)

"""The cookies that browsers forget when they close: kept beside the profile and put back."""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.fetch.browser.connection import CommandFailed, ConnectionClosed, Message, Session

_log: FilteringBoundLogger = structlog.get_logger()

FILE_NAME = "session_cookies.json"
_TIMEOUT_SECONDS = 5
# What a cookie is set with; the rest of what browsers tell of one is theirs.
_FIELDS = ("name", "value", "domain", "path", "secure", "httpOnly", "sameSite", "partitionKey")


async def save_cookies(browser: Session, profile: Path) -> None:
    """Keep the cookies that have no date to expire on; on failure the last ones stay.

    A browser whose last window is closed forgets them before it ends: what it then tells does not
    count.
    """
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            found = (await browser.send("Storage.getCookies"))["cookies"]
            if not await _has_window(browser):
                return
        kept = [
            {name: cookie[name] for name in _FIELDS if name in cookie}
            for cookie in found
            if cookie.get("session")
        ]
        _write(profile / FILE_NAME, json.dumps(kept))
    except (CommandFailed, ConnectionClosed, TimeoutError):
        pass  # the browser has ended, or is about to be
    except OSError as error:
        _log.error("logins not saved", profile=profile.name, reason=error.strerror)


async def _has_window(browser: Session) -> bool:
    targets = (await browser.send("Target.getTargets"))["targetInfos"]
    return any(target["type"] == "page" for target in targets)


async def restore_cookies(browser: Session, profile: Path) -> None:
    """Put back the cookies of the session before; one that is refused is left out.

    Only once there is a window: until then the browser is still forgetting the session before.

    Raises:
        ConnectionClosed: the browser has ended.
    """
    for cookie in _read(profile / FILE_NAME):
        with suppress(CommandFailed, TimeoutError):
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                await browser.send("Storage.setCookies", cookies=[cookie])


def _read(path: Path) -> list[Message]:
    try:
        cookies = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return cookies if isinstance(cookies, list) else []


def _write(path: Path, text: str) -> None:
    """Replace a file whole; its reader is its owner alone."""
    new = path.with_suffix(".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    new.replace(path)

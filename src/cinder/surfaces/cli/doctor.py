"""`cinder doctor`: checks every part, and says how to mend the one that does not work."""

import asyncio
import http.client
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cinder.errors import CinderError

if TYPE_CHECKING:
    from cinder.config import Settings

SERVER_TIMEOUT_SECONDS = 3
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")

_MENDING = {
    "database": "Check store.url (CINDER_STORE__URL) and that the database runs and has room.",
    "egress": "Check the rules in egress.allow (CINDER_EGRESS__ALLOW) and free loopback ports.",
    "extraction": "Reinstall cinder (`make setup`), or raise scrape.extract-memory-bytes.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report."""

    part: str
    text: str
    is_fine: bool = True


def doctor() -> None:
    """Check settings, database, egress, extraction, browser and server."""
    from cinder.config import read_settings

    settings = read_settings()
    lines = [_check_settings(settings), _check_data_dir(settings.data_dir)]
    if all(line.is_fine for line in lines):
        lines += asyncio.run(_check_parts(settings))
    lines += [_check_browser(), _check_server(settings)]
    for line in lines:
        print(f"{'ok  ' if line.is_fine else 'FAIL'}  {line.part:<10}  {line.text}")
    if not all(line.is_fine for line in lines):
        raise typer.Exit(1)


def _check_settings(settings: "Settings") -> Line:
    from cinder.surfaces.token import UnsafeSettings, find_token

    try:
        find_token(settings)
    except UnsafeSettings as error:
        return Line("settings", str(error), is_fine=False)
    return Line("settings", f"valid; data in {settings.data_dir}")


def _check_data_dir(path: Path) -> Line:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        return Line("data", f"{path} cannot be made: {error}", is_fine=False)
    if not os.access(path, os.W_OK):
        mending = "Make it writable, or set CINDER_DATA_DIR to another directory."
        return Line("data", f"{path} is not writable. {mending}", is_fine=False)
    free = shutil.disk_usage(path).free // 1024**2
    return Line("data", f"{path} is writable, {free} MiB free")


async def _check_parts(settings: "Settings") -> list[Line]:
    from cinder.app import open_app
    from cinder.surfaces.logs import set_up_logs

    set_up_logs("error")
    try:
        async with open_app(settings) as app:
            findings = await app.health.examine()
    except CinderError as error:
        return [Line("database", f"{error.message}. {_MENDING['database']}", is_fine=False)]
    return [
        Line(finding.part, "works")
        if finding.problem is None
        else Line(finding.part, f"{finding.problem}. {_MENDING[finding.part]}", is_fine=False)
        for finding in findings
    ]


def _check_browser() -> Line:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        return Line("browser", "none found; this version fetches without one")
    return Line("browser", f"{found}; this version does not use it")


def _check_server(settings: "Settings") -> Line:
    """Ask the configured server, with the token found as every command finds it."""
    from cinder.surfaces.token import UnsafeSettings, find_token

    address = f"{settings.server.host}:{settings.server.port}"
    try:
        token = find_token(settings)
        connection = http.client.HTTPConnection(
            settings.server.host, settings.server.port, timeout=SERVER_TIMEOUT_SECONDS
        )
        connection.request("GET", "/readyz", headers={"Authorization": f"Bearer {token}"})
        response = connection.getresponse()
        answer = json.loads(response.read())
        connection.close()
    except ConnectionRefusedError:
        return Line("server", f"none runs on {address}; `cinder serve` starts one")
    except (OSError, http.client.HTTPException, ValueError, UnsafeSettings) as error:
        return Line("server", f"something else answers on {address}: {error!r}", is_fine=False)
    if response.status == http.HTTPStatus.OK:
        return Line("server", f"ready on {address}")
    return Line("server", f"on {address} answers {response.status}: {answer}", is_fine=False)

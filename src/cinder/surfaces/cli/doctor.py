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
    from cinder.services.health import Finding

SERVER_TIMEOUT_SECONDS = 3

_ELSEWHERE = "Make it writable, or set CINDER_DATA_DIR to another directory."
_MENDING = {
    "database": "Check store.url (CINDER_STORE__URL) and that the database runs.",
    "egress": "Check the rules in egress.allow (CINDER_EGRESS__ALLOW) and free loopback ports.",
    "browser": "Pages that need no browser can be scraped without one.",
    "jobs": "Batches and crawls wait until then; check store.url (CINDER_STORE__URL).",
    "model": "All that needs no model works without it; one that is being loaded takes longer.",
    "extraction": "Reinstall cinder (`make setup`), or raise scrape.extract-memory-bytes.",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the report."""

    part: str
    text: str
    is_fine: bool = True


def doctor() -> None:
    """Check settings, database, egress, extraction, browser, jobs, search, model and server."""
    from cinder.config import read_settings

    settings = read_settings()
    lines = [_check_data_dir(settings.data_dir)]
    if lines[0].is_fine:
        lines += [_check_settings(settings), *asyncio.run(_check_parts(settings))]
        lines += [_check_server(settings)]
    for line in lines:
        print(f"{'ok  ' if line.is_fine else 'FAIL'}  {line.part:<10}  {line.text}")
    if not all(line.is_fine for line in lines):
        raise typer.Exit(1)


def _check_settings(settings: "Settings") -> Line:
    from cinder.config import unknown_variables
    from cinder.surfaces.token import UnsafeSettings, find_token

    try:
        find_token(settings)
    except UnsafeSettings as error:
        return Line("settings", str(error), is_fine=False)
    if unknown := unknown_variables():
        return Line("settings", f"valid; not settings of this version: {', '.join(unknown)}")
    return Line("settings", "valid")


def _check_data_dir(path: Path) -> Line:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = f"{path} cannot be made: {error.strerror}. {_ELSEWHERE}"
        return Line("data", reason, is_fine=False)
    if not os.access(path, os.W_OK):
        return Line("data", f"{path} is not writable. {_ELSEWHERE}", is_fine=False)
    free = shutil.disk_usage(path).free // 1024**2
    return Line("data", f"{path} is writable, {free} MiB free")


async def _check_parts(settings: "Settings") -> list[Line]:
    from cinder.app import open_app
    from cinder.config import SettingsError
    from cinder.surfaces.logs import set_up_logs

    set_up_logs("error")
    try:
        async with open_app(settings) as app:
            findings = await app.health.try_out()
    except CinderError as error:
        unchecked = (
            Line(part, "not checked", is_fine=False)
            for part in ("egress", "extraction", "browser", "jobs")
        )
        # The message is for every caller; what it leaves out of the cause is for the owner.
        said = f" ({error.__cause__})" if error.__cause__ else ""
        reason = f"{error.message.rstrip('.')}{said}. {_MENDING['database']}"
        return [Line("database", reason, is_fine=False), *unchecked]
    except SettingsError as error:
        return [Line("settings", str(error), is_fine=False)]
    return [_describe(finding) for finding in findings]


def _describe(finding: "Finding") -> Line:
    if finding.problem is None:
        return Line(finding.part, "works")
    # What is wrong with a search provider says by itself what to do.
    mending = _MENDING.get(finding.part, "The other providers answer without it.")
    return Line(finding.part, f"{finding.problem.rstrip('.')}. {mending}", is_fine=False)


def _check_server(settings: "Settings") -> Line:
    """Ask the configured server, with the token found as every command finds it."""
    from cinder.surfaces.cli.server_link import may_be_told_token
    from cinder.surfaces.token import find_token

    address = f"{settings.server.host}:{settings.server.port}"
    if not may_be_told_token(settings):
        return Line("server", f"none runs on {address}; `cinder serve` starts one")
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
    except (OSError, http.client.HTTPException, ValueError):
        return Line("server", f"something other than cinder answers on {address}", is_fine=False)
    if response.status == http.HTTPStatus.OK:
        return Line("server", f"ready on {address}")
    if response.status == http.HTTPStatus.UNAUTHORIZED:
        return Line("server", f"on {address} a server with another token answers", is_fine=False)
    return Line("server", f"on {address} is not ready: {answer.get('parts')}", is_fine=False)

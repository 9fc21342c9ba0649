"""`cinder doctor`: checks settings, data directory, parts and the running server."""

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

_DATA_DIR_REMEDY = "Make it writable, or set CINDER_DATA_DIR to another directory."
_REMEDIES = {
    "database": "Check store.url (CINDER_STORE__URL) and that the database runs.",
    "egress": "Check the rules in egress.allow (CINDER_EGRESS__ALLOW) and free loopback ports.",
    "browser": "Pages that need no browser can be scraped without one.",
    "jobs": "Batches and crawls wait until then; check store.url (CINDER_STORE__URL).",
    "model": "All that needs no model works without it; one that is being loaded takes longer.",
    "extraction": "Reinstall cinder (`make setup`), or raise scrape.extract-memory-bytes.",
}


@dataclass(frozen=True, slots=True)
class DoctorLine:
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


def _check_settings(settings: "Settings") -> DoctorLine:
    from cinder.config import unknown_variables
    from cinder.server.local_access import UnsafeSettings, find_token

    try:
        find_token(settings)
    except UnsafeSettings as error:
        return DoctorLine("settings", str(error), is_fine=False)
    if unknown := unknown_variables():
        return DoctorLine("settings", f"valid; not settings of this version: {', '.join(unknown)}")
    return DoctorLine("settings", "valid")


def _check_data_dir(path: Path) -> DoctorLine:
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = f"{path} cannot be made: {error.strerror}. {_DATA_DIR_REMEDY}"
        return DoctorLine("data", reason, is_fine=False)
    if not os.access(path, os.W_OK):
        return DoctorLine("data", f"{path} is not writable. {_DATA_DIR_REMEDY}", is_fine=False)
    free = shutil.disk_usage(path).free // 1024**2
    return DoctorLine("data", f"{path} is writable, {free} MiB free")


async def _check_parts(settings: "Settings") -> list[DoctorLine]:
    from cinder.app import open_app
    from cinder.config import SettingsError
    from cinder.logs import configure_logs

    configure_logs("error")
    try:
        async with open_app(settings) as app:
            findings = await app.health.try_out()
    except CinderError as error:
        unchecked = (
            DoctorLine(part, "not checked", is_fine=False)
            for part in ("egress", "extraction", "browser", "jobs")
        )
        # The message is for every caller; what it leaves out of the cause is for the owner.
        said = f" ({error.__cause__})" if error.__cause__ else ""
        reason = f"{error.message.rstrip('.')}{said}. {_REMEDIES['database']}"
        return [DoctorLine("database", reason, is_fine=False), *unchecked]
    except SettingsError as error:
        return [DoctorLine("settings", str(error), is_fine=False)]
    return [_describe_finding(finding) for finding in findings]


def _describe_finding(finding: "Finding") -> DoctorLine:
    if finding.problem is None:
        return DoctorLine(finding.part, "works")
    # What is wrong with a search provider says by itself what to do.
    mending = _REMEDIES.get(finding.part, "The other providers answer without it.")
    return DoctorLine(finding.part, f"{finding.problem.rstrip('.')}. {mending}", is_fine=False)


def _check_server(settings: "Settings") -> DoctorLine:
    """Ask the configured server, with the token found as every command finds it."""
    from cinder.cli.backends import may_send_token
    from cinder.server.local_access import find_token

    address = f"{settings.server.host}:{settings.server.port}"
    if not may_send_token(settings):
        return DoctorLine("server", f"none runs on {address}; `cinder serve` starts one")
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
        return DoctorLine("server", f"none runs on {address}; `cinder serve` starts one")
    except (OSError, http.client.HTTPException, ValueError):
        return DoctorLine(
            "server", f"something other than cinder answers on {address}", is_fine=False
        )
    if response.status == http.HTTPStatus.OK:
        return DoctorLine("server", f"ready on {address}")
    if response.status == http.HTTPStatus.UNAUTHORIZED:
        return DoctorLine(
            "server", f"on {address} a server with another token answers", is_fine=False
        )
    return DoctorLine("server", f"on {address} is not ready: {answer.get('parts')}", is_fine=False)

"""`cinder doctor`: checks settings, data directory, parts and the running server."""

import asyncio
import os
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from cinder.errors import CinderError

if TYPE_CHECKING:
    from cinder.config.settings import Settings

_REMEDIES = {
    "database": "Check store.url (CINDER_STORE__URL) and that the database runs.",
    "egress": "Check the rules in egress.allow (CINDER_EGRESS__ALLOW) and free loopback ports.",
    "browser": "Pages that need no browser can be scraped without one.",
    "jobs": "Batches and crawls wait until then; check store.url (CINDER_STORE__URL).",
    "model": "All that needs no model works without it; one that is being loaded takes longer.",
    "extraction": "Reinstall cinder (`make setup`), or raise scrape.extract-memory-bytes.",
}

# A language of each script, as fontconfig names it.
_SCRIPTS = {
    "Latin": "en",
    "Greek": "el",
    "Cyrillic": "ru",
    "Hebrew": "he",
    "Arabic": "ar",
    "Devanagari": "hi",
    "Bengali": "bn",
    "Tamil": "ta",
    "Thai": "th",
    "Georgian": "ka",
    "Armenian": "hy",
    "Ethiopic": "am",
    "Chinese": "zh-cn",
    "Japanese": "ja",
    "Korean": "ko",
}
_FONTCONFIG_SECONDS = 20
_REMOTE_BROWSER = (
    "works; it is remote (browser.cdp-url): redirects and resources of the pages that it renders "
    "do not pass the egress guard"
)

_PLAIN_MODULES = (
    "works, without compiled modules: the main content takes twice as long to find. "
    "Install a C compiler, then cinder again."
)


@dataclass(frozen=True, slots=True)
class DoctorLine:
    """One line of the report."""

    part: str
    text: str
    is_fine: bool = True


def doctor() -> None:
    """Check settings, database, egress, proxies, parsing, browser, jobs, search, fonts, server."""
    from cinder.config.settings import read_settings

    settings = read_settings()
    lines = _check_settings(settings)
    if lines[0].is_fine:
        lines += [*asyncio.run(_check_parts(settings)), _check_fonts(), _check_server(settings)]
    for line in lines:
        print(f"{'ok  ' if line.is_fine else 'FAIL'}  {line.part:<10}  {line.text}")
    if not all(line.is_fine for line in lines):
        raise typer.Exit(1)


def _check_settings(settings: "Settings") -> list[DoctorLine]:
    """Check the data directory and, if it is usable, the settings."""
    from shutil import disk_usage

    from cinder.config.settings import unknown_variables
    from cinder.server.local_access import UnsafeSettings, find_token

    path = settings.data_dir
    remedy = "Make it writable, or set CINDER_DATA_DIR to another directory."
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        reason = f"{path} cannot be made: {error.strerror}. {remedy}"
        return [DoctorLine("data", reason, is_fine=False)]
    if not os.access(path, os.W_OK):
        return [DoctorLine("data", f"{path} is not writable. {remedy}", is_fine=False)]
    free = disk_usage(path).free // 1024**2
    data = DoctorLine("data", f"{path} is writable, {free} MiB free")
    try:
        find_token(settings)
    except UnsafeSettings as error:
        return [data, DoctorLine("settings", str(error), is_fine=False)]
    unknown = ", ".join(unknown_variables())
    text = f"valid; not settings of this version: {unknown}" if unknown else "valid"
    return [data, DoctorLine("settings", text)]


async def _check_parts(settings: "Settings") -> list[DoctorLine]:
    from cinder.app.composition import open_app
    from cinder.errors import SettingsError
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
        # The message is for every caller; its cause is for the owner only.
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        reason = f"{error.message.rstrip('.')}{cause}. {_REMEDIES['database']}"
        return [DoctorLine("database", reason, is_fine=False), *unchecked]
    except SettingsError as error:
        return [DoctorLine("settings", str(error), is_fine=False)]
    lines = []
    for finding in findings:
        # Problems of search providers already say what to do.
        remedy = _REMEDIES.get(finding.part, "The other providers answer without it.")
        if finding.part.startswith("proxies:"):
            remedy = "Check them in egress.proxy-pools; requests use those of the pool that work."
        problem = finding.problem
        text = "works" if problem is None else f"{problem.rstrip('.')}. {remedy}"
        if finding.part == "browser" and problem is None and settings.browser.cdp_url is not None:
            text = _REMOTE_BROWSER
        if finding.part == "extraction" and problem is None and not _has_compiled_modules():
            text = _PLAIN_MODULES
        lines.append(DoctorLine(finding.part, text, is_fine=problem is None))
    return lines


def _has_compiled_modules() -> bool:
    """Whether the modules that take most of a page's time were compiled when cinder was built."""
    spec = find_spec("cinder.html.main_content.trees")
    return spec is not None and not str(spec.origin).endswith(".py")


def _check_fonts() -> DoctorLine:
    """Say which scripts have no font; a browser shows boxes for them, in screenshots alone."""
    missing = []
    for script, language in _SCRIPTS.items():
        try:
            listed = subprocess.run(  # noqa: S603 - the arguments are constants
                ["fc-list", f":lang={language}", "family"],  # noqa: S607 - wherever it is installed
                capture_output=True,
                timeout=_FONTCONFIG_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            text = "not checked: fc-list of fontconfig cannot be run"
            return DoctorLine("fonts", text)
        if not listed.stdout.strip():
            missing.append(script)
    if not missing:
        return DoctorLine("fonts", "every script that was looked for has one")
    text = (
        f"none for {', '.join(missing)}: screenshots show boxes instead of their letters. "
        "Install fonts, such as fonts-noto-core and fonts-noto-cjk."
    )
    return DoctorLine("fonts", text)


def _check_server(settings: "Settings") -> DoctorLine:
    """Probe the configured server, with the token that other commands use."""
    from http import HTTPStatus
    from http.client import HTTPException

    from cinder.cli.backends import PROBE_SECONDS, ServerClient, may_send_token
    from cinder.server.local_access import find_token

    server = settings.server
    address = f"{server.host}:{server.port}"
    if not may_send_token(settings):
        return DoctorLine("server", f"none runs on {address}; `cinder serve` starts one")
    try:
        client = ServerClient(server.host, server.port, find_token(settings))
        status, answer = client.send("GET", "/readyz", timeout_seconds=PROBE_SECONDS)
    except ConnectionRefusedError:
        return DoctorLine("server", f"none runs on {address}; `cinder serve` starts one")
    except (OSError, HTTPException, ValueError):
        reason = f"something other than cinder answers on {address}"
        return DoctorLine("server", reason, is_fine=False)
    if status == HTTPStatus.OK:
        return DoctorLine("server", f"ready on {address}")
    if status == HTTPStatus.UNAUTHORIZED:
        reason = f"on {address} a server with another token answers"
        return DoctorLine("server", reason, is_fine=False)
    return DoctorLine("server", f"on {address} is not ready: {answer.get('parts')}", is_fine=False)

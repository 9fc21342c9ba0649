"""`cinder open-browser`: a person's login, and the scrapes that use it."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings
from cinder.errors import ProfileLocked
from cinder.models.request import Profile
from tests.browser.conftest import browser_settings
from tests.browser.display import Display, open_display
from tests.browser.processes import browsers_on, until
from tests.browser.runtime import scrape
from tests.site import Site


@pytest.fixture(scope="module")
def display() -> Iterator[Display]:
    with open_display() as running:
        yield running


@asynccontextmanager
async def open_browser(
    data_dir: Path, url: str | None, display: Display | None, **variables: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the command until it ends by itself, or the exit."""
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY")}
    environment |= {"CINDER_DATA_DIR": str(data_dir), **variables}
    environment |= {"CINDER_EGRESS__ALLOW": "127.0.0.0/8", "CINDER_EGRESS__PORTS": "1-65535"}
    if display is not None:
        environment["DISPLAY"] = display.name
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "cinder", "open-browser", *([url] if url else [])),
        env=environment,
        cwd=data_dir.parent,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.communicate()


async def is_open(process: asyncio.subprocess.Process) -> None:
    """Wait until the command says that the window is there."""
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while b"Log in where you need to" not in (line := await process.stdout.readline()):
            assert line, "it ended"


async def finish(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    async with asyncio.timeout(60):
        output, errors = await process.communicate()
    return process.returncode, (output + errors).decode()


def settings(folder: Path, *, lock_timeout_ms: int = 10_000) -> Settings:
    return browser_settings(folder, master_profile_lock_timeout_ms=lock_timeout_ms)


async def cookies(app: App, site: Site, profile: Profile) -> set[str]:
    """The cookies that a scrape sends."""
    outcome = await scrape(app, site, "/echo", profile=profile)
    text = outcome.document.content.text or outcome.document.content.markdown or ""
    return {name for name in ("session=one", "kept=two") if name in text}


async def _saved(profile: Path) -> None:
    await until(lambda: "one" in _read(profile / "session_cookies.json"))


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


async def test_a_login_serves_master_scrapes_and_no_others(
    tmp_path: Path, site: Site, display: Display
) -> None:
    data = tmp_path / "data"
    async with open_browser(data, site.url("/login"), display) as process:
        await is_open(process)
        await _saved(data / "browser" / "master")
        assert display.close_windows() >= 1
        code, output = await finish(process)
    assert (code, "Closed by you. Logins saved." in output) == (0, True)
    assert browsers_on(data) == []
    async with open_app(settings(data)) as app:
        for _ in range(2):
            assert await cookies(app, site, Profile.MASTER) == {"session=one", "kept=two"}
        assert await cookies(app, site, Profile.DEFAULT) == set()


async def test_a_master_scrape_waits_for_the_window_or_names_its_process(
    tmp_path: Path, site: Site, display: Display
) -> None:
    data = tmp_path / "data"
    async with open_browser(data, site.url("/login"), display) as process:
        await is_open(process)
        async with open_app(settings(data, lock_timeout_ms=100)) as app:
            with pytest.raises(ProfileLocked, match=f"process {process.pid}"):
                await cookies(app, site, Profile.MASTER)
            assert await cookies(app, site, Profile.DEFAULT) == set()
        await _saved(data / "browser" / "master")
        async with open_app(settings(data, lock_timeout_ms=60_000)) as app:
            async with asyncio.TaskGroup() as tasks:
                waiting = tasks.create_task(cookies(app, site, Profile.MASTER))
                display.close_windows()
                await finish(process)
            assert waiting.result() == {"session=one", "kept=two"}


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
async def test_a_stop_saves_the_login_and_closes_the_window(
    tmp_path: Path, site: Site, display: Display, signal_number: int
) -> None:
    data = tmp_path / "data"
    never = {"CINDER_BROWSER__MASTER_LOGIN_REFRESH_INTERVAL_MS": "600000"}
    async with open_browser(data, site.url("/login"), display, **never) as process:
        await is_open(process)
        await site.asked("/late-data")
        process.send_signal(signal_number)
        code, output = await finish(process)
    assert (code, "Stopped." in output, "Traceback" in output) == (0, True, False)
    assert browsers_on(data) == []
    async with open_app(settings(data, lock_timeout_ms=0)) as app:
        assert await cookies(app, site, Profile.MASTER) == {"session=one", "kept=two"}


async def test_a_window_that_nobody_closes_is_closed_in_the_end(
    tmp_path: Path, display: Display
) -> None:
    variables = {"CINDER_BROWSER__MASTER_LOGIN_TIMEOUT_MS": "1000"}
    async with open_browser(tmp_path / "data", None, display, **variables) as process:
        code, output = await finish(process)
    assert (code, "Closed after" in output) == (0, True)


async def test_a_first_page_that_does_not_load_is_told_of(tmp_path: Path, display: Display) -> None:
    async with open_browser(tmp_path / "data", "http://10.1.2.3/", display) as process:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            lines = [(await process.stdout.readline()).decode() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        await finish(process)
    assert lines[2].startswith("The first page did not load: ")


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [(None, 1, "BROWSER_UNAVAILABLE"), ("file:///etc/passwd", 2, "Only http and https")],
)
async def test_what_cannot_be_opened_is_told_in_a_line(
    tmp_path: Path, url: str | None, code: int, said: str
) -> None:
    async with open_browser(tmp_path / "data", url, None) as process:
        found, output = await finish(process)
    assert (found, said in output, "Traceback" in output) == (code, True, False)


async def test_a_second_window_is_refused_while_the_first_is_open(
    tmp_path: Path, display: Display
) -> None:
    data, variables = tmp_path / "data", {"CINDER_BROWSER__MASTER_PROFILE_LOCK_TIMEOUT_MS": "0"}
    async with open_browser(data, None, display) as first:
        await is_open(first)
        async with open_browser(data, None, display, **variables) as second:
            code, output = await finish(second)
    assert (code, "PROFILE_LOCKED" in output, f"process {first.pid}" in output) == (1, True, True)

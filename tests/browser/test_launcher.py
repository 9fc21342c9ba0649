"""Launchers on disposable profiles and on the master profile, and the login window."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from cinder.browser.launcher import (
    DisposableLauncher,
    LaunchSettings,
    LoginBrowser,
    LoginOptions,
    MasterProfileLauncher,
    has_display,
    needs_no_sandbox,
    without_proxies,
)
from cinder.browser.profiles import COOKIES_FILE_NAME, ProfileRoot
from cinder.errors import BrowserUnavailable
from tests.browser.conftest import browser_settings
from tests.browser.display import Display, open_display
from tests.browser.processes import browsers_on, descendants
from tests.browser.runtime import make_profile, open_equipment
from tests.site import Site

COOKIE = {"name": "session", "value": "1", "domain": "example.com", "path": "/"}


@pytest.fixture
async def equipment(tmp_path: Path) -> AsyncIterator[LaunchSettings]:
    async with open_equipment(browser_settings(tmp_path)) as ready:
        yield ready


async def test_a_workers_profile_goes_when_it_does(
    equipment: LaunchSettings, tmp_path: Path
) -> None:
    launcher = DisposableLauncher(equipment, ProfileRoot(tmp_path), headless=True)
    worker = await launcher.start()
    assert worker.profile is not None
    assert worker.profile.is_dir()
    await launcher.close(worker)
    assert not worker.profile.exists()


async def test_a_master_brings_back_the_session_of_the_one_before(
    equipment: LaunchSettings, tmp_path: Path
) -> None:
    processes = descendants()
    profile = make_profile(tmp_path)
    launcher = MasterProfileLauncher(equipment, profile)
    worker = await launcher.start()
    await worker.browser.send("Storage.setCookies", cookies=[COOKIE])
    await launcher.close(worker)
    assert (profile / COOKIES_FILE_NAME).is_file()
    worker = await launcher.start()
    [found] = (await worker.browser.send("Storage.getCookies"))["cookies"]
    await launcher.close(worker)
    assert (found["name"], found["session"]) == ("session", True)
    assert descendants() <= processes


def test_chromium_runs_without_its_sandbox_by_choice_or_as_root() -> None:
    is_root = os.geteuid() == 0
    assert [needs_no_sandbox(choice) for choice in ("on", "off", "auto")] == [False, True, is_root]


def test_browsers_hear_of_no_other_way_out() -> None:
    given = {"HTTP_PROXY": "a", "no_proxy": "b", "all_proxy": "c", "HOME": "/home"}
    assert without_proxies(given) == {"HOME": "/home"}


@pytest.fixture(scope="module")
def display() -> Iterator[Display]:
    with open_display() as running:
        yield running


@asynccontextmanager
async def a_window(
    folder: Path, display: Display, options: LoginOptions
) -> AsyncIterator[tuple[LoginBrowser, str | None]]:
    """Open a window and its first page; the second value tells what is wrong with that."""
    async with open_equipment(browser_settings(folder)) as equipment:
        seeing = replace(equipment, environment={**equipment.environment, "DISPLAY": display.name})
        window = await LoginBrowser.open(seeing, make_profile(folder), options)
        try:
            with equipment.proxy.issue_credentials() as proxy_credentials:
                yield window, await window.show(proxy_credentials)
        finally:
            await window.close()


async def test_a_window_shows_its_first_page_until_a_person_closes_it(
    tmp_path: Path, display: Display, website: Site
) -> None:
    processes = descendants()
    options = LoginOptions(initial_url=website.url("/login"), refresh_seconds=0.1)
    async with a_window(tmp_path, display, options) as (window, problem):
        assert (problem, website.hits("/login")) == (None, 1)
        display.close_windows()
        assert await window.wait_until_closed()
    assert descendants() <= processes


async def test_a_window_that_is_closed_at_once_is_just_closed(
    tmp_path: Path, display: Display, website: Site
) -> None:
    options = LoginOptions(initial_url=website.url("/silent"))
    async with open_equipment(browser_settings(tmp_path)) as equipment:
        seeing = replace(equipment, environment={**equipment.environment, "DISPLAY": display.name})
        window = await LoginBrowser.open(seeing, make_profile(tmp_path), options)
        for browser in browsers_on(tmp_path):
            browser.kill()
        with equipment.proxy.issue_credentials() as proxy_credentials:
            assert await window.show(proxy_credentials) is None
        assert await window.wait_until_closed()
        await window.close()


async def test_the_wait_for_a_person_has_an_end(tmp_path: Path, display: Display) -> None:
    options = LoginOptions(initial_url="about:blank", timeout_seconds=0.2, refresh_seconds=0.1)
    async with a_window(tmp_path, display, options) as (window, problem):
        assert problem is None
        assert not await window.wait_until_closed()


async def test_logins_are_saved_as_they_are_made(
    tmp_path: Path, display: Display, website: Site
) -> None:
    options = LoginOptions(initial_url=website.url("/login"), timeout_seconds=0.5)
    saved = tmp_path / "master" / COOKIES_FILE_NAME
    async with a_window(tmp_path, display, options) as (window, _):
        await website.asked("/late-data")
        await window.wait_until_closed()
        assert '"session"' in saved.read_text()


@pytest.mark.parametrize(
    ("url", "timeout_seconds", "problem"),
    [("http://10.1.2.3/", 30, ""), ("/silent", 0.2, "it took too long to load")],
)
async def test_a_first_page_that_does_not_load_is_told_and_the_window_stays(
    tmp_path: Path,
    display: Display,
    website: Site,
    url: str,
    timeout_seconds: float,
    problem: str,
) -> None:
    first = url if "://" in url else website.url(url)
    options = LoginOptions(initial_url=first, navigate_timeout_seconds=timeout_seconds)
    async with a_window(tmp_path, display, options) as (_, told):
        assert told is not None
        assert problem in told
        assert browsers_on(tmp_path)


@pytest.mark.parametrize("environment", [{}, {"DISPLAY": ""}])
async def test_without_a_display_there_is_no_window(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    async with open_equipment(browser_settings(tmp_path)) as equipment:
        blind = replace(equipment, environment=environment)
        with pytest.raises(BrowserUnavailable, match="Xvfb"):
            await LoginBrowser.open(blind, tmp_path, LoginOptions(initial_url="about:blank"))


@pytest.mark.parametrize(
    ("environment", "platform", "is_there"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({}, "darwin", True),
        ({}, "win32", True),
    ],
)
def test_a_display_is_told_by_the_environment_or_the_system(
    environment: dict[str, str], platform: str, is_there: bool
) -> None:
    assert has_display(environment, platform) is is_there

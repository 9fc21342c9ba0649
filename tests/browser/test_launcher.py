"""Starting workers: on throw-away profiles, and on a person's own."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cinder.browser.launcher import (
    DisposableLauncher,
    LaunchSettings,
    MasterProfileLauncher,
    needs_no_sandbox,
    without_proxies,
)
from cinder.browser.profiles import COOKIES_FILE_NAME, ProfileRoot
from tests.browser.conftest import browser_settings
from tests.browser.processes import descendants
from tests.browser.runtime import make_profile, open_equipment

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

"""Cookies of a session, kept over the browser's end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cinder.fetch.browser.connection import ConnectionClosed, Message, Session
from cinder.fetch.browser.profiles import ProfileRoot
from cinder.fetch.browser.session_cookies import FILE_NAME, restore_cookies, save_cookies
from cinder.fetch.browser.worker import WorkerLimits
from tests.fetch.browser.conftest import browser_settings
from tests.fetch.browser.runtime import open_equipment, start_worker

FAR_AWAY = 4_000_000_000


@asynccontextmanager
async def a_browser(folder: Path) -> AsyncIterator[Session]:
    async with open_equipment(browser_settings(folder.parent)) as equipment:
        worker = await start_worker(equipment, ProfileRoot(folder).make_slave(), WorkerLimits())
        try:
            await worker.browser.send("Target.createTarget", url="about:blank")
            yield worker.browser
        finally:
            await worker.close()


def a_cookie(name: str, **fields: object) -> Message:
    return {"name": name, "value": "1", "domain": "example.com", "path": "/", **fields}


async def cookies_of(browser: Session) -> dict[str, tuple[str, bool]]:
    """Each cookie's domain and whether it ends with the session."""
    found = (await browser.send("Storage.getCookies"))["cookies"]
    return {cookie["name"]: (cookie["domain"], cookie["session"]) for cookie in found}


async def test_session_cookies_come_back_as_they_were_in_the_next_browser(tmp_path: Path) -> None:
    async with a_browser(tmp_path / "one") as browser:
        cookies = [
            a_cookie("host"),
            a_cookie("wide", domain=".example.com", httpOnly=True),
            a_cookie("__Host-strict", secure=True),
            a_cookie("dated", expires=FAR_AWAY),
        ]
        await browser.send("Storage.setCookies", cookies=cookies)
        await save_cookies(browser, tmp_path)
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    async with a_browser(tmp_path / "two") as browser:
        await restore_cookies(browser, tmp_path)
        assert await cookies_of(browser) == {
            "host": ("example.com", True),
            "wide": (".example.com", True),
            "__Host-strict": ("example.com", True),
        }


async def test_a_cookie_that_the_browser_refuses_costs_no_other(tmp_path: Path) -> None:
    wrong = a_cookie("__Host-wide", domain=".example.com", secure=True)
    kept = [wrong, {"nonsense": 1}, a_cookie("good")]
    (tmp_path / FILE_NAME).write_text(json.dumps(kept))
    async with a_browser(tmp_path / "one") as browser:
        await restore_cookies(browser, tmp_path)
        assert await cookies_of(browser) == {"good": ("example.com", True)}


async def test_a_browser_without_a_window_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps([a_cookie("old")]))
    async with a_browser(tmp_path / "one") as browser:
        gone = asyncio.get_running_loop().create_future()
        browser.on("Target.targetDestroyed", lambda event: gone.set_result(event["targetId"]))
        [target] = (await browser.send("Target.getTargets"))["targetInfos"]
        await browser.send("Target.closeTarget", targetId=target["targetId"])
        assert await gone == target["targetId"]
        await save_cookies(browser, tmp_path)
    assert "old" in (tmp_path / FILE_NAME).read_text()


@pytest.mark.parametrize("text", ["", "{", "{}", "null"])
async def test_a_file_that_holds_no_cookies_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    async with a_browser(tmp_path / "one") as browser:
        await restore_cookies(browser, tmp_path)
        assert await cookies_of(browser) == {}


async def test_what_was_saved_stays_when_the_browser_or_the_disk_fails(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text(json.dumps([a_cookie("old")]))
    async with a_browser(tmp_path / "one") as browser:
        await save_cookies(browser, tmp_path / "no such folder")
    await save_cookies(browser, tmp_path)
    assert "old" in (tmp_path / FILE_NAME).read_text()
    with pytest.raises(ConnectionClosed):
        await restore_cookies(browser, tmp_path)

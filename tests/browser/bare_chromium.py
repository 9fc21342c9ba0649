"""One tab of a real Chromium, for tests of what a tab is told; nothing else of cinder runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cinder.browser.cdp import CdpSession
from cinder.browser.chromium import BrowserFinder
from cinder.browser.process import BrowserProcess, start_process
from cinder.browser.tab import Tab

_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1280,800",
)


@asynccontextmanager
async def open_tab(profile: Path) -> AsyncIterator[Tab]:
    """Start a browser and open a tab in it. All names below `.test` are this machine's."""
    process = await start_process(
        BrowserFinder(home=Path.home()).find_headless().path,
        [*_ARGUMENTS, f"--user-data-dir={profile}"],
        environment={"HOME": str(profile)},
        log=profile / "browser.log",
    )
    try:
        session, frame = await _attach(process)
        tab = Tab(session, frame)
        for command in ("Page.enable", "Network.enable"):
            await session.send(command)
        await session.send("Page.setLifecycleEventsEnabled", enabled=True)
        yield tab
    finally:
        process.kill()
        await process.wait_ended(5)
        process.connection.close()


async def _attach(process: BrowserProcess) -> tuple[CdpSession, str]:
    browser = process.connection.browser
    target = (await browser.send("Target.createTarget", url="about:blank"))["targetId"]
    attached = await browser.send("Target.attachToTarget", targetId=target, flatten=True)
    return process.connection.session(attached["sessionId"]), target


async def show(tab: Tab, html: str) -> None:
    """Make a tab show a document."""
    await tab.session.send("Page.setDocumentContent", frameId=tab.frame_id, html=html)

"""A login window on the master profile, watched until a person closes it."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic

from cinder.browser.cdp import CommandFailed, ConnectionClosed
from cinder.browser.launcher import LaunchSettings
from cinder.browser.profiles import restore_cookies, save_cookies
from cinder.browser.tab import DownloadStarted
from cinder.browser.worker import BrowserLaunch, BrowserWorker
from cinder.egress import ProxyCredentials
from cinder.errors import BrowserUnavailable, CinderError

_NO_DISPLAY = (
    "There is no display to open a browser window on. Run this on a desktop, through `ssh -X`, or "
    "in a virtual display that you can see (`Xvfb` with a VNC server, and DISPLAY set to it)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginOptions:
    """How a login window is opened, and for how long."""

    initial_url: str
    arguments: Sequence[str] = ()
    navigate_timeout_seconds: float = 30
    refresh_seconds: float = 1
    timeout_seconds: float = 1800


class LoginBrowser:
    """A window on the master profile. Whoever opens it holds the profile's lock."""

    def __init__(self, worker: BrowserWorker, options: LoginOptions) -> None:
        self._worker = worker
        self._options = options
        self._has_restored = False

    @classmethod
    async def open(
        cls, equipment: LaunchSettings, profile: Path, options: LoginOptions
    ) -> "LoginBrowser":
        """Open the window.

        Raises:
            BrowserUnavailable: there is no browser, or no display.
        """
        _require_display(equipment.environment)
        executable = equipment.finder.find_full()
        arguments = equipment.command_line.headed(
            profile=profile,
            proxy_url=equipment.proxy.url,
            added=(*options.arguments, "about:blank"),
        )
        launch = BrowserLaunch(
            executable=executable.path,
            arguments=arguments,
            environment=equipment.environment,
            profile=profile,
            closes_popups=False,
        )
        limits = replace(equipment.limits, max_memory_bytes=None)
        return cls(await BrowserWorker.start(launch, equipment.proxy, limits), options)

    async def show(self, proxy_credentials: ProxyCredentials) -> str | None:
        """Put back earlier logins and show the first page; return what went wrong with that.

        Raises:
            BrowserUnavailable: no window opened.
        """
        try:
            tab = (await self._worker.adopt_tab(proxy_credentials)).tab
            await restore_cookies(self._worker.browser, self._worker.profile)
            self._has_restored = True
            if self._options.initial_url == "about:blank":
                return None
            async with asyncio.timeout(self._options.navigate_timeout_seconds):
                await tab.session.send("Page.enable")
                # By these events it is told when the page begins to load.
                await tab.session.send("Page.setLifecycleEventsEnabled", enabled=True)
                await tab.navigate(self._options.initial_url)
        except TimeoutError:
            return "it took too long to load"
        except ConnectionClosed:
            return None  # the person was quick to close it
        except BrowserUnavailable:
            raise
        except (CinderError, CommandFailed, DownloadStarted, ValueError) as error:
            return str(error)
        return None

    async def wait_until_closed(self) -> bool:
        """Save the logins now and then until the person is done; return whether they were."""
        deadline = monotonic() + self._options.timeout_seconds
        with suppress(ConnectionClosed, CommandFailed):
            while monotonic() < deadline:
                await save_cookies(self._worker.browser, self._worker.profile)
                targets = await self._worker.browser.send("Target.getTargets")
                if not any(target["type"] == "page" for target in targets["targetInfos"]):
                    return True
                await self._worker.wait_ended(self._options.refresh_seconds)
            return False
        return True

    async def close(self) -> None:
        """Close the window."""
        try:
            # Before they were put back, saving would lose earlier ones.
            if self._worker.is_running and self._has_restored:
                await save_cookies(self._worker.browser, self._worker.profile)
        finally:
            await self._worker.close()


def has_display(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a window can be shown: macOS and Windows do not say so in the environment."""
    if platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))


def _require_display(environment: Mapping[str, str]) -> None:
    if not has_display(environment):
        raise BrowserUnavailable(_NO_DISPLAY)

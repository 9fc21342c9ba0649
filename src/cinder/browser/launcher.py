"""Starts browsers: workers on disposable profiles or the master profile, and the login window."""

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.browser.cdp import CommandFailed, ConnectionClosed
from cinder.browser.chromium import BrowserFinder, CommandLine
from cinder.browser.profiles import ProfileRoot, restore_cookies, save_cookies
from cinder.browser.tab import DownloadStarted
from cinder.browser.worker import BrowserLaunch, BrowserWorker, BrowserWorkerLimits
from cinder.egress.credentials import ProxyCredentials
from cinder.egress.proxy import ForwardProxy
from cinder.errors import BrowserUnavailable, CinderError

_log: FilteringBoundLogger = structlog.get_logger()


class WorkerLauncher(Protocol):
    """Starts and closes the workers of a pool."""

    async def start(self) -> BrowserWorker:
        """Start a worker.

        Raises:
            BrowserUnavailable: no browser can be started.
        """
        ...

    async def close(self, worker: BrowserWorker) -> None:
        """Close a worker and remove its files."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSettings:
    """The settings that all workers are started with."""

    finder: BrowserFinder
    command_line: CommandLine
    environment: Mapping[str, str]
    proxy: ForwardProxy
    limits: BrowserWorkerLimits


class DisposableLauncher:
    """Starts workers on profiles of their own, which are deleted with them."""

    def __init__(self, settings: LaunchSettings, profiles: ProfileRoot, *, headless: bool) -> None:
        self._settings = settings
        self._profiles = profiles
        self._headless = headless

    async def start(self) -> BrowserWorker:
        """Start a worker on a new profile."""
        settings = self._settings
        finder = settings.finder
        executable = finder.find_headless() if self._headless else finder.find_full()
        try:
            profile = await asyncio.to_thread(self._profiles.make_disposable)
        except OSError as error:
            raise BrowserUnavailable(
                f"No browser profile can be made in {self._profiles.path}: {error.strerror}"
            ) from error
        proxy_url = settings.proxy.url
        arguments = (
            settings.command_line.headless(
                profile=profile, proxy_url=proxy_url, is_shell=executable.is_shell
            )
            if self._headless
            else settings.command_line.headed(profile=profile, proxy_url=proxy_url, added=())
        )
        try:
            return await _start(settings, executable.path, arguments, profile)
        except BaseException:
            await asyncio.to_thread(self._profiles.remove, profile)
            raise

    async def close(self, worker: BrowserWorker) -> None:
        """Close a worker and delete its profile."""
        try:
            await worker.close()
        finally:
            if worker.profile is not None:
                await asyncio.to_thread(self._profiles.remove, worker.profile)


class MasterProfileLauncher:
    """Starts a worker on a person's profile, and restores the logins of the last session."""

    def __init__(self, settings: LaunchSettings, profile: Path) -> None:
        self._settings = settings
        self._profile = profile

    async def start(self) -> BrowserWorker:
        """Start a headless worker on the profile."""
        settings = self._settings
        # Only a full browser can read the profile of the login window's full browser.
        executable = settings.finder.find_full()
        arguments = settings.command_line.master(
            profile=self._profile, proxy_url=settings.proxy.url
        )
        worker = await _start(settings, executable.path, arguments, self._profile)
        try:
            # This window stays open: the browser forgets the session with its last one.
            await worker.browser.send("Target.createTarget", url="about:blank")
            await restore_cookies(worker.browser, self._profile)
        except BaseException as error:
            await worker.kill()
            if isinstance(error, (CommandFailed, ConnectionClosed)):
                raise BrowserUnavailable("The browser started and ended") from error
            raise
        return worker

    async def close(self, worker: BrowserWorker) -> None:
        """Save the logins and close the worker."""
        try:
            if worker.failure is None:
                await save_cookies(worker.browser, self._profile)
        finally:
            await worker.close()


async def _start(
    settings: LaunchSettings, executable: Path, arguments: list[str], profile: Path
) -> BrowserWorker:
    launch = BrowserLaunch(
        executable=executable,
        arguments=arguments,
        environment=settings.environment,
        profile=profile,
    )
    worker = await BrowserWorker.start(launch, settings.proxy, settings.limits)
    _log.info("browser started", pid=worker.pid, profile=profile.name, executable=executable.name)
    if settings.command_line.no_sandbox:
        _log.warning("browser without sandbox", reason="root has none, or browser.sandbox is off")
    return worker


def needs_no_sandbox(choice: str) -> bool:
    """Whether Chromium must run without its sandbox: by choice, or because root cannot have one."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return choice == "off" or (choice == "auto" and is_root)


def without_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without proxy variables, which would bypass the egress proxy."""
    return {name: value for name, value in environment.items() if "proxy" not in name.lower()}


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
    """A window on the master profile, watched until a person closes it.

    The caller must hold the profile's lock.
    """

    def __init__(self, worker: BrowserWorker, profile: Path, options: LoginOptions) -> None:
        self._worker = worker
        self._profile = profile
        self._options = options
        self._has_restored = False

    @classmethod
    async def open(
        cls, settings: LaunchSettings, profile: Path, options: LoginOptions
    ) -> "LoginBrowser":
        """Open the window.

        Raises:
            BrowserUnavailable: there is no browser, or no display.
        """
        if not has_display(settings.environment):
            raise BrowserUnavailable(_NO_DISPLAY)
        executable = settings.finder.find_full()
        arguments = settings.command_line.headed(
            profile=profile,
            proxy_url=settings.proxy.url,
            added=(*options.arguments, "about:blank"),
        )
        launch = BrowserLaunch(
            executable=executable.path,
            arguments=arguments,
            environment=settings.environment,
            profile=profile,
            closes_popups=False,
        )
        limits = replace(settings.limits, max_memory_bytes=None)
        worker = await BrowserWorker.start(launch, settings.proxy, limits)
        return cls(worker, profile, options)

    async def show(self, proxy_credentials: ProxyCredentials) -> str | None:
        """Restore earlier logins and show the first page; return an error message if that fails.

        Raises:
            BrowserUnavailable: no window opened.
        """
        try:
            tab = (await self._worker.adopt_tab(proxy_credentials)).tab
            await restore_cookies(self._worker.browser, self._profile)
            self._has_restored = True
            if self._options.initial_url == "about:blank":
                return None
            async with asyncio.timeout(self._options.navigate_timeout_seconds):
                await tab.session.send("Page.enable")
                # These events show when the page starts to load.
                await tab.session.send("Page.setLifecycleEventsEnabled", enabled=True)
                await tab.navigate(self._options.initial_url)
        except TimeoutError:
            return "it took too long to load"
        except ConnectionClosed:
            return None  # the person closed the window
        except BrowserUnavailable:
            raise
        except (CinderError, CommandFailed, DownloadStarted, ValueError) as error:
            return str(error)
        return None

    async def wait_until_closed(self) -> bool:
        """Save the logins regularly until the window is closed; return whether it was in time."""
        deadline = monotonic() + self._options.timeout_seconds
        with suppress(ConnectionClosed, CommandFailed):
            while monotonic() < deadline:
                await save_cookies(self._worker.browser, self._profile)
                targets = await self._worker.browser.send("Target.getTargets")
                if not any(target["type"] == "page" for target in targets["targetInfos"]):
                    return True
                await self._worker.wait_ended(self._options.refresh_seconds)
            return False
        return True

    async def close(self) -> None:
        """Close the window."""
        try:
            # Saving before earlier logins are restored would lose them.
            if self._worker.is_running and self._has_restored:
                await save_cookies(self._worker.browser, self._profile)
        finally:
            await self._worker.close()


def has_display(environment: Mapping[str, str], platform: str = sys.platform) -> bool:
    """Whether a window can be shown; macOS and Windows have no variable for it."""
    if platform in ("darwin", "win32"):
        return True
    return bool(environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY"))

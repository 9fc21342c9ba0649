"""Launchers: start and close workers, on disposable profiles or on the master profile."""

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.browser.cdp import CommandFailed, ConnectionClosed
from cinder.browser.chromium import BrowserFinder, CommandLine
from cinder.browser.profiles import ProfileRoot, restore_cookies, save_cookies
from cinder.browser.worker import BrowserLaunch, BrowserWorker, BrowserWorkerLimits
from cinder.egress import ForwardProxy
from cinder.errors import BrowserUnavailable

_log: FilteringBoundLogger = structlog.get_logger()


class WorkerLauncher(Protocol):
    """Starts workers for a pool, and ends them."""

    async def start(self) -> BrowserWorker:
        """Start a worker.

        Raises:
            BrowserUnavailable: no browser can be started.
        """
        ...

    async def close(self, worker: BrowserWorker) -> None:
        """End a worker and all that is left of it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSettings:
    """What all workers are started with."""

    finder: BrowserFinder
    command_line: CommandLine
    environment: Mapping[str, str]
    proxy: ForwardProxy
    limits: BrowserWorkerLimits


class DisposableLauncher:
    """Starts workers on profiles of their own, which go when they do."""

    def __init__(self, equipment: LaunchSettings, profiles: ProfileRoot, *, headless: bool) -> None:
        self._equipment = equipment
        self._profiles = profiles
        self._headless = headless

    async def start(self) -> BrowserWorker:
        """Start a worker on a new profile."""
        equipment = self._equipment
        finder = equipment.finder
        executable = finder.find_headless() if self._headless else finder.find_full()
        try:
            profile = await asyncio.to_thread(self._profiles.make_disposable)
        except OSError as error:
            raise BrowserUnavailable(
                f"No browser profile can be made in {self._profiles.path}: {error.strerror}"
            ) from error
        proxy_url = equipment.proxy.url
        arguments = (
            equipment.command_line.headless(
                profile=profile, proxy_url=proxy_url, is_shell=executable.is_shell
            )
            if self._headless
            else equipment.command_line.headed(profile=profile, proxy_url=proxy_url, added=())
        )
        try:
            return await _start(equipment, executable.path, arguments, profile)
        except BaseException:
            await asyncio.to_thread(self._profiles.remove, profile)
            raise

    async def close(self, worker: BrowserWorker) -> None:
        """End a worker and delete its profile."""
        try:
            await worker.close()
        finally:
            await asyncio.to_thread(self._profiles.remove, worker.profile)


class MasterProfileLauncher:
    """Starts a worker on a person's profile; the logins of the session before are put back."""

    def __init__(self, equipment: LaunchSettings, profile: Path) -> None:
        self._equipment = equipment
        self._profile = profile

    async def start(self) -> BrowserWorker:
        """Start a headless worker on the profile."""
        equipment = self._equipment
        # Only a full browser reads what the full browser of the login wrote.
        executable = equipment.finder.find_full()
        arguments = equipment.command_line.master(
            profile=self._profile, proxy_url=equipment.proxy.url
        )
        worker = await _start(equipment, executable.path, arguments, self._profile)
        try:
            # A window that stays: with its last one the browser would forget the session.
            await worker.browser.send("Target.createTarget", url="about:blank")
            await restore_cookies(worker.browser, self._profile)
        except (CommandFailed, ConnectionClosed) as error:
            await worker.kill()
            raise BrowserUnavailable("The browser started and ended") from error
        except BaseException:
            await worker.kill()
            raise
        return worker

    async def close(self, worker: BrowserWorker) -> None:
        """Save the logins and end the worker."""
        try:
            if worker.failure is None:
                await save_cookies(worker.browser, self._profile)
        finally:
            await worker.close()


async def _start(
    equipment: LaunchSettings, executable: Path, arguments: list[str], profile: Path
) -> BrowserWorker:
    launch = BrowserLaunch(
        executable=executable,
        arguments=arguments,
        environment=equipment.environment,
        profile=profile,
    )
    worker = await BrowserWorker.start(launch, equipment.proxy, equipment.limits)
    _log.info("browser started", pid=worker.pid, profile=profile.name, executable=executable.name)
    if equipment.command_line.no_sandbox:
        _log.warning("browser without sandbox", reason="root has none, or browser.sandbox is off")
    return worker


def needs_no_sandbox(choice: str) -> bool:
    """Whether Chromium must run without its sandbox: by choice, or because root cannot have one."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return choice == "off" or (choice == "auto" and is_root)


def without_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which nothing tells a browser of another way out."""
    return {name: value for name, value in environment.items() if "proxy" not in name.lower()}

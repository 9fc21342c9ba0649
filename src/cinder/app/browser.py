"""Builds the browser pools and the login window from the settings."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.app.settings import settings_errors
from cinder.browser.blocking import ListLimits, PageBlocking
from cinder.browser.chromium import BrowserFinder, CommandLine, check_extra_arguments
from cinder.browser.engine import BrowserParts
from cinder.browser.identity import IdentitySettings
from cinder.browser.launcher import (
    DisposableLauncher,
    LaunchSettings,
    LoginBrowser,
    LoginOptions,
    MasterProfileLauncher,
    WorkerLauncher,
    has_display,
    needs_no_sandbox,
    without_proxies,
)
from cinder.browser.pool import (
    BrowserWorkerPool,
    DefaultBrowserWorkerPool,
    MasterBrowserWorkerPool,
    PoolLimits,
)
from cinder.browser.profiles import ProfileLock, ProfileRoot, is_disposable_name
from cinder.browser.remote import RemoteLauncher, RemoteUrl
from cinder.browser.tab import read_script
from cinder.browser.visit import VisitSettings
from cinder.browser.waiting import WaitPolicy
from cinder.browser.worker import BrowserWorkerLimits
from cinder.config.outbound import BrowserSettings
from cinder.config.settings import Settings, environment
from cinder.egress.credentials import Route
from cinder.egress.dialers import Upstream
from cinder.egress.proxy import ForwardProxy
from cinder.metrics import Metrics, counting
from cinder.models.request import Profile, ProxyTier

_log: FilteringBoundLogger = structlog.get_logger()


@asynccontextmanager
async def open_browsers(
    settings: Settings, proxy: ForwardProxy, metrics: Metrics
) -> AsyncIterator[BrowserParts]:
    """Open the pools; a browser starts when the first page needs one.

    Raises:
        SettingsError: a part cannot be built from the settings.
    """
    scrape = settings.scrape
    with settings_errors():
        equipment = make_equipment(settings, proxy)
        remote = read_remote_url(settings.browser)
        profiles = ProfileRoot(settings.browser_root)
        parts = BrowserParts(
            finder=equipment.finder,
            pools=_make_pools(settings, equipment, profiles, remote, metrics),
            is_remote=remote is not None,
            blocking=PageBlocking.read(settings.browser.filter_lists, ListLimits()),
            identity=_make_identity(settings.browser),
            visit=VisitSettings(
                wait=WaitPolicy(
                    navigate_timeout_seconds=scrape.navigate_timeout_ms / 1000,
                    script_seconds=scrape.script_timeout_ms / 1000,
                    smart_wait=scrape.smart_wait_enabled,
                    network_idle_seconds=scrape.network_idle_timeout_ms / 1000,
                    check_interval_seconds=scrape.stability_check_interval_ms / 1000,
                    max_wait_seconds=scrape.stability_max_wait_ms / 1000,
                    stable_rounds=scrape.stability_threshold,
                    length_change_threshold=scrape.stability_length_change_threshold,
                ),
                max_body_bytes=scrape.max_body_bytes,
                max_screenshot_height=settings.browser.screenshot_max_height,
            ),
            proxy=proxy,
            upstream_tiers=upstream_tiers(settings.browser),
        )
    if remote is not None:
        _log.warning(
            "remote browser without egress guard",
            setting="browser.cdp-url",
            browser=remote.origin,
            meaning="redirects and resources of pages that it renders are not checked",
        )
    if swept := await asyncio.to_thread(profiles.sweep):
        _log.info("profiles of ended processes removed", profiles=swept)
    async with AsyncExitStack() as opened:
        for name, pool in parts.pools.items():
            await opened.enter_async_context(pool)
            metrics.watch_pool(name, partial(_read_state, pool))
        yield parts


def _read_state(pool: BrowserWorkerPool, name: str) -> int:
    return int(getattr(pool.state, name))


def make_equipment(settings: Settings, proxy: ForwardProxy) -> LaunchSettings:
    """Return the settings that browsers are started with."""
    browser = settings.browser
    return LaunchSettings(
        finder=BrowserFinder(
            executable=browser.executable_path, channel=browser.browser_channel, home=Path.home()
        ),
        command_line=CommandLine(
            added=browser.launch_args,
            left_out=browser.ignore_default_args,
            without_defaults=browser.ignore_all_default_args,
            no_sandbox=needs_no_sandbox(browser.sandbox),
        ),
        environment=without_proxies(environment()),
        proxy=proxy,
        limits=BrowserWorkerLimits(
            max_pages=browser.worker_max_pages,
            max_pages_in_context=browser.context_max_pages,
            max_memory_bytes=browser.max_memory_bytes,
            start_timeout_seconds=browser.start_timeout_ms / 1000,
        ),
    )


def make_lock(settings: Settings, profile: Path) -> ProfileLock:
    """Return the lock on the profile that people log in with."""
    timeout_ms = settings.browser.master_profile_lock_timeout_ms
    return ProfileLock(profile, timeout_seconds=timeout_ms / 1000)


def master_profile(settings: Settings) -> Path:
    """Return the folder of the profile that people log in with.

    Raises:
        ValueError: its name is not allowed.
    """
    browser = settings.browser
    name = browser.default_profile_id
    try:
        is_allowed = re.fullmatch(browser.profile_id_regex, name) is not None
    except re.error as error:
        raise ValueError(f"browser.profile-id-regex is no regular expression: {error}") from error
    if not is_allowed or is_disposable_name(name):
        raise ValueError(
            f"browser.default-profile-id: {name!r} does not match browser.profile-id-regex "
            f"({browser.profile_id_regex}), or is the name of a worker's profile"
        )
    return settings.browser_root / name


def make_upstream(browser: BrowserSettings) -> Upstream | None:
    """Return the upstream proxy of browsers, if there is one.

    Raises:
        ValueError: its URL is invalid.
    """
    if browser.proxy_server is None:
        return None
    return Upstream(
        server=browser.proxy_server,
        username=browser.proxy_username,
        password=browser.proxy_password.get_secret_value(),
        bypass=browser.proxy_bypass,
    )


def _make_pools(
    settings: Settings,
    equipment: LaunchSettings,
    profiles: ProfileRoot,
    remote: RemoteUrl | None,
    metrics: Metrics,
) -> dict[Profile, BrowserWorkerPool]:
    browser = settings.browser
    limits = PoolLimits(
        min_size=browser.worker_pool_min_size_per_process,
        max_size=browser.worker_pool_max_size_per_process,
        queue_timeout_seconds=browser.queue_offer_timeout_ms / 1000,
        idle_seconds=browser.worker_idle_ms / 1000,
        max_starting=browser.max_starting,
        max_waiting=browser.queue_max_waiting,
    )
    profile = master_profile(settings)
    launcher: WorkerLauncher
    if remote is None:
        launcher = DisposableLauncher(equipment, profiles, headless=browser.slave_headless)
    else:
        launcher = RemoteLauncher(
            remote,
            equipment.proxy,
            equipment.limits,
            max_message_bytes=browser.cdp_max_message_bytes,
            ca_file=settings.egress.ca_file,
        )
    return {
        Profile.DEFAULT: DefaultBrowserWorkerPool(
            launcher,
            limits,
            counting(metrics.recycles),
        ),
        Profile.MASTER: MasterBrowserWorkerPool(
            MasterProfileLauncher(equipment, profile),
            make_lock(settings, profile),
            limits,
        ),
    }


def read_remote_url(browser: BrowserSettings) -> RemoteUrl | None:
    """Return the address of the remote browser, if there is one.

    Raises:
        ValueError: its URL is invalid.
    """
    return None if browser.cdp_url is None else RemoteUrl.parse(browser.cdp_url.get_secret_value())


def _make_identity(browser: BrowserSettings) -> IdentitySettings:
    path = browser.stealth_script
    try:
        script = read_script("stealth") if path is None else path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"browser.stealth-script: {path} cannot be read: {error}") from error
    return IdentitySettings(
        user_agent=browser.user_agent,
        user_agents=browser.user_agents,
        accept_language=browser.accept_language,
        locale=browser.locale,
        timezone_id=browser.timezone_id,
        extra_headers=tuple(browser.extra_headers.items()),
        stealth_script=script if browser.stealth_enabled else None,
    )


def upstream_tiers(browser: BrowserSettings) -> frozenset[ProxyTier]:
    """Return the tiers whose connections use the upstream proxy.

    Raises:
        ValueError: the settings name an unknown tier.
    """
    known = (ProxyTier.BASIC, ProxyTier.STEALTH)
    for tier in browser.proxy_tiers:
        if tier not in known:
            raise ValueError(f"browser.proxy-tiers: {tier!r} is none of: {', '.join(known)}")
    tiers = frozenset(ProxyTier(tier) for tier in browser.proxy_tiers)
    return tiers if browser.proxy_server else frozenset()


# Shows a page in the master browser. Returns when the window is closed, and whether the person
# closed it.
LogIn: TypeAlias = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLogin:
    """An open browser window for a person."""

    profile: Path
    problem: str | None
    """Why the first page could not be shown, if so."""
    window: LoginBrowser


@asynccontextmanager
async def open_login_window(
    settings: Settings, proxy: ForwardProxy, *, url: str | None = None
) -> AsyncIterator[OpenLogin]:
    """Open a browser window on the master profile, and hold its lock until the exit.

    Raises:
        SettingsError: the settings do not allow it.
        ProfileLocked: another process uses the profile.
        BrowserUnavailable: there is no browser, or no display.
    """
    with settings_errors():
        profile = master_profile(settings)
        browser = settings.browser
        options = LoginOptions(
            initial_url=url or browser.master_login_initial_page_url,
            arguments=check_extra_arguments(browser.master_login_args, "browser.master-login-args"),
            navigate_timeout_seconds=browser.master_login_navigate_timeout_ms / 1000,
            refresh_seconds=browser.master_login_refresh_interval_ms / 1000,
            timeout_seconds=browser.master_login_timeout_ms / 1000,
        )
        # The same route as scrapes with the profile: sites should see one address for one login.
        is_through_upstream = ProxyTier.BASIC in upstream_tiers(settings.browser)
        route = Route.UPSTREAM if is_through_upstream else Route.DIRECT
        equipment = make_equipment(settings, proxy)
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(make_lock(settings, profile).hold())
        proxy_credentials = opened.enter_context(proxy.issue_credentials(route=route))
        window = await LoginBrowser.open(equipment, profile, options)
        opened.push_async_callback(window.close)
        problem = await window.show(proxy_credentials)
        yield OpenLogin(profile=profile, problem=problem, window=window)


def make_log_in(settings: Settings, proxy: ForwardProxy) -> LogIn | None:
    """Return the function that lets a person log in; None without a display."""

    async def log_in(url: str) -> bool:
        async with open_login_window(settings, proxy, url=url) as login:
            return await login.window.wait_until_closed()

    return log_in if has_display(environment()) else None

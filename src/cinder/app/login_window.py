"""The window in which a person logs in, opened over a way out that is there already."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

from cinder.app.browser import make_equipment, make_lock, master_profile, upstream_tiers
from cinder.app.values import reading_settings
from cinder.config import BrowserSettings, Settings, environment
from cinder.egress import ForwardProxy, Route
from cinder.fetch.browser.command_line import check_added
from cinder.fetch.browser.login import LoginBrowser, LoginOptions, has_display
from cinder.model.request import ProxyTier

# Shows a person a page in the master browser; returns, when the window is closed, whether he
# closed it himself.
LogIn: TypeAlias = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLogin:
    """A window that is open for a person."""

    profile: Path
    problem: str | None
    """What is the matter with the first page, if anything."""
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
    with reading_settings():
        profile = master_profile(settings)
        options = _make_options(settings.browser, url)
        # As scrapes with the profile go, or a site would see one login at two addresses.
        is_through_upstream = ProxyTier.BASIC in upstream_tiers(settings.browser)
        route = Route.UPSTREAM if is_through_upstream else Route.DIRECT
        equipment = make_equipment(settings, proxy)
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(make_lock(settings, profile).hold())
        proxy_pass = opened.enter_context(proxy.issue_pass(route=route))
        window = await LoginBrowser.open(equipment, profile, options)
        opened.push_async_callback(window.close)
        problem = await window.show(proxy_pass)
        yield OpenLogin(profile=profile, problem=problem, window=window)


def make_log_in(settings: Settings, proxy: ForwardProxy) -> LogIn | None:
    """Return what lets a person log in; None where there is no display to do it on."""
    return partial(_log_in, settings, proxy) if has_display(environment()) else None


async def _log_in(settings: Settings, proxy: ForwardProxy, url: str) -> bool:
    async with open_login_window(settings, proxy, url=url) as login:
        return await login.window.wait_until_closed()


def _make_options(browser: BrowserSettings, url: str | None) -> LoginOptions:
    return LoginOptions(
        initial_url=url or browser.master_login_initial_page_url,
        arguments=check_added(browser.master_login_args, "browser.master-login-args"),
        navigate_timeout_seconds=browser.master_login_navigate_timeout_ms / 1000,
        refresh_seconds=browser.master_login_refresh_interval_ms / 1000,
        timeout_seconds=browser.master_login_timeout_ms / 1000,
    )

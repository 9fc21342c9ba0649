"""The login browser, built from the settings."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cinder.app.browser import make_equipment, make_lock, master_profile, upstream_tiers
from cinder.app.composition import make_proxy, make_resolver
from cinder.app.values import reading_settings
from cinder.config import BrowserSettings, Settings
from cinder.egress import Resolver, Route
from cinder.fetch.browser.command_line import check_added
from cinder.fetch.browser.login import LoginBrowser, LoginOptions
from cinder.model.request import ProxyTier


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenLogin:
    """A window that is open for a person."""

    profile: Path
    problem: str | None
    """What is the matter with the first page, if anything."""
    window: LoginBrowser


@asynccontextmanager
async def open_login_browser(
    settings: Settings, *, url: str | None = None, resolver: Resolver | None = None
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
    async with AsyncExitStack() as opened:
        await opened.enter_async_context(make_lock(settings, profile).hold())
        if resolver is None:
            resolver = await opened.enter_async_context(make_resolver(settings.egress))
        proxy = await opened.enter_async_context(make_proxy(settings, resolver))
        proxy_pass = opened.enter_context(proxy.issue_pass(route=route))
        with reading_settings():
            equipment = make_equipment(settings, proxy)
        window = await LoginBrowser.open(equipment, profile, options)
        opened.push_async_callback(window.close)
        problem = await window.show(proxy_pass)
        yield OpenLogin(profile=profile, problem=problem, window=window)


def _make_options(browser: BrowserSettings, url: str | None) -> LoginOptions:
    return LoginOptions(
        initial_url=url or browser.master_login_initial_page_url,
        arguments=check_added(browser.master_login_args),
        navigate_timeout_seconds=browser.master_login_navigate_timeout_ms / 1000,
        refresh_seconds=browser.master_login_refresh_interval_ms / 1000,
        timeout_seconds=browser.master_login_timeout_ms / 1000,
    )

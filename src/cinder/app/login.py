"""The login browser by itself, built from the settings with a way out of its own."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from cinder.app.composition import make_proxy, make_resolver
from cinder.app.login_window import OpenLogin, open_login_window
from cinder.config import Settings
from cinder.egress import Resolver


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
    async with AsyncExitStack() as opened:
        if resolver is None:
            resolver = await opened.enter_async_context(make_resolver(settings.egress))
        proxy = await opened.enter_async_context(make_proxy(settings, resolver))
        yield await opened.enter_async_context(open_login_window(settings, proxy, url=url))

"""`cinder open-browser`: opens a browser window to log in, for later scrapes to use."""

import asyncio
import signal
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cinder.config import Settings


def open_browser(
    url: Annotated[
        str | None, typer.Argument(help="The page to begin with, such as a site's login.")
    ] = None,
) -> None:
    """Open a browser to log in with; scrapes with the profile `master` then use that login."""
    from cinder.config import read_settings
    from cinder.errors import InvalidRequest
    from cinder.logs import configure_logs
    from cinder.models.url import parse_web_url

    settings = read_settings()
    configure_logs("error")
    try:
        first = parse_web_url(url) if url else None
    except ValueError as error:
        raise InvalidRequest(f"{url}: {error}") from error
    try:
        asyncio.run(_open(settings, first))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Stopped. What was done in the window is saved.")


async def _open(settings: "Settings", url: str | None) -> None:
    from cinder.app import open_login_browser

    _stop_when_terminated()
    lock_seconds = settings.browser.master_profile_lock_timeout_ms / 1000
    print(f"Waiting for the browser profile (at most {lock_seconds:g} s) …", flush=True)
    async with open_login_browser(settings, url=url) as login:
        print(f"The browser is open. Its profile lies in {login.profile}.")
        if login.problem:
            print(f"The first page did not load: {login.problem}")
        print(
            "Log in where you need to, then close the window; what you did is saved as you go. "
            'Scrapes with `profile: "master"` use it afterwards.',
            flush=True,
        )
        was_closed = await login.window.wait_until_closed()
    minutes = settings.browser.master_login_timeout_ms / 60_000
    print("Closed by you." if was_closed else f"Closed after {minutes:g} minutes.", "Logins saved.")


def _stop_when_terminated() -> None:
    """End the way Ctrl+C does: else the profile would be free while the browser still runs."""
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)

"""`cinder open-browser`: opens a browser window to log in, for later scrapes to use."""

import asyncio
from typing import Annotated

import typer

from cinder.cli.backends import cancel_on_sigterm


def open_browser(
    url: Annotated[
        str | None, typer.Argument(help="The first page, such as a site's login page.")
    ] = None,
) -> None:
    """Open a browser to log in with; scrapes with the profile `master` then use that login."""
    from cinder.app import open_login_browser
    from cinder.config import read_settings
    from cinder.errors import InvalidRequest
    from cinder.logs import configure_logs
    from cinder.models.url import parse_web_url

    settings = read_settings()
    configure_logs("error")
    try:
        first_page = parse_web_url(url) if url else None
    except ValueError as error:
        raise InvalidRequest(f"{url}: {error}") from error

    async def open_window() -> None:
        # Otherwise the profile would be unlocked while the browser still runs.
        cancel_on_sigterm()
        lock_seconds = settings.browser.master_profile_lock_timeout_ms / 1000
        print(f"Waiting for the browser profile (at most {lock_seconds:g} s) …", flush=True)
        async with open_login_browser(settings, url=first_page) as login:
            print(f"The browser is open. Its profile is in {login.profile}.")
            if login.problem:
                print(f"The first page did not load: {login.problem}")
            print(
                "Log in where you need to, then close the window; what you did is saved as you go. "
                'Scrapes with `profile: "master"` use it afterwards.',
                flush=True,
            )
            was_closed = await login.window.wait_until_closed()
        minutes = settings.browser.master_login_timeout_ms / 60_000
        ending = "Closed by you." if was_closed else f"Closed after {minutes:g} minutes."
        print(ending, "Logins saved.")

    try:
        asyncio.run(open_window())
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("Stopped. What was done in the window is saved.")

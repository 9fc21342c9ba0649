"""A browser's memory: cookies, storage, cache and sockets, for one page or one caller's pages."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from cinder.egress import ProxyPass, Route
from cinder.fetch.browser.connection import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """Whom a context is for, and how its connections leave.

    Without a caller it is for a single page: one that came with somebody's credentials, say.
    """

    caller: str | None = None
    route: Route = Route.DIRECT


@dataclass(eq=False, slots=True, kw_only=True)
class Context:
    """One memory. Its anchor is an empty tab that keeps the process of its pages alive."""

    id: str
    purpose: Purpose
    proxy_pass: ProxyPass
    anchor: Session
    visits: int = 0

    async def clear(self, browser: Session, origins: Iterable[str]) -> None:
        """Forget what a page of these origins has left; its tab is closed already.

        Raises:
            CommandFailed: the browser does not manage to.
            ConnectionClosed: the browser is gone.
        """
        # What a page has sent with its last breath would bring cookies after it.
        self.proxy_pass.close_connections()
        await asyncio.gather(
            self.clear_cookies(browser),
            # A script that goes on in the page's process keeps the anchor from answering.
            self.anchor.send("Runtime.evaluate", expression="1"),
            self.anchor.send("Network.clearBrowserCache"),
            *(
                self.anchor.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
                for origin in origins
            ),
        )

    async def clear_cookies(self, browser: Session) -> None:
        """Forget all cookies."""
        await browser.send("Storage.clearCookies", browserContextId=self.id)

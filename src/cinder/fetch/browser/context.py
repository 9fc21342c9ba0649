"""A browser's memory: cookies, storage, cache and sockets, for one page or one caller's pages."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from cinder.egress import ProxyPass, Route
from cinder.fetch.browser.connection import Session

# After so many pages a context is made anew: what its process has gathered goes with it.
_MAX_VISITS = 25


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

    @property
    def is_reusable(self) -> bool:
        """Whether another page of the same caller may come in here."""
        return self.purpose.caller is not None and self.visits < _MAX_VISITS

    async def clear(self, browser: Session, origins: Iterable[str]) -> None:
        """Forget what a page of these origins has left; its tab is closed already.

        Raises:
            CommandFailed: the browser does not manage to.
            ConnectionClosed: the browser is gone.
        """
        await asyncio.gather(
            browser.send("Storage.clearCookies", browserContextId=self.id),
            self.anchor.send("Network.clearBrowserCache"),
            *(
                self.anchor.send("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
                for origin in origins
            ),
        )

"""Requests held up on their way out.

Pictures nobody wants, pages that must not be gone on to, and where a caller's secrets may go.
"""

from collections.abc import Callable
from contextlib import suppress

from cinder.fetch.browser.connection import ConnectionClosed, Message, Session
from cinder.fetch.browser.home_headers import HomeHeaders

# By their kind: the patterns of `resources` tell by the extension, which costs nothing, and
# many pictures have none.
_PICTURES = ("Image", "Font", "Media")
_PAGE = "Document"


class Interception:
    """Decides about the requests of one tab."""

    def __init__(
        self,
        headers: HomeHeaders,
        *,
        blocks_pictures: bool,
        may_land: Callable[[str], bool] | None = None,
    ) -> None:
        self._headers = headers
        self._blocks_pictures = blocks_pictures
        self._may_land = may_land
        self.refused_landing: str | None = None
        """Where the tab wanted to go on to and must not."""

    async def put_on(self, session: Session, frame_id: str) -> None:
        """Hold up what has to be decided about, and no more: each costs a round trip."""
        if patterns := self._patterns():
            session.on("Fetch.requestPaused", lambda event: self._decide(session, frame_id, event))
            await session.send("Fetch.enable", patterns=patterns)

    def _patterns(self) -> list[dict[str, str]]:
        pictures = [{"resourceType": kind} for kind in _PICTURES] if self._blocks_pictures else []
        home = [{"urlPattern": f"{self._headers.origin}/*"}] if self._headers.has_secrets else []
        pages = [{"resourceType": _PAGE}] if self._may_land is not None else []
        return [*pictures, *home, *pages]

    def _decide(self, session: Session, frame_id: str, event: Message) -> None:
        request = {"requestId": event["requestId"]}
        is_page = event["resourceType"] == _PAGE and event["frameId"] == frame_id
        is_refused = is_page and self._refuses(event["request"]["url"])
        is_picture = self._blocks_pictures and event["resourceType"] in _PICTURES
        with suppress(ConnectionClosed):  # the tab is being closed
            if is_refused or is_picture:
                session.post("Fetch.failRequest", **request, errorReason="BlockedByClient")
            else:
                change = self._headers.change(event["request"])
                session.post("Fetch.continueRequest", **request, **change)

    def _refuses(self, url: str) -> bool:
        """Whether the tab may not go on to a page; the first one was judged before."""
        if self._may_land is None or self._headers.is_for(url) or self._may_land(url):
            return False
        self.refused_landing = self.refused_landing or url
        return True

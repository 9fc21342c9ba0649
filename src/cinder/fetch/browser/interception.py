"""Requests held up on their way out: pictures nobody wants, and where a caller's secrets may go."""

from contextlib import suppress

from cinder.fetch.browser.connection import ConnectionClosed, Message, Session
from cinder.fetch.browser.home_headers import HomeHeaders

# By their kind: the patterns of `resources` tell by the extension, which costs nothing, and
# many pictures have none.
_PICTURES = ("Image", "Font", "Media")


class Interception:
    """Decides about the requests of one tab."""

    def __init__(self, headers: HomeHeaders, *, blocks_pictures: bool) -> None:
        self._headers = headers
        self._blocks_pictures = blocks_pictures

    async def put_on(self, session: Session) -> None:
        """Hold up what has to be decided about, and no more: each costs a round trip."""
        if patterns := self._patterns():
            session.on("Fetch.requestPaused", lambda event: self._decide(session, event))
            await session.send("Fetch.enable", patterns=patterns)

    def _patterns(self) -> list[dict[str, str]]:
        pictures = [{"resourceType": kind} for kind in _PICTURES] if self._blocks_pictures else []
        home = [{"urlPattern": f"{self._headers.origin}/*"}] if self._headers.has_secrets else []
        return [*pictures, *home]

    def _decide(self, session: Session, event: Message) -> None:
        request = {"requestId": event["requestId"]}
        with suppress(ConnectionClosed):  # the tab is being closed
            if self._blocks_pictures and event["resourceType"] in _PICTURES:
                session.post("Fetch.failRequest", **request, errorReason="BlockedByClient")
            else:
                change = self._headers.change(event["request"])
                session.post("Fetch.continueRequest", **request, **change)

"""A caller's own headers: secrets go to the site they were meant for and to nobody else."""

from collections.abc import Iterable

from cinder.fetch.browser.connection import Message, Session
from cinder.model.headers import is_secret_header
from cinder.model.url import origin_of

_AGENT = ("user-agent", "accept-language")


class HomeHeaders:
    """The headers of one request, sorted by where they may go."""

    def __init__(self, url: str, headers: Iterable[tuple[str, str]]) -> None:
        self._url = url
        self.origin = origin_of(url)
        given = {name.lower(): (name, value) for name, value in headers}
        self.user_agent = given.get("user-agent", ("", ""))[1] or None
        self.accept_language = given.get("accept-language", ("", ""))[1] or None
        self._cookie = given.get("cookie", ("", ""))[1]
        self._others = [pair for name, pair in given.items() if name not in (*_AGENT, "cookie")]

    def is_for(self, url: str) -> bool:
        """Whether this is the page that they were given for."""
        return url.partition("#")[0] == self._url.partition("#")[0]

    @property
    def open(self) -> dict[str, str]:
        """What may go along with every request of the page."""
        return {name: value for name, value in self._others if not is_secret_header(name)}

    @property
    def _secret(self) -> list[tuple[str, str]]:
        return [(name, value) for name, value in self._others if is_secret_header(name)]

    @property
    def has_secrets(self) -> bool:
        """Whether requests must be looked at one by one; cookies keep to their site anyway."""
        return bool(self._secret)

    async def set_cookies(self, session: Session) -> None:
        """Give a tab the cookies, for their site alone."""
        if self._cookie:
            await session.send("Network.setCookies", cookies=self._cookies())

    def _cookies(self) -> list[dict[str, str | bool]]:
        pairs = (part.strip().partition("=") for part in self._cookie.split(";"))
        is_secure = self.origin.startswith("https:")
        return [
            {
                "name": name.strip(),
                "value": value.strip(),
                "url": self._url,
                "path": "/",
                "secure": is_secure,
            }
            for name, equals, value in pairs
            if equals and name.strip()
        ]

    def change(self, request: Message) -> dict[str, list[dict[str, str]]]:
        """Return what to let a request go on with: the secrets if it goes to their site only.

        Chromium takes them off again by itself where that site redirects to another.
        """
        if _origin(request["url"]) != self.origin:
            return {}
        secret = {name.lower() for name, _ in self._secret}
        sent = request["headers"].items()
        others = {name: value for name, value in sent if name.lower() not in secret}
        return {"headers": _as_entries(others | dict(self._secret))}


def _origin(url: str) -> str | None:
    try:
        return origin_of(url)
    except ValueError:
        return None


def _as_entries(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]

"""Redirects: where the next hop leads, and which headers may be sent to it."""

from collections.abc import Iterable

from cinder.errors import EgressBlocked, ScrapeFailed
from cinder.models.http import is_sendable
from cinder.models.redaction import is_secret_header
from cinder.models.url import ForeignScheme, join_web_url, origin_of

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})


def redirect_target(url: str, status_code: int, location: str | None) -> str | None:
    """Return the URL that an answer redirects to; None when it is no redirect.

    Raises:
        EgressBlocked: it leads out of the web.
        ScrapeFailed: it leads nowhere.
    """
    if status_code not in REDIRECT_STATUSES or not location:
        return None
    try:
        return join_web_url(url, location)
    except ForeignScheme as error:
        raise EgressBlocked(f"{url} redirects out of the web: {error}", url=url) from error
    except ValueError as error:
        raise ScrapeFailed(f"{url} redirects to no valid URL: {error}", url=url) from error


class HopHeaders:
    """The headers to send on each hop of one fetch.

    Credentials stay with the origin they were meant for, and a cookie set on the way goes back
    only to the origin that set it: enough for the sites that answer only once theirs returns.
    """

    def __init__(self, url: str, headers: Iterable[tuple[str, str]]) -> None:
        self._home = origin_of(url)
        self._headers = tuple(headers)
        self._cookies: dict[str, dict[str, str]] = {}

    def keep_cookies(self, url: str, set_cookie: Iterable[str]) -> None:
        """Remember the cookies that an answer from this URL set."""
        jar = self._cookies.setdefault(origin_of(url), {})
        for line in set_cookie:
            name, equals, value = line.partition(";")[0].partition("=")
            if equals and name.strip() and is_sendable(line):
                jar[name.strip()] = value.strip()

    def for_url(self, url: str) -> list[tuple[str, str]]:
        """Return what to send to this URL."""
        origin = origin_of(url)
        sent = [
            (name, value)
            for name, value in self._headers
            if origin == self._home or not is_secret_header(name)
        ]
        if jar := self._cookies.get(origin):
            given = [value for name, value in sent if name.lower() == "cookie"]
            sent = [(name, value) for name, value in sent if name.lower() != "cookie"]
            pairs = [f"{name}={value}" for name, value in jar.items()]
            sent.append(("Cookie", "; ".join([*given, *pairs])))
        return sent

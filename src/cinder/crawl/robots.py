"""What robots.txt (RFC 9309) and a page's robots directives allow a crawler."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from protego import Protego

from cinder.crawl.urls import CanonicalUrl, canonicalize_url
from cinder.models.url import join_web_url

USER_AGENT = "cinder"
"""The name by which a robots.txt speaks to cinder."""
MAX_BYTES = 500 * 1024
"""How much of a robots.txt is read; the rest is cut off."""
MAX_SITEMAPS = 100
MAX_CRAWL_DELAY_SECONDS = 60.0
FRESH_FOR = timedelta(hours=24)
"""How long rules may be used before they are asked for again."""

DISALLOWED = "disallowed by robots.txt"

_FIRST_RETRY_SECONDS = 30
_LONGEST_RETRY_SECONDS = 3_600
_MOST_DOUBLINGS = 10
_TOO_MANY_REQUESTS = 429

_AGENT_LINE = re.compile(r"\s*user[- ]?agent\s*[:\s]\s*([^\s#]*)", re.IGNORECASE)
_PRODUCT = re.compile(r"[a-z_-]+", re.IGNORECASE)
_OTHERS = "others"


class RobotsAccess(StrEnum):
    """What an answer to the question for a robots.txt means."""

    BY_RULES = "by rules"
    ALL = "all"
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsFile:
    """A robots.txt as it was got, or that it was not."""

    url: str
    status_code: int | None
    """That of the last answer after redirects; None where there was no answer."""
    fetched_at: datetime
    body: bytes = b""

    @property
    def access(self) -> RobotsAccess:
        """What the status means.

        A site that has none allows all, as does one that redirects without end; one that cannot
        say for now is left alone. That goes for 429 as well, which says "not now".
        """
        status = self.status_code
        if status is None or status >= 500 or status == _TOO_MANY_REQUESTS or status < 200:
            return RobotsAccess.WAIT
        return RobotsAccess.BY_RULES if status < 300 else RobotsAccess.ALL

    def is_fresh(self, now: datetime) -> bool:
        """Whether what it says still counts."""
        return now - self.fetched_at < FRESH_FOR


class RobotsRules:
    """What cinder may fetch from one site, and how fast."""

    def __init__(self, file: RobotsFile) -> None:
        self._access = file.access
        self._status = file.status_code
        has_rules = self._access is RobotsAccess.BY_RULES
        self._rules = Protego.parse(_readable(file.body) if has_rules else "")
        self.crawl_delay_seconds = _bounded_delay(self._rules.crawl_delay(USER_AGENT))
        """The pause that it asks for between two requests, where it does; bounded."""
        self.sitemaps = _web_addresses(file.url, list(self._rules.sitemaps))

    @property
    def must_wait(self) -> bool:
        """Whether nothing may be fetched until robots.txt was asked for again."""
        return self._access is RobotsAccess.WAIT

    def judge(self, url: str) -> str | None:
        """Return why a URL may not be fetched, or None where it may.

        The time it takes grows with the number of rules: ask once, when the URL's turn comes.
        """
        if self.must_wait:
            said = "could not be reached" if self._status is None else f"answered {self._status}"
            return f"{DISALLOWED} for now: it {said}"
        return None if self._rules.can_fetch(url, USER_AGENT) else DISALLOWED


def retry_delay(failures: int) -> timedelta:
    """Return how long to wait before a robots.txt is asked for after so many failures in a row."""
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    return timedelta(seconds=min(_FIRST_RETRY_SECONDS * 2**doublings, _LONGEST_RETRY_SECONDS))


def _readable(body: bytes) -> str:
    """Return the text with all agents but cinder and `*` under one name.

    Every agent would get its own copy of every rule of its group: thousands of both is a lot.
    It also makes `cinder/1.0` and `Cinder` cinder, and `cin` another.
    """
    text = body[:MAX_BYTES].decode("utf-8-sig", "replace")
    return "\n".join(map(_with_plain_agent, text.splitlines()))


def _with_plain_agent(line: str) -> str:
    found = _AGENT_LINE.match(line)
    if found is None or not found[1]:
        return line
    product = _PRODUCT.match(found[1])
    is_ours = product is not None and product[0].lower() == USER_AGENT
    name = found[1] if found[1] == "*" else USER_AGENT if is_ours else _OTHERS
    return f"User-agent: {name}"


def _bounded_delay(seconds: float | None) -> float | None:
    return None if seconds is None else min(seconds, MAX_CRAWL_DELAY_SECONDS)


def _web_addresses(base: str, references: list[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for reference in references[: 2 * MAX_SITEMAPS]:
        try:
            found[join_web_url(base, reference)] = None
        except ValueError:
            continue
    return tuple(found)[:MAX_SITEMAPS]


MAX_LINKS = 5_000
"""How many links of one page are looked at."""

_MAX_DIRECTIVES_CHARS = 5_000
_FORBID_FOLLOWING = frozenset(("nofollow", "none"))
_FORBID_KEEPING = frozenset(("noindex", "none"))
# These have a value, behind a colon as well; before others, the name is that of a robot.
_WITH_VALUE = ("max-", "unavailable_after")
_PART_END = re.compile(r"[,;]")
_ROBOT_NAME = re.compile(r"[a-z_-]+")


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page wishes robots to do with it."""

    may_follow: bool = True
    may_keep: bool = True


def read_directives(meta_robots: str | None, robots_header: str | None) -> PageDirectives:
    """Return what a page's robots meta tag and its `X-Robots-Tag` header say together."""
    said = {*_directives(meta_robots or ""), *_directives(robots_header or "")}
    return PageDirectives(
        may_follow=not said & _FORBID_FOLLOWING, may_keep=not said & _FORBID_KEEPING
    )


def choose_links(links: Iterable[str], page: CanonicalUrl) -> tuple[CanonicalUrl, ...]:
    """Return the addresses that a page's links lead to, each once, without the page itself."""
    found: dict[str, CanonicalUrl] = {}
    for link in islice(links, MAX_LINKS):
        address = canonicalize_url(link)
        if address is not None and address.key != page.key:
            found.setdefault(address.key, address)
    return tuple(found.values())


def _directives(text: str) -> Iterable[str]:
    robot = ""
    for part in _PART_END.split(text[:_MAX_DIRECTIVES_CHARS].lower()):
        name, colon, rest = (each.strip() for each in part.partition(":"))
        if colon and not name.startswith(_WITH_VALUE) and _ROBOT_NAME.fullmatch(name):
            # A header may speak to one robot, from here to the next name: "otherbot: noindex".
            robot, name = name, rest
        if robot in ("", "cinder"):
            yield name

"""Robots rules: what robots.txt (RFC 9309) and a page's robots directives allow."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice

from protego import Protego

from cinder.crawl.urls import CanonicalUrl, canonicalize_url
from cinder.models.url import join_web_urls

USER_AGENT = "cinder"
"""The user agent that rules of a robots.txt apply to."""
MAX_BYTES = 500 * 1024
"""The part of a robots.txt that is read; the rest is ignored."""
MAX_SITEMAPS = 100
MAX_CRAWL_DELAY_SECONDS = 60.0
FRESH_FOR = timedelta(hours=24)
"""How long rules are used before they are fetched again."""

DISALLOWED = "disallowed by robots.txt"

_FIRST_RETRY_SECONDS = 30
_LONGEST_RETRY_SECONDS = 3_600
_MOST_DOUBLINGS = 10
_TOO_MANY_REQUESTS = 429

_AGENT_LINE = re.compile(r"\s*user[- ]?agent\s*[:\s]\s*([^\s#]*)", re.IGNORECASE)
_PRODUCT = re.compile(r"[a-z_-]+", re.IGNORECASE)
_OTHERS = "others"
# Spelled in any of the ways that Protego understands; a value ends at a space.
_DISALLOW_LINE = re.compile(r"\s*dis?a?s?[a-z]{3,6}\s*[:\s]\s*([^\s#]+)", re.IGNORECASE)
_ALLOW_LINE = re.compile(r"\s*allow\s*[:\s]\s*([^\s#]+)", re.IGNORECASE)
# Where a path may be spelled in several ways.
_SPELLED_IN_WAYS = re.compile(r"[^\x21-\x7e]|%")
_MAX_COMPARED_RULES = 1_000
_MAX_NAMED_PAGES = 1_000


class RobotsAccess(StrEnum):
    """What the response to a request for robots.txt means."""

    BY_RULES = "by rules"
    ALL = "all"
    WAIT = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsFile:
    """A fetched robots.txt, or the failure to fetch it."""

    url: str
    status_code: int | None
    """The status after redirects; None where there was no response."""
    fetched_at: datetime
    body: bytes = b""

    @property
    def access(self) -> RobotsAccess:
        """What the status means.

        A site without a robots.txt allows all, as does one that redirects endlessly. Nothing is
        fetched from a site that cannot serve it now, which includes the status 429.
        """
        status = self.status_code
        if status is None or status >= 500 or status == _TOO_MANY_REQUESTS or status < 200:
            return RobotsAccess.WAIT
        return RobotsAccess.BY_RULES if status < 300 else RobotsAccess.ALL

    def is_fresh(self, now: datetime) -> bool:
        """Whether it may still be used."""
        return now - self.fetched_at < FRESH_FOR


class RobotsRules:
    """Which URLs of one site may be fetched, and how fast."""

    def __init__(self, file: RobotsFile) -> None:
        self._access = file.access
        self._status = file.status_code
        has_rules = self._access is RobotsAccess.BY_RULES
        self._rules = Protego.parse(_merge_agents(file.body) if has_rules else "")
        self._file = file
        self._disallowed = _DisallowedPaths(_lines_of(file.body) if has_rules else ())
        delay = self._rules.crawl_delay(USER_AGENT)
        self.crawl_delay_seconds = None if delay is None else min(delay, MAX_CRAWL_DELAY_SECONDS)
        """The requested delay between two requests, up to a limit."""
        references = islice(self._rules.sitemaps, 2 * MAX_SITEMAPS)
        sitemaps = dict.fromkeys(join_web_urls(file.url, references))
        self.sitemaps = tuple(sitemaps)[:MAX_SITEMAPS]

    @property
    def must_wait(self) -> bool:
        """Whether nothing may be fetched until robots.txt has been fetched again."""
        return self._access is RobotsAccess.WAIT

    @property
    def named_pages(self) -> tuple[str, ...]:
        """The URLs that its `Allow` lines name, without those that have wildcards."""
        if self._access is not RobotsAccess.BY_RULES:
            return ()
        lines = _lines_of(self._file.body)
        paths = (found[1] for line in lines if (found := _ALLOW_LINE.match(line)))
        exact = (p.removesuffix("$") for p in paths if p.startswith("/") and "*" not in p)
        urls = join_web_urls(self._file.url, exact)
        return tuple(dict.fromkeys(islice(urls, _MAX_NAMED_PAGES)))

    def judge(self, url: str) -> str | None:
        """Return why a URL may not be fetched, or None where it may.

        Where a rule may disallow it, the cost grows with the number of rules.
        """
        if self.must_wait:
            status = self._status
            reason = "could not be reached" if status is None else f"answered {status}"
            return f"{DISALLOWED} for now: it {reason}"
        if self._disallowed.surely_has_not(url):
            return None
        return None if self._rules.can_fetch(url, USER_AGENT) else DISALLOWED


def _lines_of(body: bytes) -> list[str]:
    return body[:MAX_BYTES].decode("utf-8-sig", "replace").splitlines()


class _DisallowedPaths:
    """Tells which paths no rule disallows, for most URLs of a site, without asking the rules."""

    def __init__(self, lines: Sequence[str]) -> None:
        prefixes, parts = set[str](), set[str]()
        for path in (found[1] for line in lines if (found := _DISALLOW_LINE.match(line))):
            if unclear := _SPELLED_IN_WAYS.search(path):
                path = path[: unclear.start()]  # noqa: PLW2901 - what is the same in all spellings
            first, *others = path.removesuffix("$").split("*")
            # Every path that the rule disallows begins with the one, or has the other.
            if len(first) > 1 or not others:
                prefixes.add(first)
            else:
                parts.add(max(others, key=len))
        self._prefixes, self._parts = tuple(prefixes), tuple(parts)
        is_usual = all(prefix.startswith("/") for prefix in prefixes)
        self._is_used = is_usual and len(prefixes) + len(parts) <= _MAX_COMPARED_RULES

    def surely_has_not(self, url: str) -> bool:
        """Whether no rule can disallow a URL; the rules decide about others."""
        # Escapes can be spelled in several ways.
        if not self._is_used or "%" in url:
            return False
        path = url[url.find("/", len("https://")) :]
        return not path.startswith(self._prefixes) and not any(p in path for p in self._parts)


def retry_delay(failures: int) -> timedelta:
    """Return how long to wait before the next request for robots.txt, after failures in a row."""
    doublings = min(max(failures - 1, 0), _MOST_DOUBLINGS)
    return timedelta(seconds=min(_FIRST_RETRY_SECONDS * 2**doublings, _LONGEST_RETRY_SECONDS))


def _merge_agents(body: bytes) -> str:
    """Return the text with all agents but cinder and `*` under one name.

    Protego copies every rule of a group for each of its agents, which is slow with thousands of
    both. Merging also makes `cinder/1.0` and `Cinder` match cinder, and keeps `cin` from matching.
    """
    lines = _lines_of(body)
    for number, line in enumerate(lines):
        found = _AGENT_LINE.match(line)
        if found is not None and found[1]:
            product = _PRODUCT.match(found[1])
            is_cinder = product is not None and product[0].lower() == USER_AGENT
            name = found[1] if found[1] == "*" else USER_AGENT if is_cinder else _OTHERS
            lines[number] = f"User-agent: {name}"
    return "\n".join(lines)


MAX_LINKS = 5_000
"""How many links of one page are followed at most."""

_MAX_DIRECTIVES_CHARS = 5_000
_FORBID_FOLLOWING = frozenset(("nofollow", "none"))
# These directives have a value after the colon; for others, the name before it is a robot.
_WITH_VALUE = ("max-", "unavailable_after")
_PART_END = re.compile(r"[,;]")
_ROBOT_NAME = re.compile(r"[a-z_-]+")


def may_follow_links(directives: str | None) -> bool:
    """Whether a page's robots meta tag allows to follow its links."""
    return _FORBID_FOLLOWING.isdisjoint(_directives(directives or ""))


def choose_links(links: Iterable[str], page: CanonicalUrl) -> tuple[CanonicalUrl, ...]:
    """Return the URLs that a page links to, each once, without the page itself."""
    found: dict[str, CanonicalUrl] = {}
    for link in islice(links, MAX_LINKS):
        address = canonicalize_url(link)
        if address is not None and address.key != page.key:
            found.setdefault(address.key, address)
    return tuple(found.values())


def _directives(text: str) -> Iterable[str]:
    robot = ""
    for part in _PART_END.split(text[:_MAX_DIRECTIVES_CHARS].lower()):
        name, colon, rest = (piece.strip() for piece in part.partition(":"))
        if colon and not name.startswith(_WITH_VALUE) and _ROBOT_NAME.fullmatch(name):
            # Directives may apply to one robot, up to the next name: "otherbot: noindex".
            robot, name = name, rest
        if robot in ("", "cinder"):
            yield name

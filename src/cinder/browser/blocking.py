"""Blocks requests of pages: ads and trackers by filter lists, media, and forbidden navigations."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.browser.cdp import CdpMessage, ConnectionClosed
from cinder.browser.identity import CallerHeaders
from cinder.browser.tab import Tab
from cinder.models.url import host_and_port

_COSMETIC = re.compile(r"#[@?$%]*#")
_OPTIONS = re.compile(r"\$(~?[\w-]+(?:=[^,]*)?(?:,~?[\w-]+(?:=[^,]*)?)*)$")
_ON_HOST = re.compile(r"\|\|((?:[a-z0-9_-]+\.)+[a-z0-9-]+(?::\d+)?)[\^/](.*)", re.IGNORECASE)
_THIRD_PARTY = frozenset({"third-party", "3p"})
# Chromium is case-sensitive, and a rule without types applies to all: these have no effect.
_WITHOUT_EFFECT = frozenset({"match-case", "all"})
# One pattern that Chromium cannot parse makes it refuse the whole list.
_PLAIN_PATH = re.compile(r"[\w/.%~*-]*", re.ASCII)
_COMMON_BEGINNING = re.compile(r"(?:https?)?(?::?//)?(?:www\.)?")
_LEAST_LITERAL_CHARS = 4


class SkipReason(StrEnum):
    """Why a line is skipped."""

    COMMENT = "comment"
    COSMETIC = "hides elements"
    OPTION = "has an option that cannot be expressed"
    SYNTAX = "has a syntax that cannot be expressed"
    TOO_BROAD = "would match nearly everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRule:
    """A rule to block URLs, or an exception to allow them.

    Without a host, `path` matches anywhere in a URL. With one, the rule applies to the host and
    its subdomains, and `path` must follow: `/` for everything.
    """

    host: str
    path: str
    is_exception: bool = False
    is_third_party: bool = False
    """Whether the rule applies only on pages of other sites."""

    @property
    def is_on_whole_host(self) -> bool:
        """Whether the rule applies to every URL of the host."""
        return bool(self.host) and self.path == "/"

    def blocked_texts(self) -> tuple[str, ...]:
        """Return the rule as texts for `urls`: a URL that contains one of them is blocked.

        Chromium searches the whole URL, so that a URL with a blocked one unescaped in its query is
        blocked as well. Patterns for the parts of a URL cost several times as much for each page.
        """
        if not self.host:
            return (self.path,)
        return f"//{self.host}{self.path}", f".{self.host}{self.path}"

    def url_pattern(self) -> str:
        """Return a rule with a host as a URLPattern."""
        host = self.host if ":" in self.host else f"{self.host}:*"
        return f"*://{{*.}}?{host}{self.path}*"


def parse_rule(line: str) -> FilterRule | SkipReason:
    """Parse one line of a filter list."""
    text = line.strip()
    if not text or text.startswith(("!", "[")):
        return SkipReason.COMMENT
    if _COSMETIC.search(text):
        return SkipReason.COSMETIC
    options: frozenset[str] = frozenset()
    if found := _OPTIONS.search(text):
        text, options = text[: found.start()], frozenset(found[1].split(","))
    if options - _THIRD_PARTY - _WITHOUT_EFFECT:
        return SkipReason.OPTION
    is_third_party = bool(options & _THIRD_PARTY)
    is_exception = text.startswith("@@")
    found = _ON_HOST.fullmatch(text.removeprefix("@@"))
    if found is None and not is_exception:
        return SkipReason.OPTION if is_third_party else _parse_text(text)
    if found is None or (
        not _PLAIN_PATH.fullmatch(found[2]) if is_exception else _has_marks(found[2])
    ):
        return SkipReason.SYNTAX
    return FilterRule(
        host=found[1].lower(),
        path="/" + found[2].rstrip("*"),
        is_exception=is_exception,
        is_third_party=is_third_party,
    )


def _parse_text(text: str) -> FilterRule | SkipReason:
    """Parse a rule for a part of the URL, or for its beginning."""
    is_regular_expression = text.startswith("/") and text.endswith("/")
    text = text.removeprefix("|") if text.startswith("|http") else text
    if is_regular_expression or _has_marks(text):
        return SkipReason.SYNTAX
    literals = _COMMON_BEGINNING.sub("", text.strip("*"), count=1).split("*")
    if max(map(len, literals)) < _LEAST_LITERAL_CHARS:
        return SkipReason.TOO_BROAD
    return FilterRule(host="", path=text.strip("*"))


def _has_marks(text: str) -> bool:
    """Whether a text has marks for an end or a separator, which Chromium does not support."""
    return "|" in text or "^" in text


# Chromium blocks by URL alone, so media are blocked by their extension. SVG is allowed: scripts
# fetch it to insert it into the page, and some fail without it.
_PICTURES = ("apng", "avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "webp")
_FONTS = ("eot", "otf", "ttf", "woff", "woff2")
_MEDIA = ("aac", "flac", "m3u8", "m4a", "m4v", "mov", "mp3", "mp4", "mpd", "ogg", "wav", "webm")
# Patterns are case-sensitive, and cameras write capitals.
_IN_CAPITALS = ("GIF", "JPEG", "JPG", "PNG")


def resource_patterns() -> tuple[str, ...]:
    """Return the URLPatterns of pictures, fonts and media, whatever their query."""
    extensions = (*_PICTURES, *_FONTS, *_MEDIA, *_IN_CAPITALS)
    return tuple(f"*://*:*/*.{extension}" for extension in extensions)


_log: FilteringBoundLogger = structlog.get_logger()

CURATED_LIST = Path(__file__).parent / "data" / "ads_and_trackers.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """The limits on filter lists.

    Every tab gets its rules, and every request is compared with each: 500 rules take 15 ms of a
    page with a dozen requests. Hosts beyond the limit are left to the egress proxy, where they
    cost only the pages that request one.
    """

    max_file_bytes: int = 16 * 1024 * 1024
    max_hosts_in_page: int = 60
    max_rules_in_page: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterLists:
    """The rules of some filter lists, and the number of skipped lines by reason."""

    rules: tuple[FilterRule, ...]
    skipped: Counter[SkipReason]


def read_lists(files: Iterable[Path], limits: ListLimits) -> FilterLists:
    """Read filter lists in EasyList's format, each rule once.

    Raises:
        ValueError: a file cannot be read or is too large; the message names it.
    """
    rules: dict[FilterRule, None] = {}
    skipped: Counter[SkipReason] = Counter()
    max_bytes = limits.max_file_bytes
    for file in files:
        try:
            with file.open("rb") as stream:
                content = stream.read(max_bytes + 1)
        except OSError as error:
            raise ValueError(
                f"browser.filter-lists: {file} cannot be read: {error.strerror}"
            ) from error
        if len(content) > max_bytes:
            raise ValueError(f"browser.filter-lists: {file} is larger than {max_bytes} bytes")
        for line in content.decode("utf-8", errors="replace").splitlines():
            rule = parse_rule(line)
            if isinstance(rule, FilterRule):
                rules[rule] = None
            elif rule is not SkipReason.COMMENT:
                skipped[rule] += 1
    return FilterLists(rules=tuple(rules), skipped=skipped)


class Blocklist:
    """The active rules, and which of them apply to a page.

    Earlier rules have precedence. Beyond the limits, rules for whole hosts become `hosts`, which
    the egress proxy refuses, and the others are `left_out`.
    """

    def __init__(self, rules: Sequence[FilterRule], limits: ListLimits) -> None:
        blocking = [rule for rule in rules if not rule.is_exception]
        whole = {rule.host: rule for rule in blocking if rule.is_on_whole_host}
        # A rule for a whole host makes others for it and for the hosts below it redundant.
        candidates = [
            rule
            for rule in blocking
            if not any(
                cover and cover != rule and (rule.is_third_party or not cover.is_third_party)
                for cover in map(whole.get, _host_and_parents(rule.host))
            )
        ]
        # The proxy does not know which page a request is from: third-party rules stay in the page.
        on_hosts = [r for r in candidates if r.is_on_whole_host and not r.is_third_party]
        others = [r for r in candidates if not r.is_on_whole_host or r.is_third_party]
        in_page = limits.max_hosts_in_page
        self.rules = (*on_hosts[:in_page], *others[: limits.max_rules_in_page])
        excepted = {rule.host for rule in rules if rule.is_exception and rule.is_on_whole_host}
        self.hosts = frozenset(rule.host for rule in on_hosts[in_page:]) - excepted
        self.left_out = len(others[limits.max_rules_in_page :])
        # Only exceptions that allow something that one of the rules blocks.
        hosts = {rule.host for rule in self.rules}
        parents = {parent for host in hosts for parent in _host_and_parents(host)}
        exceptions = (
            rule
            for rule in rules
            if rule.is_exception
            and (
                "" in hosts
                or rule.host in parents
                or not hosts.isdisjoint(_host_and_parents(rule.host))
            )
        )
        self.exceptions = tuple(islice(exceptions, limits.max_rules_in_page))
        self._texts = tuple(text for rule in self.rules for text in rule.blocked_texts())
        self._on_host: dict[str, list[FilterRule]] = {}
        self._third_party_below: dict[str, list[FilterRule]] = {}
        for rule in self.rules:
            self._on_host.setdefault(_without_port(rule.host), []).append(rule)
            if rule.is_third_party:
                for parent in _host_and_parents(rule.host):
                    self._third_party_below.setdefault(parent, []).append(rule)

    def texts_for(self, page_host: str) -> tuple[str, ...]:
        """Return the texts to block on a page of this host, without those for its own site."""
        own_rules = [
            rule
            for parent in _host_and_parents(page_host)
            for rule in self._on_host.get(parent, ())
            if rule.is_on_whole_host or rule.is_third_party
        ]
        own_rules += self._third_party_below.get(page_host.removeprefix("www."), ())
        own = {text for rule in own_rules for text in rule.blocked_texts()}
        return tuple(text for text in self._texts if text not in own) if own else self._texts

    def has_host(self, host: str, page_host: str) -> bool:
        """Whether the egress proxy should refuse a host to a page, except for its own site."""
        own = set(_host_and_parents(page_host))
        return any(part in self.hosts and part not in own for part in _host_and_parents(host))


class PageBlocking:
    """Builds the parameters of `Network.setBlockedURLs` for a page."""

    def __init__(self, blocklist: Blocklist) -> None:
        self._blocklist = blocklist
        self._allowed = _patterns((it.url_pattern() for it in blocklist.exceptions), block=False)
        self._pictures = _patterns(resource_patterns(), block=True)

    @classmethod
    def read(cls, added_lists: Iterable[Path], limits: ListLimits) -> "PageBlocking":
        """Read cinder's own list and those of the settings.

        Raises:
            ValueError: a file cannot be read or is too large; the message names it.
        """
        lists = read_lists([CURATED_LIST, *added_lists], limits)
        blocklist = Blocklist(lists.rules, limits)
        if lists.skipped or blocklist.left_out:
            unused = {str(reason): number for reason, number in lists.skipped.items()}
            _log.info("filter rules not used", beyond_limit=blocklist.left_out, **unused)
        return cls(blocklist)

    def unwanted_hosts(self, url: str, *, block_ads: bool) -> Callable[[str], bool]:
        """Return a function that tells which hosts a page must not reach."""
        page_host = host_and_port(url)[0]
        has_host = self._blocklist.has_host
        return lambda host: block_ads and has_host(host, page_host)

    def parameters(
        self, url: str, *, block_ads: bool, block_pictures: bool
    ) -> dict[str, list[object]]:
        """Return the parameters of the command, which never blocks documents.

        Chromium checks the patterns first, in their order, and then the texts.
        """
        patterns: list[object] = []
        texts: list[object] = []
        if block_ads:
            patterns += self._allowed
            texts += self._blocklist.texts_for(host_and_port(url)[0])
        if block_pictures:
            patterns += self._pictures
        return {"urlPatterns": patterns, "urls": texts}


def _patterns(patterns: Iterable[str], *, block: bool) -> list[dict[str, object]]:
    return [{"urlPattern": pattern, "block": block} for pattern in patterns]


def _host_and_parents(host: str) -> Iterator[str]:
    """Return a host and its parent domains: `a.b.c`, `b.c`."""
    labels = _without_port(host).split(".")
    return (".".join(labels[start:]) for start in range(max(1, len(labels) - 1)))


def _without_port(host: str) -> str:
    return host.partition(":")[0]


# Media without an extension are blocked by their resource type, which costs a round trip each.
_IMAGE_RESOURCE = ("Image", "Font", "Media")
_DOCUMENT_RESOURCE = "Document"


class Interception:
    """Intercepts the requests of one tab: blocks media and navigations, adds secret headers."""

    def __init__(
        self,
        headers: CallerHeaders,
        *,
        blocks_pictures: bool,
        may_land: Callable[[str], bool] | None = None,
    ) -> None:
        self._headers = headers
        self._blocks_pictures = blocks_pictures
        self._may_land = may_land
        self.refused_landing: str | None = None
        """The first URL that the tab tried to navigate to and is not allowed."""

    def commands(self) -> list[tuple[str, CdpMessage]]:
        """Return the commands that pause the requests to decide about: each costs a round trip."""
        patterns = []
        if self._blocks_pictures:
            patterns += [{"resourceType": kind} for kind in _IMAGE_RESOURCE]
        if self._headers.has_secrets:
            patterns.append({"urlPattern": f"{self._headers.origin}/*"})
        if self._may_land is not None:
            patterns.append({"resourceType": _DOCUMENT_RESOURCE})
        return [("Fetch.enable", {"patterns": patterns})] if patterns else []

    def attach_to(self, tab: Tab) -> None:
        """Decide about the paused requests of a tab."""
        session, frame_id = tab.session, tab.frame_id

        def decide(event: CdpMessage) -> None:
            request, url = {"requestId": event["requestId"]}, event["request"]["url"]
            is_page = event["resourceType"] == _DOCUMENT_RESOURCE and event["frameId"] == frame_id
            # The requested page itself was checked before.
            is_refused = (
                is_page
                and self._may_land is not None
                and not self._headers.is_for(url)
                and not self._may_land(url)
            )
            if is_refused:
                self.refused_landing = self.refused_landing or url
            is_picture = self._blocks_pictures and event["resourceType"] in _IMAGE_RESOURCE
            with suppress(ConnectionClosed):  # the tab is being closed
                if is_refused or is_picture:
                    session.post("Fetch.failRequest", **request, errorReason="BlockedByClient")
                else:
                    change = self._headers.change(event["request"])
                    session.post("Fetch.continueRequest", **request, **change)

        tab.on("Fetch.requestPaused", decide)

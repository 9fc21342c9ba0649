"""Blocks what pages may not load: ads and trackers by filter lists, media, and other requests.

Chromium blocks by URL alone, so this goes by the extension; what has none is let through. SVG is
not in it: scripts fetch it to put it into the page, and some stop when they cannot.

Pictures nobody wants, pages that must not be gone on to, and where a caller's secrets may go.
"""

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

from cinder.browser.cdp import CdpMessage, CdpSession, ConnectionClosed
from cinder.browser.identity import CallerHeaders
from cinder.models.url import host_and_port

_COSMETIC = re.compile(r"#[@?$%]*#")
_OPTIONS = re.compile(r"\$(~?[\w-]+(?:=[^,]*)?(?:,~?[\w-]+(?:=[^,]*)?)*)$")
_ON_HOST = re.compile(r"\|\|((?:[a-z0-9_-]+\.)+[a-z0-9-]+(?::\d+)?)[\^/](.*)", re.IGNORECASE)
_THIRD_PARTY = frozenset({"third-party", "3p"})
# Chromium compares case, and a rule without types is for all of them: these change nothing.
_WITHOUT_EFFECT = frozenset({"match-case", "all"})
# A pattern that Chromium cannot read makes it refuse the whole list.
_PLAIN_PATH = re.compile(r"[\w/.%~*-]*", re.ASCII)
_COMMON_BEGINNING = re.compile(r"(?:https?)?(?::?//)?(?:www\.)?")
_LEAST_LITERAL_CHARS = 4


class SkipReason(StrEnum):
    """Why a line gives no rule."""

    COMMENT = "comment"
    COSMETIC = "hides elements"
    OPTION = "has an option that cannot be expressed"
    SYNTAX = "has a syntax that cannot be expressed"
    TOO_BROAD = "would match nearly everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterRule:
    """What to block, or as an exception to let through.

    Without a host, `path` may stand anywhere in a URL. With one, the rule holds for the host and
    all below it, and `path` is what must follow: `/` for everything.
    """

    host: str
    path: str
    is_exception: bool = False
    is_third_party: bool = False
    """The rule holds only on pages of other sites."""

    @property
    def is_on_whole_host(self) -> bool:
        """Whether nothing of the host is left."""
        return bool(self.host) and self.path == "/"

    def blocked_texts(self) -> tuple[str, ...]:
        """Return the rule as texts for `urls`: a URL that has one of them in it is blocked.

        Chromium looks for them anywhere in the URL, so a URL that carries a blocked one
        unescaped in its query is blocked as well. A pattern that tells the parts of a URL apart
        costs several times as much for each page.
        """
        if not self.host:
            return (self.path,)
        return f"//{self.host}{self.path}", f".{self.host}{self.path}"

    def url_pattern(self) -> str:
        """Return a rule that has a host as a URLPattern."""
        host = self.host if ":" in self.host else f"{self.host}:*"
        return f"*://{{*.}}?{host}{self.path}*"


def parse_rule(line: str) -> FilterRule | SkipReason:
    """Read one line of a filter list."""
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
    if text.startswith("@@"):
        return _parse_exception(text.removeprefix("@@"), is_third_party=is_third_party)
    return _parse_blocking(text, is_third_party=is_third_party)


def _parse_exception(text: str, *, is_third_party: bool) -> FilterRule | SkipReason:
    found = _ON_HOST.fullmatch(text)
    if found is None or not _PLAIN_PATH.fullmatch(found[2]):
        return SkipReason.SYNTAX
    return FilterRule(
        host=found[1].lower(),
        path="/" + found[2].rstrip("*"),
        is_exception=True,
        is_third_party=is_third_party,
    )


def _parse_blocking(text: str, *, is_third_party: bool) -> FilterRule | SkipReason:
    if found := _ON_HOST.fullmatch(text):
        if _has_marks(found[2]):
            return SkipReason.SYNTAX
        path = "/" + found[2].rstrip("*")
        return FilterRule(host=found[1].lower(), path=path, is_third_party=is_third_party)
    return SkipReason.OPTION if is_third_party else _parse_text(text)


def _parse_text(text: str) -> FilterRule | SkipReason:
    """Read a rule on a part of the URL, or on its beginning."""
    is_regular_expression = text.startswith("/") and text.endswith("/")
    text = text.removeprefix("|") if text.startswith("|http") else text
    if is_regular_expression or _has_marks(text):
        return SkipReason.SYNTAX
    telling_parts = _COMMON_BEGINNING.sub("", text.strip("*"), count=1).split("*")
    if max(map(len, telling_parts)) < _LEAST_LITERAL_CHARS:
        return SkipReason.TOO_BROAD
    return FilterRule(host="", path=text.strip("*"))


def _has_marks(text: str) -> bool:
    """Whether a text marks an end or a separator, for which Chromium's texts have no sign."""
    return "|" in text or "^" in text


_PICTURES = ("apng", "avif", "bmp", "gif", "ico", "jpeg", "jpg", "png", "webp")
_FONTS = ("eot", "otf", "ttf", "woff", "woff2")
_MEDIA = ("aac", "flac", "m3u8", "m4a", "m4v", "mov", "mp3", "mp4", "mpd", "ogg", "wav", "webm")
# Patterns compare case, and cameras write capitals.
_IN_CAPITALS = ("GIF", "JPEG", "JPG", "PNG")


def resource_patterns() -> tuple[str, ...]:
    """Return the URLPatterns of pictures, fonts and media, whatever their query."""
    extensions = (*_PICTURES, *_FONTS, *_MEDIA, *_IN_CAPITALS)
    return tuple(f"*://*:*/*.{extension}" for extension in extensions)


_log: FilteringBoundLogger = structlog.get_logger()

CURATED_LIST = Path(__file__).parent / "data" / "ads_and_trackers.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLimits:
    """How much is taken from filter lists.

    Every tab is told its rules, and every request is compared with each: 500 rules take 15 ms of
    a page with a dozen requests. Hosts beyond the first are for the egress proxy, which looks
    them up, so that only pages that ask for one pay for it.
    """

    max_file_bytes: int = 16 * 1024 * 1024
    max_hosts_in_page: int = 60
    max_rules_in_page: int = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterLists:
    """The rules of some filter lists, and how many lines gave none, by the reason."""

    rules: tuple[FilterRule, ...]
    skipped: Counter[SkipReason]


def read_lists(files: Iterable[Path], limits: ListLimits) -> FilterLists:
    """Read filter lists in EasyList's format, each rule once.

    Raises:
        ValueError: a file cannot be read or is too large; the message names it.
    """
    rules: dict[FilterRule, None] = {}
    skipped: Counter[SkipReason] = Counter()
    for file in files:
        for line in _read_text(file, limits.max_file_bytes).splitlines():
            rule = parse_rule(line)
            if isinstance(rule, FilterRule):
                rules[rule] = None
            elif rule is not SkipReason.COMMENT:
                skipped[rule] += 1
    return FilterLists(rules=tuple(rules), skipped=skipped)


def _read_text(file: Path, max_bytes: int) -> str:
    try:
        with file.open("rb") as stream:
            content = stream.read(max_bytes + 1)
    except OSError as error:
        raise ValueError(
            f"browser.filter-lists: {file} cannot be read: {error.strerror}"
        ) from error
    if len(content) > max_bytes:
        raise ValueError(f"browser.filter-lists: {file} is larger than {max_bytes} bytes")
    return content.decode("utf-8", errors="replace")


class Blocklist:
    """The rules in force, and which of them hold on a page.

    Earlier rules go before later. Past the limits, those for whole hosts become `hosts`, for the
    egress proxy to refuse, and the others are `left_out`.
    """

    def __init__(self, rules: Sequence[FilterRule], limits: ListLimits) -> None:
        candidates = _without_covered([rule for rule in rules if not rule.is_exception])
        # The proxy cannot tell whose page asks, so rules for other sites' pages stay in the page.
        on_hosts = [r for r in candidates if r.is_on_whole_host and not r.is_third_party]
        others = [r for r in candidates if not r.is_on_whole_host or r.is_third_party]
        in_page = limits.max_hosts_in_page
        self.rules = (*on_hosts[:in_page], *others[: limits.max_rules_in_page])
        excepted = {rule.host for rule in rules if rule.is_exception and rule.is_on_whole_host}
        self.hosts = frozenset(rule.host for rule in on_hosts[in_page:]) - excepted
        self.left_out = len(others[limits.max_rules_in_page :])
        exceptions = (rule for rule in rules if rule.is_exception)
        self.exceptions = tuple(
            islice(_of_effect(exceptions, self.rules), limits.max_rules_in_page)
        )
        self._texts = tuple(text for rule in self.rules for text in rule.blocked_texts())
        self._on_host: dict[str, list[FilterRule]] = {}
        self._third_party_below: dict[str, list[FilterRule]] = {}
        for rule in self.rules:
            self._on_host.setdefault(_without_port(rule.host), []).append(rule)
            if rule.is_third_party:
                for parent in _host_and_parents(rule.host):
                    self._third_party_below.setdefault(parent, []).append(rule)

    def texts_for(self, page_host: str) -> tuple[str, ...]:
        """Return the texts to block on a page of this host: none that stand for its own site."""
        own = {text for rule in self._own_rules(page_host) for text in rule.blocked_texts()}
        return tuple(text for text in self._texts if text not in own) if own else self._texts

    def has_host(self, host: str, page_host: str) -> bool:
        """Whether the egress proxy should refuse a host to a page: never the page's own site."""
        own = set(_host_and_parents(page_host))
        return any(part in self.hosts and part not in own for part in _host_and_parents(host))

    def allowed_patterns(self) -> Iterator[str]:
        """Return the URLPatterns that are let through all the same."""
        return (rule.url_pattern() for rule in self.exceptions)

    def _own_rules(self, page_host: str) -> Iterator[FilterRule]:
        for parent in _host_and_parents(page_host):
            for rule in self._on_host.get(parent, ()):
                if rule.is_on_whole_host or rule.is_third_party:
                    yield rule
        yield from self._third_party_below.get(page_host.removeprefix("www."), ())


class PageBlocking:
    """Says what `Network.setBlockedURLs` is told for a page."""

    def __init__(self, blocklist: Blocklist) -> None:
        self._blocklist = blocklist
        self._allowed = _patterns(blocklist.allowed_patterns(), block=False)
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
        """Return what tells the hosts that a page must not reach."""
        page_host = host_and_port(url)[0]
        has_host = self._blocklist.has_host
        return lambda host: block_ads and has_host(host, page_host)

    def parameters(
        self, url: str, *, block_ads: bool, block_pictures: bool
    ) -> dict[str, list[object]]:
        """Return the parameters of the command. It never blocks documents, the page's or frames'.

        Chromium asks the patterns first, in their order, and then the texts.
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


def _without_covered(rules: Sequence[FilterRule]) -> list[FilterRule]:
    """Return the rules that no rule for a whole host makes superfluous."""
    whole = {rule.host: rule for rule in rules if rule.is_on_whole_host}
    return [rule for rule in rules if not _is_covered(rule, whole)]


def _is_covered(rule: FilterRule, whole: dict[str, FilterRule]) -> bool:
    covers = (whole.get(parent) for parent in _host_and_parents(rule.host))
    return any(
        cover is not None and cover != rule and (rule.is_third_party or not cover.is_third_party)
        for cover in covers
    )


def _of_effect(
    exceptions: Iterable[FilterRule], rules: Sequence[FilterRule]
) -> Iterator[FilterRule]:
    """Return the exceptions that let through something which one of the rules would block."""
    has_rules_for_any_host = any(not rule.host for rule in rules)
    hosts = {rule.host for rule in rules}
    parents = {parent for host in hosts for parent in _host_and_parents(host)}
    for exception in exceptions:
        is_near = exception.host in parents or not hosts.isdisjoint(
            _host_and_parents(exception.host)
        )
        if has_rules_for_any_host or is_near:
            yield exception


def _host_and_parents(host: str) -> Iterator[str]:
    """Return a host and the domains that it lies in: `a.b.c`, `b.c`."""
    labels = _without_port(host).split(".")
    return (".".join(labels[start:]) for start in range(max(1, len(labels) - 1)))


def _without_port(host: str) -> str:
    return host.partition(":")[0]


# By their kind: the patterns of `resources` tell by the extension, which costs nothing, and
# many pictures have none.
_IMAGE_RESOURCE = ("Image", "Font", "Media")
_DOCUMENT_RESOURCE = "Document"


class Interception:
    """Decides about the requests of one tab."""

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
        """Where the tab wanted to go on to and must not."""

    async def attach_to(self, session: CdpSession, frame_id: str) -> None:
        """Hold up what has to be decided about, and no more: each costs a round trip."""
        if patterns := self._patterns():
            session.on("Fetch.requestPaused", lambda event: self._decide(session, frame_id, event))
            await session.send("Fetch.enable", patterns=patterns)

    def _patterns(self) -> list[dict[str, str]]:
        pictures = (
            [{"resourceType": kind} for kind in _IMAGE_RESOURCE] if self._blocks_pictures else []
        )
        home = [{"urlPattern": f"{self._headers.origin}/*"}] if self._headers.has_secrets else []
        pages = [{"resourceType": _DOCUMENT_RESOURCE}] if self._may_land is not None else []
        return [*pictures, *home, *pages]

    def _decide(self, session: CdpSession, frame_id: str, event: CdpMessage) -> None:
        request = {"requestId": event["requestId"]}
        is_page = event["resourceType"] == _DOCUMENT_RESOURCE and event["frameId"] == frame_id
        is_refused = is_page and self._refuses(event["request"]["url"])
        is_picture = self._blocks_pictures and event["resourceType"] in _IMAGE_RESOURCE
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

"""What pages may not load: ads and trackers by filter lists, pictures when nobody wants them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import structlog
from structlog.typing import FilteringBoundLogger

from cinder.fetch.browser.filter_syntax import Rule, Skip, parse_rule
from cinder.fetch.browser.resources import resource_patterns
from cinder.model.url import host_and_port

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

    rules: tuple[Rule, ...]
    skipped: Counter[Skip]


def read_lists(files: Iterable[Path], limits: ListLimits) -> FilterLists:
    """Read filter lists in EasyList's format, each rule once.

    Raises:
        ValueError: a file cannot be read or is too large; the message names it.
    """
    rules: dict[Rule, None] = {}
    skipped: Counter[Skip] = Counter()
    for file in files:
        for line in _read_text(file, limits.max_file_bytes).splitlines():
            rule = parse_rule(line)
            if isinstance(rule, Rule):
                rules[rule] = None
            elif rule is not Skip.COMMENT:
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

    def __init__(self, rules: Sequence[Rule], limits: ListLimits) -> None:
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
        self._on_host: dict[str, list[Rule]] = {}
        self._third_party_below: dict[str, list[Rule]] = {}
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

    def _own_rules(self, page_host: str) -> Iterator[Rule]:
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


def _without_covered(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules that no rule for a whole host makes superfluous."""
    whole = {rule.host: rule for rule in rules if rule.is_on_whole_host}
    return [rule for rule in rules if not _is_covered(rule, whole)]


def _is_covered(rule: Rule, whole: dict[str, Rule]) -> bool:
    covers = (whole.get(parent) for parent in _host_and_parents(rule.host))
    return any(
        cover is not None and cover != rule and (rule.is_third_party or not cover.is_third_party)
        for cover in covers
    )


def _of_effect(exceptions: Iterable[Rule], rules: Sequence[Rule]) -> Iterator[Rule]:
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

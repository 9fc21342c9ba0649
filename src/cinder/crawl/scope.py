"""The scope of a crawl: its hosts, its depth, and the caller's URL patterns."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Protocol

import re2
from publicsuffixlist import PublicSuffixList

from cinder.crawl.urls import CanonicalUrl
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.options import Option

MAX_PATTERNS = 50
MAX_PATTERN_CHARS = 1_000
MAX_DEPTH = 1_000
_MAX_MEMORY_BYTES = 1024 * 1024
_public_suffixes = cache(PublicSuffixList)


class _Compiled(Protocol):
    def search(self, text: bytes) -> object | None: ...


class UrlPatterns:
    """Patterns that are searched anywhere in a URL; the first match counts."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [(pattern, _compile(pattern)) for pattern in patterns]
        # One pattern for all, since nearly all URLs match none; None where it is too large.
        self._any: _Compiled | None = None
        # A quotation may be left open at the end of a pattern, and would extend into the next.
        if len(patterns) > 1 and not any(r"\Q" in pattern for pattern in patterns):
            with suppress(ValueError):
                self._any = _compile("|".join(f"(?:{pattern})" for pattern in patterns))

    def find(self, url: str) -> str | None:
        """Return the first pattern that matches, or None."""
        encoded = url.encode()
        if self._any is not None and self._any.search(encoded) is None:
            return None
        matching = (pattern for pattern, compiled in self._patterns if compiled.search(encoded))
        return next(matching, None)


def compile_patterns(field: str, patterns: Sequence[str]) -> UrlPatterns | None:
    """Return the compiled patterns of a request; None where it has none.

    Raises:
        InvalidRequest: some patterns are invalid, each of which it names, or there are too many.
    """
    if not patterns:
        return None
    if len(patterns) > MAX_PATTERNS:
        too_many = f"At most {MAX_PATTERNS} patterns can be given"
        raise InvalidRequest(problems=(FieldProblem(field, too_many),))
    problems = tuple(
        FieldProblem(f"{field}.{number}", message)
        for number, pattern in enumerate(patterns)
        if (message := _problem_of(pattern))
    )
    if problems:
        raise InvalidRequest(problems=problems)
    return UrlPatterns(patterns)


def _problem_of(pattern: str) -> str | None:
    if not pattern:
        return "An empty pattern would match every URL; leave it out"
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"Too long: a pattern has at most {MAX_PATTERN_CHARS} characters"
    try:
        _compile(pattern)
    except ValueError as exc:
        return f"Not a valid RE2 pattern: {exc}"
    return None


def _compile(pattern: str) -> _Compiled:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: _Compiled = re2.compile(pattern.encode(), options)
    except re2.error as exc:
        message = exc.args[0] if exc.args else b""
        reason = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
        raise ValueError(reason) from exc
    return compiled


OUTSIDE = "outside scope"
TOO_DEEP = f"{OUTSIDE}: deeper than maxDepth"

_RANKS_PER_DEPTH = 8
_MAX_CACHED_HOSTS = 10_000
_LONGEST_EXTENSION = 7
# Extensions of files, not of pages. `/tags/node.js` is a page, so scripts are not listed, nor are
# documents that can be read.
_FILE_EXTENSIONS_LISTED = (
    "jpg jpeg jpe png gif webp avif svg svgz ico bmp tif tiff heic heif psd eps raw cr2 "
    "mp3 mp4 m4a m4v ogg oga ogv opus wav flac aac wma mid midi avi mov mkv webm wmv flv "
    "mpg mpeg 3gp m3u8 swf zip rar 7z gz tgz bz2 xz zst tar iso dmg pkg deb rpm msi exe "
    "apk ipa jar war cab bin img woff woff2 ttf otf eot css map doc docx xls xlsx ppt "
    "pptx odt ods odp epub mobi torrent parquet sqlite"
)
_FILE_EXTENSIONS = frozenset(_FILE_EXTENSIONS_LISTED.split())


class ScopeKind(StrEnum):
    """Which URLs belong to a crawl, by host and path."""

    PATH = "path"
    HOST = "host"
    DOMAIN = "domain"
    SUBDOMAINS = "subdomains"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRules:
    """The scope that a crawl was started with."""

    kind: Annotated[
        ScopeKind,
        Option(
            "How far from the start: its own `path` (its folder and what is below), its `host` "
            "alone, its registered `domain`, or its `subdomains`.",
            name="scope",
            hint="Which hosts belong to it",
        ),
    ] = ScopeKind.DOMAIN
    include: Annotated[
        tuple[str, ...],
        Option(
            "Regular expressions (RE2); only URLs in which one is found are fetched, and the "
            "start.",
            name="includePatterns",
            bounds={"max_length": MAX_PATTERNS},
            hint="Regexes (RE2) found in URLs to fetch",
            flags=("--include",),
            flag_help="Only URLs in which this regular expression is found; repeatable.",
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Option(
            "Regular expressions (RE2); URLs in which one is found are not fetched.",
            name="excludePatterns",
            bounds={"max_length": MAX_PATTERNS},
            hint="… to skip",
            flags=("--exclude",),
            flag_help="No URLs in which this regular expression is found; repeatable.",
        ),
    ] = ()
    max_depth: Annotated[
        int,
        Option(
            "How far to go: 1 is the start alone, 2 the pages that it links to as well, and so on.",
            bounds={"ge": 1, "le": MAX_DEPTH},
            hint="1: only the start",
        ),
    ] = 2


class CrawlScope:
    """Decides which URLs belong to a crawl.

    Raises:
        InvalidRequest: a pattern is invalid, or there are too many.
    """

    def __init__(self, start: CanonicalUrl, rules: ScopeRules) -> None:
        self._start_key = start.key
        self._max_depth = rules.max_depth
        self._include = compile_patterns("includePatterns", rules.include)
        self._exclude = compile_patterns("excludePatterns", rules.exclude)
        self._kind = rules.kind
        self._authority = start.authority
        self._folder = folder_of(start.path)
        self._host, self._port = _host_and_port(start.authority)
        # Only this scope needs the list of public suffixes, which takes long to load.
        is_domain = rules.kind is ScopeKind.DOMAIN
        self._domain = registered_domain(self._host) if is_domain else self._host
        self._reasons: dict[str, str | None] = {start.authority: None}

    def judge(self, address: CanonicalUrl, depth: int) -> str | None:
        """Return why a URL found at a depth is left out, or None where it belongs to the crawl."""
        if address.key == self._start_key:
            return None
        if reason := self._judge_host(address.authority):
            return reason
        if self._kind is ScopeKind.PATH and not self._is_below_start(address):
            return f"{OUTSIDE}: not below {self._folder}"
        if depth > self._max_depth:
            return TOO_DEEP
        if extension := _file_extension(address.path):
            return f"{OUTSIDE}: a file, not a page (.{extension})"
        if self._exclude and (pattern := self._exclude.find(address.url)) is not None:
            return f"{OUTSIDE}: excluded by pattern {pattern!r}"
        if self._include and self._include.find(address.url) is None:
            return f"{OUTSIDE}: matches no include pattern"
        return None

    def best_rank(self, depth: int) -> int:
        """Return the lowest rank that a URL can have at a depth."""
        return depth * _RANKS_PER_DEPTH

    def rank(self, address: CanonicalUrl, depth: int, *, is_listed: bool = False) -> int:
        """Return the place of a URL in the order of fetches, the lowest first.

        Depth comes first. Within a depth, the start's own path is before the rest of its host, then
        come other hosts, and URLs that a sitemap lists are behind links.
        """
        if self._is_below_start(address):
            return self.best_rank(depth)
        is_other_host = address.authority != self._authority
        return self.best_rank(depth) + 1 + is_other_host + 2 * is_listed

    def _is_below_start(self, address: CanonicalUrl) -> bool:
        # A folder may be linked without its slash.
        return address.authority == self._authority and (
            address.path.startswith(self._folder) or f"{address.path}/" == self._folder
        )

    def _judge_host(self, authority: str) -> str | None:
        """Return why a host is outside, or None; each is judged once."""
        if authority in self._reasons:
            return self._reasons[authority]
        host, port = _host_and_port(authority)
        if self._kind is ScopeKind.SUBDOMAINS and not _is_ip_address(self._host):
            is_inside = f".{host}".endswith(f".{self._host}")
        elif self._kind is ScopeKind.DOMAIN:
            is_inside = host == self._host or registered_domain(host) == self._domain
        else:
            is_inside = host == self._host
        reason = None if port == self._port else f"{OUTSIDE}: other port of the same host"
        if not is_inside:
            reason = f"{OUTSIDE}: other {'domain' if self._kind is ScopeKind.DOMAIN else 'host'}"
        if len(self._reasons) < _MAX_CACHED_HOSTS:
            self._reasons[authority] = reason
        return reason


def folder_of(path: str) -> str:
    """Return the folder that a start's path names, with a slash at its end.

    A last part without a dot is a folder, too: `/docs` is that of `/docs/install`.
    """
    name = path.rpartition("/")[2]
    return f"{path}/" if name and "." not in name else path[: len(path) - len(name)]


def registered_domain(host: str) -> str:
    """Return the registered domain of a host.

    An IP address, a name without a dot and a public suffix are their own domain.
    """
    host = host.removesuffix(".")
    return host if _is_ip_address(host) else _public_suffixes().privatesuffix(host) or host


def _is_ip_address(host: str) -> bool:
    # By the WHATWG rules, a host whose last part is a number is an IPv4 address.
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def _host_and_port(authority: str) -> tuple[str, str]:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = authority, ""
    return host.removesuffix("."), port


def _file_extension(path: str) -> str | None:
    name = path[path.rfind("/") + 1 :]
    dot = name.rfind(".")
    # `/wiki/File:Map.png` is a page about a file.
    if dot < 1 or len(name) - dot > _LONGEST_EXTENSION + 1 or ":" in name:
        return None
    extension = name[dot + 1 :].lower()
    return extension if extension in _FILE_EXTENSIONS else None

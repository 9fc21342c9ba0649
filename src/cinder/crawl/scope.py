"""The scope of a crawl: its hosts, its depth, and the caller's URL patterns."""

from collections.abc import Sequence
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


class _Compiled(Protocol):
    def search(self, text: bytes) -> object | None: ...


class UrlPatterns:
    """Patterns, of which the first that matches anywhere in a URL counts."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = [(pattern, _compile(pattern)) for pattern in patterns]
        self._any = _join(patterns)

    def find(self, url: str) -> str | None:
        """Return the first pattern that matches, or None."""
        encoded = url.encode()
        if self._any is not None and self._any.search(encoded) is None:
            return None
        matching = (pattern for pattern, compiled in self._patterns if compiled.search(encoded))
        return next(matching, None)


def compile_patterns(field: str, patterns: Sequence[str]) -> UrlPatterns | None:
    """Return a request's patterns, ready to match; None where it has none.

    Raises:
        InvalidRequest: it names every pattern that is not one, or says that they are too many.
    """
    if not patterns:
        return None
    if len(patterns) > MAX_PATTERNS:
        message = f"At most {MAX_PATTERNS} patterns can be given"
        raise InvalidRequest(problems=(FieldProblem(field, message),))
    found = ((f"{field}.{place}", _problem_of(each)) for place, each in enumerate(patterns))
    problems = tuple(FieldProblem(name, message) for name, message in found if message)
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


def _join(patterns: Sequence[str]) -> _Compiled | None:
    """Return one pattern for all, since nearly all URLs match none; None where that is too much."""
    # A quotation may be left open at a pattern's end, and would go on into the next.
    if len(patterns) == 1 or any(r"\Q" in pattern for pattern in patterns):
        return None
    try:
        return _compile("|".join(f"(?:{pattern})" for pattern in patterns))
    except ValueError:
        return None


def _compile(pattern: str) -> _Compiled:
    options = re2.Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False
    options.never_capture = True
    try:
        compiled: _Compiled = re2.compile(pattern.encode(), options)
    except re2.error as exc:
        said = exc.args[0] if exc.args else b""
        reason = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        raise ValueError(reason) from exc
    return compiled


OUTSIDE = "outside scope"
TOO_DEEP = f"{OUTSIDE}: deeper than maxDepth"
_NOT_INCLUDED = f"{OUTSIDE}: matches no include pattern"

_MAX_HOSTS_REMEMBERED = 10_000
_LONGEST_EXTENSION = 7
# What no page is. Scripts are not here, since `/tags/node.js` is a page; nor is what can be read.
_FILE_EXTENSIONS_LISTED = (
    "jpg jpeg jpe png gif webp avif svg svgz ico bmp tif tiff heic heif psd eps raw cr2 "
    "mp3 mp4 m4a m4v ogg oga ogv opus wav flac aac wma mid midi avi mov mkv webm wmv flv "
    "mpg mpeg 3gp m3u8 swf zip rar 7z gz tgz bz2 xz zst tar iso dmg pkg deb rpm msi exe "
    "apk ipa jar war cab bin img woff woff2 ttf otf eot css map doc docx xls xlsx ppt "
    "pptx odt ods odp epub mobi torrent parquet sqlite"
)
_FILE_EXTENSIONS = frozenset(_FILE_EXTENSIONS_LISTED.split())


class ScopeKind(StrEnum):
    """How far from its start a crawl may go."""

    HOST = "host"
    DOMAIN = "domain"
    SUBDOMAINS = "subdomains"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeRules:
    """The scope that a crawl was started with."""

    kind: Annotated[
        ScopeKind,
        Option(
            "How far from the start: its `host` alone, its registered `domain`, or its "
            "`subdomains`.",
            name="scope",
            hint="Default domain",
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
            hint="1: only the start. Default 2",
        ),
    ] = 2


class CrawlScope:
    """Judges whether addresses belong to a crawl.

    Raises:
        InvalidRequest: a pattern is not one, or there are too many.
    """

    def __init__(self, start: CanonicalUrl, rules: ScopeRules) -> None:
        self._start_key = start.key
        self._max_depth = rules.max_depth
        self._include = compile_patterns("includePatterns", rules.include)
        self._exclude = compile_patterns("excludePatterns", rules.exclude)
        self._hosts = _Hosts(start.authority, rules.kind)

    def judge(self, address: CanonicalUrl, depth: int) -> str | None:
        """Return why an address found at a depth is left out, or None: it belongs to the crawl."""
        if address.key == self._start_key:
            return None
        if reason := self._hosts.judge(address.authority):
            return reason
        if depth > self._max_depth:
            return TOO_DEEP
        if extension := _file_extension(address.path):
            return f"{OUTSIDE}: a file, not a page (.{extension})"
        return self._judge_by_patterns(address.url)

    def _judge_by_patterns(self, url: str) -> str | None:
        if self._exclude and (pattern := self._exclude.find(url)) is not None:
            return f"{OUTSIDE}: excluded by pattern {pattern!r}"
        if self._include and self._include.find(url) is None:
            return _NOT_INCLUDED
        return None


class _Hosts:
    """Judges hosts, each once."""

    def __init__(self, start: str, kind: ScopeKind) -> None:
        self._kind = kind
        self._host, self._port = _host_and_port(start)
        # Only this scope needs the list of public suffixes, which takes a while to load.
        self._domain = registered_domain(self._host) if kind is ScopeKind.DOMAIN else self._host
        self._reasons: dict[str, str | None] = {start: None}

    def judge(self, authority: str) -> str | None:
        try:
            return self._reasons[authority]
        except KeyError:
            reason = self._judge_anew(authority)
        if len(self._reasons) < _MAX_HOSTS_REMEMBERED:
            self._reasons[authority] = reason
        return reason

    def _judge_anew(self, authority: str) -> str | None:
        host, port = _host_and_port(authority)
        if not self._holds(host):
            return f"{OUTSIDE}: other {'domain' if self._kind is ScopeKind.DOMAIN else 'host'}"
        return None if port == self._port else f"{OUTSIDE}: other port of the same host"

    def _holds(self, host: str) -> bool:
        if host == self._host:
            return True
        if self._kind is ScopeKind.SUBDOMAINS:
            return not _is_ip_address(self._host) and host.endswith(f".{self._host}")
        return self._kind is ScopeKind.DOMAIN and registered_domain(host) == self._domain


def registered_domain(host: str) -> str:
    """Return the domain that somebody registered, of which a host is part.

    An IP address, a name without a dot and a public suffix are their own.
    """
    host = host.removesuffix(".")
    return host if _is_ip_address(host) else _public_suffixes().privatesuffix(host) or host


@cache
def _public_suffixes() -> PublicSuffixList:
    return PublicSuffixList()


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
    # In `/wiki/File:Map.png` the colon makes it a page about a file.
    if dot < 1 or len(name) - dot > _LONGEST_EXTENSION + 1 or ":" in name:
        return None
    extension = name[dot + 1 :].lower()
    return extension if extension in _FILE_EXTENSIONS else None

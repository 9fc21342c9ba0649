"""The error tree: every failure that cinder reports, each with a stable code.

    CinderError
    ├── InvalidRequest        VALIDATION_ERROR     the request itself is wrong; names every field
    ├── Unauthorized          UNAUTHORIZED         no token, or a wrong one
    ├── Forbidden             FORBIDDEN            not with this token, or not for this host name
    ├── Unsupported           UNSUPPORTED          understood, but this installation cannot do it
    ├── EgressBlocked         EGRESS_BLOCKED       the address policy refuses the target
    ├── DnsFailed             DNS_ERROR            the target's name does not resolve
    ├── ScrapeTimeout         SCRAPE_TIMEOUT       the request's time ran out
    ├── ScrapeFailed          SCRAPE_FAILED        every strategy was tried and none worked
    │   ├── ConnectionFailed  SCRAPE_FAILED        the connection broke: worth another try
    │   ├── TlsFailed         SCRAPE_FAILED        the TLS handshake failed
    │   ├── BrowserCrashed    SCRAPE_FAILED        the browser ended: worth another try
    │   ├── TargetHttpError   TARGET_HTTP_ERROR    the target's server answered 404, 429, 503, …
    │   └── Blocked           BLOCKED              the site turns automated visitors away
    ├── ActionFailed          ACTION_FAILED        a browser action could not be done
    ├── BrowserUnavailable    BROWSER_UNAVAILABLE  no browser is installed, or none starts
    ├── ProfileLocked         PROFILE_LOCKED       another process uses the browser profile
    ├── Overloaded            OVERLOADED           too much at once; try again later
    ├── RateLimited           RATE_LIMITED         the caller is over a limit; try again later
    ├── ContentTooLarge       CONTENT_TOO_LARGE    the target's body is over the limit
    ├── ParseLimitExceeded    PARSE_LIMIT          the content could not be processed within limits
    │   └── ParseTimeout      PARSE_LIMIT          not within the limit of time: worth another try
    ├── BatchNotFound         BATCH_NOT_FOUND      there is no batch of this id
    ├── BatchExpired          BATCH_EXPIRED        it existed, and is no longer kept
    ├── CrawlNotFound         CRAWL_NOT_FOUND      there is no crawl of this id
    ├── CrawlExpired          CRAWL_EXPIRED        it existed, and is no longer kept
    ├── SearchFailed          SEARCH_FAILED        no search provider answered
    ├── ExtractionFailed      EXTRACTION_FAILED    no page could be read
    └── CacheFailed           CACHE_ERROR          the database could not be read or written
        ├── DatabaseAway      CACHE_ERROR          it cannot be reached; try again later
        ├── DatabaseDamaged   CACHE_ERROR          its content is damaged
        └── StorageFull       STORAGE_FULL         nothing more can be written; reads still work

A class's docstring is its default message. The table in ``cinder.api.errors`` maps each code to an
HTTP status and an exit code.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from inspect import cleandoc
from typing import ClassVar, Self

# The setting's name at the beginning of a message: `egress.allow: …`.
_NAMED = re.compile(r"([a-z]+)\.([a-z]+(?:-[a-z]+)*)(?=: )")


class ErrorCode(StrEnum):
    """Every code that a caller may see. The meaning of a code never changes."""

    VALIDATION_ERROR = "VALIDATION_ERROR"
    SCRAPE_TIMEOUT = "SCRAPE_TIMEOUT"
    SCRAPE_FAILED = "SCRAPE_FAILED"
    CACHE_ERROR = "CACHE_ERROR"
    EXTRACTION_FAILED = "EXTRACTION_FAILED"
    BATCH_NOT_FOUND = "BATCH_NOT_FOUND"
    BATCH_EXPIRED = "BATCH_EXPIRED"
    UNAUTHORIZED = "UNAUTHORIZED"
    EGRESS_BLOCKED = "EGRESS_BLOCKED"
    ROBOTS_DISALLOWED = "ROBOTS_DISALLOWED"
    TARGET_HTTP_ERROR = "TARGET_HTTP_ERROR"
    BLOCKED = "BLOCKED"
    RATE_LIMITED = "RATE_LIMITED"
    CONTENT_TOO_LARGE = "CONTENT_TOO_LARGE"
    PARSE_LIMIT = "PARSE_LIMIT"
    ACTION_FAILED = "ACTION_FAILED"
    CRAWL_NOT_FOUND = "CRAWL_NOT_FOUND"
    CRAWL_EXPIRED = "CRAWL_EXPIRED"
    FORBIDDEN = "FORBIDDEN"
    UNSUPPORTED = "UNSUPPORTED"
    BROWSER_UNAVAILABLE = "BROWSER_UNAVAILABLE"
    PROFILE_LOCKED = "PROFILE_LOCKED"
    DNS_ERROR = "DNS_ERROR"
    OVERLOADED = "OVERLOADED"
    STORAGE_FULL = "STORAGE_FULL"
    SEARCH_FAILED = "SEARCH_FAILED"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of a strategy at a URL: how long it took and, if it failed, why."""

    strategy: str
    elapsed_ms: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How a scrape went: the attempts, in order, and the number of retries."""

    attempts: tuple[Attempt, ...] = ()
    retry_count: int = 0
    proxy_pool: str | None = None
    """The pool of upstream proxies that all attempts used."""

    @property
    def strategies(self) -> list[str]:
        """The strategies tried, each once, in order."""
        return list(dict.fromkeys(attempt.strategy for attempt in self.attempts))

    @property
    def last_error(self) -> str | None:
        """The error of the last attempt that failed."""
        return next((a.error for a in reversed(self.attempts) if a.error), None)

    @property
    def strategy_errors(self) -> dict[str, str]:
        """The last error of each strategy that failed."""
        return {a.strategy: a.error for a in self.attempts if a.error}

    @property
    def timing(self) -> dict[str, int]:
        """Milliseconds spent in each strategy, all its attempts together."""
        spent: dict[str, int] = {}
        for attempt in self.attempts:
            spent[attempt.strategy] = spent.get(attempt.strategy, 0) + attempt.elapsed_ms
        return spent


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """An invalid field of a request, and what is wrong with it."""

    field: str
    message: str


@dataclass
class CinderError(Exception):
    """The request could not be completed."""

    code: ClassVar[ErrorCode] = ErrorCode.SCRAPE_FAILED

    message: str = ""
    url: str | None = field(default=None, kw_only=True)
    diagnostics: Diagnostics | None = field(default=None, kw_only=True)
    verdict: str | None = field(default=None, kw_only=True)
    status_code: int | None = field(default=None, kw_only=True)
    """The HTTP status that the target answered with."""
    retry_after_seconds: float | None = field(default=None, kw_only=True)
    """When a retry may succeed, by the target or by the limit that refused the request."""

    def __post_init__(self) -> None:
        self.message = self.message or cleandoc(self.__doc__ or "")
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    # A dataclass that compares by value has no hash, and raising needs one.
    __hash__ = Exception.__hash__


@dataclass
class InvalidRequest(CinderError):
    """The request is not valid."""

    code = ErrorCode.VALIDATION_ERROR

    problems: tuple[FieldProblem, ...] = field(default=(), kw_only=True)

    @classmethod
    def at(cls, field: str, message: str) -> Self:
        """Return the error for one invalid field."""
        return cls(problems=(FieldProblem(field, message),))

    def __post_init__(self) -> None:
        if not self.message and self.problems:
            listed = "; ".join(f"{p.field}: {p.message}" for p in self.problems)
            self.message = f"Invalid arguments: {listed}"
        super().__post_init__()

    @property
    def summary(self) -> str:
        """The message, without the values that each problem expected and received."""
        if not self.problems:
            return self.message
        listed = (f"{p.field}: {p.message.partition('. Expected ')[0]}" for p in self.problems)
        return f"Invalid arguments: {'; '.join(listed)}"

    __hash__ = Exception.__hash__


class Unauthorized(CinderError):
    """A valid API token is needed: send it as `Authorization: Bearer <token>`."""

    code = ErrorCode.UNAUTHORIZED


class Forbidden(CinderError):
    """The server is addressed by a name that is not its own; see server.allowed-hosts."""

    code = ErrorCode.FORBIDDEN


class Unsupported(CinderError):
    """This installation cannot do that."""

    code = ErrorCode.UNSUPPORTED


@contextmanager
def requires_extra(name: str) -> Iterator[None]:
    """Import optional dependencies; where one is missing, name the extra that installs it.

    Raises:
        Unsupported: a library is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as exc:
        raise Unsupported(
            f"{exc.name} is not installed; install it with: pip install 'cinder-web[{name}]'"
        ) from exc


class EgressBlocked(CinderError):
    """The address is not a public one, and no allow rule names it."""

    code = ErrorCode.EGRESS_BLOCKED


class DnsFailed(CinderError):
    """The host name could not be resolved."""

    code = ErrorCode.DNS_ERROR


class ScrapeTimeout(CinderError):
    """The page did not answer within the request's timeout."""

    code = ErrorCode.SCRAPE_TIMEOUT


class ScrapeFailed(CinderError):
    """Every strategy was tried and none could get the page."""

    code = ErrorCode.SCRAPE_FAILED


class ConnectionFailed(ScrapeFailed):
    """The connection could not be made, or broke before the response was complete."""


class TlsFailed(ScrapeFailed):
    """No secure connection could be made: the TLS handshake failed."""


class BrowserCrashed(ScrapeFailed):
    """The browser ended before the page was read."""


class TargetHttpError(ScrapeFailed):
    """The target's server answered with an HTTP error."""

    code = ErrorCode.TARGET_HTTP_ERROR


class Blocked(ScrapeFailed):
    """The site turned the request away as an automated one."""

    code = ErrorCode.BLOCKED


class ActionFailed(CinderError):
    """A browser action could not be done."""

    code = ErrorCode.ACTION_FAILED


class BrowserUnavailable(CinderError):
    """No browser can be started on this machine; `cinder doctor` shows why."""

    code = ErrorCode.BROWSER_UNAVAILABLE


class ProfileLocked(CinderError):
    """Another process uses the browser profile."""

    code = ErrorCode.PROFILE_LOCKED


class Overloaded(CinderError):
    """The server has too many requests at once; try again later."""

    code = ErrorCode.OVERLOADED


class RateLimited(CinderError):
    """The caller is over a limit; try again later."""

    code = ErrorCode.RATE_LIMITED


class BatchNotFound(CinderError):
    """There is no batch of this id."""

    code = ErrorCode.BATCH_NOT_FOUND


class BatchExpired(CinderError):
    """The batch has expired."""

    code = ErrorCode.BATCH_EXPIRED


class CrawlNotFound(CinderError):
    """There is no crawl of this id."""

    code = ErrorCode.CRAWL_NOT_FOUND


class CrawlExpired(CinderError):
    """The crawl has expired."""

    code = ErrorCode.CRAWL_EXPIRED


class SearchFailed(CinderError):
    """No search provider gave an answer."""

    code = ErrorCode.SEARCH_FAILED


class ExtractionFailed(CinderError):
    """None of the pages could be read."""

    code = ErrorCode.EXTRACTION_FAILED


class ContentTooLarge(CinderError):
    """The page is larger than the limit."""

    code = ErrorCode.CONTENT_TOO_LARGE


class ParseLimitExceeded(CinderError):
    """The page's content could not be processed within the limits of time and memory."""

    code = ErrorCode.PARSE_LIMIT


class ParseTimeout(ParseLimitExceeded):
    """The page's content could not be processed within the limit of time."""


class CacheFailed(CinderError):
    """The database could not be read or written."""

    code = ErrorCode.CACHE_ERROR


class DatabaseAway(CacheFailed):
    """The database cannot be reached; try again later."""


class DatabaseDamaged(CacheFailed):
    """The database is damaged, or is no database."""


class StorageFull(CacheFailed):
    """The storage is full: nothing more can be saved. Saved pages can still be read."""

    code = ErrorCode.STORAGE_FULL


class SettingsError(ValueError):
    """The settings cannot be used; the message is one line, with the setting's variable."""

    def __init__(self, message: str) -> None:
        """Take a message; if it begins with a setting's name, its variable is added."""
        line = " ".join(message.encode(errors="backslashreplace").decode().split())
        if named := _NAMED.match(line):
            variable = f"CINDER_{named[1]}__{named[2]}".upper().replace("-", "_")
            line = f"{named[0]} ({variable}){line[named.end() :]}"
        super().__init__(line)

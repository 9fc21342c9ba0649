"""HTTP responses, the Retry-After header, and the request headers a caller may set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from cinder.errors import FieldProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """What a server sent back, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes
    is_cut: bool = False
    """Whether the body is longer than the limit or broke off: it is what came before that."""


def read_retry_after(value: str, now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, given so or as a date."""
    value = value.strip()
    if value.isdecimal():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())
    except (ValueError, OverflowError):
        return None


MAX_HEADERS = 100
MAX_HEADER_BYTES = 16_384

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")

_OF_CONNECTIONS = ("ntlm", "negotiate")

# Headers that say how the message travels, or that would change what kind of answer comes back.
_MANAGED = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "range",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


def check_headers(headers: Mapping[str, str]) -> list[FieldProblem]:
    """Return what is wrong with custom headers; nothing when they may be sent as they are."""
    if len(headers) > MAX_HEADERS:
        return [FieldProblem("headers", f"At most {MAX_HEADERS} headers can be sent")]
    problems = []
    for name, value in headers.items():
        if message := _check_header(name, value):
            problems.append(FieldProblem(f"headers.{name[:100]}", message))
    return problems


def _check_header(name: str, value: str) -> str | None:
    if not _NAME.fullmatch(name):
        return "Not a valid header name"
    if name.lower() in _MANAGED:
        return "This header is set by cinder and cannot be overridden"
    if name.lower() == "authorization" and value.lower().startswith(_OF_CONNECTIONS):
        return "NTLM and Negotiate log a connection in, which other requests may then use"
    if not is_sendable(value):
        return "A header value must be ASCII text without line breaks or control characters"
    if len(value) > MAX_HEADER_BYTES:
        return f"A header value has at most {MAX_HEADER_BYTES} characters"
    return None


def is_sendable(value: str) -> bool:
    """Whether a header may have this value."""
    return _VALUE.fullmatch(value) is not None

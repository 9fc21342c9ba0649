"""Removes secrets from log lines, error messages and stored options.

URLs contain passwords and signatures, and messages quote URLs. Values that look like secrets, by
their position or their name, are replaced by an ellipsis; the rest stays readable.
"""

import re
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

import can_ada

HIDDEN = "…"

# A name excludes the characters that begin the next one, so that matching is linear.
_PARAMETER = re.compile(r"(^|[?&;#\s])([^?&;#=\s\"'<>]{1,100})=([^?&;#\s\"'<>]+)")
# A question mark may be part of a value, or start the query of a URL within it.
_REST_OF_HIDDEN = re.compile(rf"(={HIDDEN})\?[^&;#\s\"'<>]*")
_USER = re.compile(r"//[^/?#\s@\"'<>]+@")
_SCHEME = re.compile(r"\b(bearer|basic) +(?=\S*[0-9=])[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_OWN_SECRET = re.compile(r"\b(cinder_|whsec_)[A-Za-z0-9_-]{20,}")
_SECRET_PARAMETER = re.compile(
    r"token|secret|passw|passphrase|signature|credential|cookie|api[-_.]?key|access[-_.]?key|"
    r"hmac|bearer|hdnea|"
    r"private[-_.]?key|session[-_.]?id|^(?:x-)?auth(?:orization)?$|[-_.]auth$|"
    r"^(?:key|sig|pwd|pass|jwt|sid|session|otp)$",
    re.IGNORECASE,
)
# For names outside URLs: headers, and keys of logged objects.
_SECRET_NAME = re.compile(r"auth|cookie|token|secret|session|api-?key|password", re.IGNORECASE)
_SECRET_KEYS = frozenset(("authorization", "cookie", "cookies", "password", "secret", "api_token"))
_CLOSING = ".,:;)]}`"
_MAX_NESTED_URLS = 2
_MAX_DEPTH = 12
_USUAL_PORTS = ("", "80", "443")

# Headers that state preferences and do not identify the client. All others may be secret: keys are
# named X-Jwt, Ocp-Apim-Subscription-Key and X-Ticket, and no list of such names is complete.
_HARMLESS_LISTED = (
    "accept accept-charset accept-language cache-control device-memory dnt downlink dpr ect "
    "pragma priority rtt save-data sec-gpc upgrade-insecure-requests user-agent "
    "viewport-width width x-requested-with"
)
_HARMLESS = frozenset(_HARMLESS_LISTED.split())
_HARMLESS_PREFIXES = ("sec-ch-", "sec-fetch-")


def redact(text: str) -> str:
    """Return a text, or a URL, without secrets."""
    return _redact(text, _MAX_NESTED_URLS)


def redact_line(line: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a log line without secrets, at any depth.

    Cinder chooses the top-level names, where `token` is a token's name; nested names may come from
    anywhere.
    """
    return {
        name: HIDDEN if name in _SECRET_KEYS else _redact_value(value, _MAX_DEPTH)
        for name, value in line.items()
    }


def is_secret_header(name: str) -> bool:
    """Whether a header of this name may identify or authorise the client."""
    lowered = name.lower()
    return lowered not in _HARMLESS and not lowered.startswith(_HARMLESS_PREFIXES)


def without_secret_headers(
    headers: Iterable[tuple[str, str]],
) -> tuple[tuple[str, str], ...]:
    """Return the headers that may be sent to any origin."""
    return tuple((name, value) for name, value in headers if not is_secret_header(name))


def hide_address(text: str, url: str) -> str:
    """Return a server's message about itself without the host and port of its URL."""
    parsed = can_ada.parse(url)
    host, port = parsed.hostname.strip("[]"), parsed.port
    text = re.sub(re.escape(host), HIDDEN, text, flags=re.IGNORECASE)
    # The usual ports reveal nothing, and their digits may appear anywhere.
    return text if port in _USUAL_PORTS else re.sub(rf"(?<!\d){port}(?!\d)", HIDDEN, text)


def _redact_value(value: object, depth: int) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, bytes):
        return redact(value.decode("utf-8", "replace"))
    if depth == 0:
        return HIDDEN
    if isinstance(value, Mapping):
        return {
            str(name): HIDDEN if _SECRET_NAME.search(str(name)) else _redact_value(item, depth - 1)
            for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redact_value(item, depth - 1) for item in value]
    return value


def _redact(text: str, nested: int) -> str:
    if "=" in text:
        text = _PARAMETER.sub(lambda found: _redact_parameter(found, nested), text)
        text = _REST_OF_HIDDEN.sub(r"\1", text)
    # Most texts are plain URLs: a search for one character is faster than the pattern.
    if "@" in text:
        text = _USER.sub(f"//{HIDDEN}@", text)
    if " " in text:
        text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    return _OWN_SECRET.sub(rf"\1{HIDDEN}", text) if "_" in text else text


def _redact_parameter(found: re.Match[str], nested: int) -> str:
    before, name, value = found.groups()
    kept = value.rstrip(_CLOSING)
    is_secret = _SECRET_PARAMETER.search(unquote(name)) is not None
    if not is_secret and nested and "%" in kept:
        # The value may be a percent-encoded URL that contains a secret.
        plain = unquote(kept)
        is_secret = _redact(plain, nested - 1) != plain
    return f"{before}{name}={HIDDEN}{value[len(kept) :]}" if is_secret else found[0]

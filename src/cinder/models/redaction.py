"""Removes secrets from log lines, error messages and stored options.

Addresses carry passwords and signatures, messages repeat addresses, and logs outlive both. What
looks like a secret by its place or its name is replaced by an ellipsis; the rest stays readable.
"""

import re
from collections.abc import Mapping
from urllib.parse import unquote

import can_ada

HIDDEN = "…"

# A name never holds what begins the next one, so that each character is looked at once.
_PARAMETER = re.compile(r"(^|[?&;#\s])([^?&;#=\s\"'<>]{1,100})=([^?&;#\s\"'<>]+)")
# A question mark may be part of a value, or begin an address within it.
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
# Of what is no address: headers, and the members of whatever somebody had logged.
_SECRET_NAME = re.compile(r"auth|cookie|token|secret|session|api-?key|password", re.IGNORECASE)
_SECRET_FACTS = frozenset(("authorization", "cookie", "cookies", "password", "secret", "api_token"))
_CLOSING = ".,:;)]}`"
_MAX_NESTED_ADDRESSES = 2
_MAX_DEPTH = 12
_USUAL_PORTS = ("", "80", "443")

# What says how one would like to be served, and not who one is. All others may: keys are called
# X-Jwt, Ocp-Apim-Subscription-Key and X-Ticket, and no list of such names is ever whole.
_HARMLESS = frozenset(
    {
        "accept",
        "accept-charset",
        "accept-language",
        "cache-control",
        "device-memory",
        "dnt",
        "downlink",
        "dpr",
        "ect",
        "pragma",
        "priority",
        "rtt",
        "save-data",
        "sec-gpc",
        "upgrade-insecure-requests",
        "user-agent",
        "viewport-width",
        "width",
        "x-requested-with",
    }
)
_HARMLESS_PREFIXES = ("sec-ch-", "sec-fetch-")


def redact(text: str) -> str:
    """Return a text, or an address, without the secrets in it."""
    return _redact(text, _MAX_NESTED_ADDRESSES)


def redact_line(line: Mapping[str, object]) -> dict[str, object]:
    """Return the facts of a log line without secrets, however they are nested.

    Its own facts are named by cinder, for which a token is the token's name; those within them may
    be named by anybody.
    """
    return {
        name: HIDDEN if name in _SECRET_FACTS else _redact_fact(fact, _MAX_DEPTH)
        for name, fact in line.items()
    }


def is_secret_header(name: str) -> bool:
    """Whether a header of this name may identify or authorise someone."""
    lowered = name.lower()
    return lowered not in _HARMLESS and not lowered.startswith(_HARMLESS_PREFIXES)


def hide_address(text: str, url: str) -> str:
    """Return what a server said of itself without the host and the port of its URL."""
    parsed = can_ada.parse(url)
    host, port = parsed.hostname.strip("[]"), parsed.port
    text = re.sub(re.escape(host), HIDDEN, text, flags=re.IGNORECASE)
    # The usual ports reveal nothing, and their digits may appear anywhere.
    return text if port in _USUAL_PORTS else re.sub(rf"(?<!\d){port}(?!\d)", HIDDEN, text)


def _redact_fact(facts: object, depth: int) -> object:
    if isinstance(facts, str):
        return redact(facts)
    if isinstance(facts, bytes):
        return redact(facts.decode("utf-8", "replace"))
    if depth == 0:
        return HIDDEN
    if isinstance(facts, Mapping):
        return {
            str(name): HIDDEN if _SECRET_NAME.search(str(name)) else _redact_fact(fact, depth - 1)
            for name, fact in facts.items()
        }
    if isinstance(facts, list | tuple):
        return [_redact_fact(fact, depth - 1) for fact in facts]
    return facts


def _redact(text: str, nested: int) -> str:
    if "=" in text:
        text = _PARAMETER.sub(lambda found: _without_value(found, nested), text)
        text = _REST_OF_HIDDEN.sub(r"\1", text)
    # Most texts are plain addresses: what none of the patterns can match without is looked for.
    if "@" in text:
        text = _USER.sub(f"//{HIDDEN}@", text)
    if " " in text:
        text = _SCHEME.sub(rf"\1 {HIDDEN}", text)
    return _OWN_SECRET.sub(rf"\1{HIDDEN}", text) if "_" in text else text


def _without_value(found: re.Match[str], nested: int) -> str:
    before, name, value = found.groups()
    kept = value.rstrip(_CLOSING)
    closing = value[len(kept) :]
    if _SECRET_PARAMETER.search(unquote(name)) or _hides_secret(kept, nested):
        return f"{before}{name}={HIDDEN}{closing}"
    return found[0]


def _hides_secret(value: str, nested: int) -> bool:
    """Whether a value is an address, written with percent signs, that has a secret in it."""
    if nested == 0 or "%" not in value:
        return False
    plain = unquote(value)
    return _redact(plain, nested - 1) != plain

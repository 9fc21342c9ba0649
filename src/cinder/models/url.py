"""URLs parsed and normalized by the WHATWG rules, and the domains they belong to."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import can_ada

MAX_URL_LENGTH = 8_192

# Digits after the colon are a port: "example.com:8080" has no scheme.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")
# Browsers end the host at the backslash; other parsers read the host after the `@`.
_TWO_HOSTS = re.compile(r"[^?#\\]*\\[^?#]*@")
# URL parsers accept more characters, but no name server and no client does.
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


class ForeignScheme(ValueError):
    """The URL is not an http or https URL."""


class AssumedHttps(str):
    """An https URL that was written without a scheme: http may serve as well."""

    __slots__ = ()


def parse_requested_url(text: str) -> str:
    """Return the canonical URL of a request; `AssumedHttps` where it has no scheme.

    Raises:
        ValueError: see `parse_web_url`.
    """
    url = parse_web_url(text)
    return url if _SCHEME.match(re.sub(r"[\t\n\r]", "", text.strip())) else AssumedHttps(url)


def parse_web_url(text: str) -> str:
    """Return the canonical http(s) URL of `text`; https is assumed where it has no scheme.

    Raises:
        ValueError: `text` is not a web URL; the message says why and can be shown to the caller.
    """
    text = text.strip()
    if not text:
        raise ValueError("Required")
    _check_length(text)
    if _TWO_HOSTS.match(text):
        raise ValueError("A URL must not have a backslash before an @: it could mean two hosts")
    # URL parsers drop tabs and line breaks anywhere, so the search for a scheme must as well.
    text = re.sub(r"[\t\n\r]", "", text)
    if not _SCHEME.match(text):
        text = f"https://{text.removeprefix('//')}"
    try:
        parsed = can_ada.parse(text)
    except (TypeError, ValueError):  # TypeError: the text contains a lone surrogate
        raise ValueError(f"Not a valid URL: {text[:200]!r}") from None
    return _check_web_url(parsed).href


def join_web_url(base: str, reference: str) -> str:
    """Return the http(s) URL of a reference on the page `base`.

    Raises:
        ValueError: the result is not a web URL; the message says why.
    """
    reference = reference.strip()
    _check_length(reference)
    try:
        parsed = _parse_base(base) + reference
    except TypeError:  # the reference contains a lone surrogate
        raise ValueError(f"Not a valid URL: {reference[:200]!r}") from None
    return _check_web_url(parsed).href


@lru_cache(maxsize=16)
def _parse_base(base: str) -> can_ada.URL:
    # A page or a sitemap has many references on the same base.
    return can_ada.parse(base)


def join_web_urls(base: str, references: Iterable[str]) -> Iterator[str]:
    """Yield the http(s) URLs of references on the page `base`; others are skipped."""
    for reference in references:
        try:
            url = join_web_url(base, reference)
        except ValueError:
            continue
        yield url


def origin_of(url: str) -> str:
    """Return the origin of a canonical URL: scheme, host and port."""
    return can_ada.parse(url).origin


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host (an IPv6 address without brackets) and port of a canonical URL."""
    parsed = can_ada.parse(url)
    port = int(parsed.port) if parsed.port else {"http:": 80, "https:": 443}[parsed.protocol]
    return parsed.hostname.strip("[]"), port


def _check_length(text: str) -> None:
    if len(text) > MAX_URL_LENGTH:
        raise ValueError(f"Too long: a URL has at most {MAX_URL_LENGTH} characters")


def _check_web_url(parsed: can_ada.URL) -> can_ada.URL:
    if parsed.protocol not in ("http:", "https:"):
        scheme = parsed.protocol.rstrip(":")
        raise ForeignScheme(f"Only http and https URLs can be fetched, not {scheme!r}")
    if parsed.has_credentials():
        raise ValueError(
            "A URL must not contain a user name or password; send an Authorization header instead"
        )
    if not parsed.hostname.strip("."):
        raise ValueError("The URL has no host")
    if not _HOST.fullmatch(parsed.hostname):
        raise ValueError(f"Not the name of a host: {parsed.hostname[:200]!r}")
    return parsed


def read_domain(text: str) -> str:
    """Return the domain of `example.com`, `*.example.com`, `www.example.com` or a URL.

    Raises:
        ValueError: it is not a domain; the message can be shown to the caller.
    """
    bare = text.strip().removeprefix("*.").lstrip(".")
    try:
        host, _ = host_and_port(parse_web_url(bare))
    except ValueError:
        raise ValueError(f"Not a domain: {text[:100]!r}. Write it like example.com") from None
    return host.removesuffix(".").removeprefix("www.")


def is_within(host: str, domains: Sequence[str]) -> bool:
    """Whether a host is one of the domains, or a subdomain of one."""
    host = host.removesuffix(".")
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)

"""URLs parsed by the WHATWG rules into one spelling, and the domains they belong to."""

import re
from collections.abc import Sequence

import can_ada

MAX_URL_LENGTH = 8_192

# Digits after the colon are a port: "example.com:8080" has no scheme.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?!\d)")


# To a browser the host ends at the backslash; to other parsers it stands behind the `@`.
_TWO_HOSTS = re.compile(r"[^?#\\]*\\[^?#]*@")


# What URL parsers let through beyond it, no name server knows and no client asks for.
_HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")


class ForeignScheme(ValueError):
    """The URL is not one of the web's."""


def parse_web_url(text: str) -> str:
    """Return the canonical http(s) URL that `text` means; without a scheme it means https.

    Raises:
        ValueError: `text` is no web URL; the message says why and is fit to show.
    """
    text = text.strip()
    if not text:
        raise ValueError("Required")
    _check_length(text)
    if _TWO_HOSTS.match(text):
        raise ValueError("A URL must not have a backslash before an @: it could mean two hosts")
    return _check_web_url(_parse_or_add_scheme(text)).href


def join_web_url(base: str, reference: str) -> str:
    """Return the http(s) URL that `reference` means on the page `base`.

    Raises:
        ValueError: the result is no web URL; the message says why.
    """
    reference = reference.strip()
    _check_length(reference)
    return _check_web_url(_join(base, reference)).href


def origin_of(url: str) -> str:
    """Return scheme, host and port of a canonical URL, as browsers compare them."""
    return can_ada.parse(url).origin


def host_and_port(url: str) -> tuple[str, int]:
    """Return the host (an IPv6 address without brackets) and port of a canonical URL."""
    parsed = can_ada.parse(url)
    port = int(parsed.port) if parsed.port else {"http:": 80, "https:": 443}[parsed.protocol]
    return parsed.hostname.strip("[]"), port


def _parse_or_add_scheme(text: str) -> can_ada.URL:
    # URL parsers drop tabs and line breaks anywhere; so must the look for a scheme.
    text = re.sub(r"[\t\n\r]", "", text)
    if not _SCHEME.match(text):
        text = f"https://{text.removeprefix('//')}"
    return _parse(text)


def _check_length(text: str) -> None:
    if len(text) > MAX_URL_LENGTH:
        raise ValueError(f"Too long: a URL has at most {MAX_URL_LENGTH} characters")


def _parse(text: str) -> can_ada.URL:
    try:
        return can_ada.parse(text)
    except (TypeError, ValueError):  # what holds a lone surrogate is no text to the parser
        raise ValueError(f"Not a valid URL: {text[:200]!r}") from None


def _join(base: str, reference: str) -> can_ada.URL:
    try:
        return can_ada.parse(base) + reference
    except TypeError:  # the same
        raise ValueError(f"Not a valid URL: {reference[:200]!r}") from None


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
    """Return the domain that is meant: by its name, as `*.name`, with `www.`, or as a URL.

    Raises:
        ValueError: it names none; the message says so and is fit to show.
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

"""Domains as callers write them, and whether a host belongs to one."""

from collections.abc import Sequence

from cinder.model.url import host_and_port, parse_web_url


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

"""Canonical URLs for tests."""

from cinder.crawl.urls import CanonicalUrl, canonicalize_url


def canonical(url: str) -> CanonicalUrl:
    """Return the address that a URL is; it must be one."""
    found = canonicalize_url(url)
    assert found is not None, url
    return found

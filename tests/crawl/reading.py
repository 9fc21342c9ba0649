"""Addresses for tests."""

from cinder.crawl.addresses import Address, read_address


def address_at(url: str) -> Address:
    """Return the address that a URL is; it must be one."""
    found = read_address(url)
    assert found is not None, url
    return found

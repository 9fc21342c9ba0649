"""The addresses of results: near-duplicate URLs share a key, and a key makes a result's id."""

from dataclasses import dataclass
from hashlib import blake2b

from cinder.crawl.addresses import read_address
from cinder.model.url import host_and_port, parse_web_url

_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class ResultAddress:
    """Where a result leads, and what tells it from others."""

    url: str
    """Without tracking parameters, session ids and the fragment."""
    given: str
    """As the provider spelled it, by the WHATWG rules: the name that a saved page has."""
    key: str
    """The same for http and https, with `www.` and without, with a slash at the end or none."""
    host: str

    @property
    def id(self) -> str:
        """The same for the same page, in every answer."""
        return blake2b(self.key.encode(), digest_size=_ID_BYTES).hexdigest()

    @property
    def domain(self) -> str:
        """The host as people say it."""
        return self.host.removeprefix("www.")


def read_result_address(url: str) -> ResultAddress | None:
    """Return the address of what a provider found; None where it is no page of the web."""
    try:
        given = parse_web_url(url)
    except ValueError:
        return None
    address = read_address(given)
    if address is None:
        return None
    query = f"?{address.query}" if address.query else ""
    key = f"{address.authority.removeprefix('www.')}{address.path.rstrip('/')}{query}"
    host, _ = host_and_port(address.url)
    return ResultAddress(address.url, given, key, host)

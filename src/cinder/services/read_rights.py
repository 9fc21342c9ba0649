"""Read rights: which of the pages that are kept a caller's token opens, beyond whose they are."""

from cinder.model.domains import is_within
from cinder.model.saved import Version
from cinder.model.url import host_and_port
from cinder.services.callers import Callers
from cinder.store.base import Store


class ReadRights:
    """A token for some domains reads pages of these alone, whoever had them saved."""

    def __init__(self, store: Store, callers: Callers) -> None:
        self._store = store
        self._callers = callers

    async def domains_of(self, caller: str) -> tuple[str, ...]:
        """Return the only domains whose pages a caller may read; none where all may be read.

        Raises:
            Forbidden: the caller's token was revoked.
        """
        return (await self._callers.policy_of(caller)).domains

    async def may_read(self, version: Version, caller: str) -> bool:
        """Whether a caller may read a version: by where it was asked for, and where it came from.

        Raises:
            Forbidden: the caller's token was revoked.
        """
        domains = await self.domains_of(caller)
        if not domains:
            return True
        if not is_place_within(version.place, domains):
            return False
        (saved,) = await self._store.find_versions([version], caller, with_raw=False)
        return saved is not None and is_url_within(saved.document.final_url, domains)


def is_url_within(url: str, domains: tuple[str, ...]) -> bool:
    """Whether a page is of one of the domains; of all pages, where there are none."""
    return not domains or is_within(host_and_port(url)[0], domains)


def is_place_within(place: str, domains: tuple[str, ...]) -> bool:
    """Whether a page's address within `scrape://` is of one of the domains."""
    if not domains:
        return True
    try:
        return is_url_within(f"https://{place}", domains)
    except ValueError:
        return False

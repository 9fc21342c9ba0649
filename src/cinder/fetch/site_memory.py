"""What worked for a site before: whether its pages needed a browser."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import can_ada

_SHELLS_TO_BELIEVE = 2


@dataclass(slots=True)
class _Experience:
    """What a site's pages were like lately."""

    last_shell_url: str
    last_shell_at: float
    shells_in_a_row: int = 1


class SiteMemory:
    """Remembers which sites need a browser, so that the next page goes straight to it.

    A site (host and port) is believed to need one after two different pages in a row were shells:
    one odd page, however often it is fetched, does not speak for the others. A page that was whole
    without a browser clears the site. The belief also ends by itself, some time after the last
    shell: then one page is fetched without a browser again, and only if that is a shell, too, is
    the site believed to need one for as long again. Of all the sites the memory keeps those heard
    of last.
    """

    def __init__(
        self,
        *,
        max_sites: int = 10_000,
        expiry_seconds: float = 3_600,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._sites: OrderedDict[str, _Experience] = OrderedDict()
        self._max_sites = max_sites
        self._expiry_seconds = expiry_seconds
        self._clock = clock

    def needs_browser(self, url: str) -> bool:
        """Whether a page of this site is better fetched with a browser from the start."""
        experience = self._sites.get(_site(url))
        if experience is None or self._clock() - experience.last_shell_at > self._expiry_seconds:
            return False
        return experience.shells_in_a_row >= _SHELLS_TO_BELIEVE

    def remember(self, url: str, *, needs_browser: bool) -> None:
        """Note what a page was like when it was fetched without a browser.

        A page that went straight to the browser says nothing of this, and must not be noted: the
        belief would keep itself alive.
        """
        site = _site(url)
        if not needs_browser:
            self._sites.pop(site, None)
            return
        experience = self._sites.setdefault(site, _Experience(url, self._clock()))
        if experience.last_shell_url != url:
            experience.shells_in_a_row += 1
        experience.last_shell_url, experience.last_shell_at = url, self._clock()
        self._sites.move_to_end(site)
        if len(self._sites) > self._max_sites:
            self._sites.popitem(last=False)


def _site(url: str) -> str:
    return can_ada.parse(url).host

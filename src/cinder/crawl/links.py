"""Which of a page's links a crawl follows, and whether the page wants to be kept at all."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from cinder.crawl.addresses import Address, read_address

MAX_LINKS = 5_000
"""How many links of one page are looked at."""

_MAX_DIRECTIVES_CHARS = 5_000
_FORBID_FOLLOWING = frozenset(("nofollow", "none"))
_FORBID_KEEPING = frozenset(("noindex", "none"))
# These have a value, behind a colon as well; before others, the name is that of a robot.
_WITH_VALUE = ("max-", "unavailable_after")
_PART_END = re.compile(r"[,;]")
_ROBOT_NAME = re.compile(r"[a-z_-]+")


@dataclass(frozen=True, slots=True)
class PageDirectives:
    """What a page wishes robots to do with it."""

    may_follow: bool = True
    may_keep: bool = True


def read_directives(meta_robots: str | None, robots_header: str | None) -> PageDirectives:
    """Return what a page's robots meta tag and its `X-Robots-Tag` header say together."""
    said = {*_directives(meta_robots or ""), *_directives(robots_header or "")}
    return PageDirectives(
        may_follow=not said & _FORBID_FOLLOWING, may_keep=not said & _FORBID_KEEPING
    )


def choose_links(links: Iterable[str], page: Address) -> tuple[Address, ...]:
    """Return the addresses that a page's links lead to, each once, without the page itself."""
    found: dict[str, Address] = {}
    for link in islice(links, MAX_LINKS):
        address = read_address(link)
        if address is not None and address.key != page.key:
            found.setdefault(address.key, address)
    return tuple(found.values())


def _directives(text: str) -> Iterable[str]:
    robot = ""
    for part in _PART_END.split(text[:_MAX_DIRECTIVES_CHARS].lower()):
        name, colon, rest = (each.strip() for each in part.partition(":"))
        if colon and not name.startswith(_WITH_VALUE) and _ROBOT_NAME.fullmatch(name):
            # A header may speak to one robot, from here to the next name: "otherbot: noindex".
            robot, name = name, rest
        if robot in ("", "cinder"):
            yield name

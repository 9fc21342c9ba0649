"""What the website has beside its pages: each odd link, the page that has it, and its fate.

A copy that nothing but its content betrays is linked from its original alone, or from pages found
through it: whoever comes upon the copy has read the original, so that which of them counts as the
page does not depend on the order of a crawl.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

from tests.crawled_site.fate import Fate
from tests.crawled_site.outline import (
    CALENDAR,
    CORNERS,
    KINDS,
    MAZE,
    MOVED,
    NOINDEX,
    SECTIONS,
    SHOP,
    SIZES,
    TOPICS,
    WITH_BASE,
    article_paths,
)

OUTSIDE = "http://outside.example"
# Each number under it leads to the next.
FARTHER = "/farther/"
REDIRECTED_TO_PRIVATE = "/private/redirected"
_TRACKING = (
    "?utm_source=newsletter&utm_medium=mail",
    "?gclid=Cj0KCQ",
    "?fbclid=IwAR2",
    "?msclkid=77f0",
    "?utm_campaign=winter#part-2",
)
# Every parser of URLs takes these for the page itself.
_PARSED_AWAY = ("{path}#part-2", "/logs/..{path}", "{port}{path}", "{shout}{path}")


@dataclass(frozen=True, slots=True)
class Oddity:
    """A link to what is no page, or to a page by another name."""

    href: str
    found_on: str
    fate: Fate
    # The page that it copies or, in the end, leads to.
    leads_to: str | None = None
    # For a redirect: the status, and where it leads next.
    status: int = 200
    location: str = ""


def build_oddities() -> list[Oddity]:
    """Return every odd link of the website, but for those inside of traps."""
    return [
        *_other_spellings(),
        *_sessions(),
        *_copies(),
        *_redirects(),
        *_crooked_redirects(),
        *_disallowed(),
        *_failures(),
        *_outside(),
        *_files(),
        *_trap_doors(),
        *_nothing_new(),
    ]


def _other_spellings() -> Iterator[Oddity]:
    articles = article_paths()
    for place, suffix in zip(range(0, len(articles), 9), cycle(_TRACKING), strict=False):
        path = articles[place]
        yield Oddity(path + suffix, articles[place - 1], Fate.DUPLICATE, path)
    for place, pattern in zip(range(5, len(articles), 40), cycle(_PARSED_AWAY), strict=False):
        href = pattern.replace("{path}", articles[place])
        yield Oddity(href, articles[place - 1], Fate.FETCHED, articles[place])
    for kind in KINDS:
        for size in SIZES:
            page = f"/catalogue/?kind={kind}&size={size}"
            swapped = f"/catalogue/?size={size}&kind={kind}"
            yield Oddity(swapped, "/catalogue/", Fate.DUPLICATE, page)


def _sessions() -> Iterator[Oddity]:
    for place, path in enumerate(article_paths()[4::60]):
        mark = f";jsessionid=A{place:05}F" if place % 2 else f"?sid=a{place:05}f"
        yield Oddity(path + mark, path, Fate.DUPLICATE, path)


def _copies() -> Iterator[Oddity]:
    yield Oddity("/index.html", "/", Fate.DUPLICATE, "/")
    for section in SECTIONS:
        original = f"/{section}/"
        below = f"/{section}/{TOPICS[0]}/"
        yield Oddity(f"{original}index.html", below, Fate.DUPLICATE, original)
    yield Oddity("/news/?page=1", "/news/?page=2", Fate.DUPLICATE, "/news/")
    articles = article_paths()
    for path in articles[::10]:
        yield Oddity(f"/print{path}", path, Fate.DUPLICATE, path)
    for path in articles[1::60]:
        yield Oddity(f"/mirror{path}", path, Fate.DUPLICATE, path)
    for path in articles[2::60]:
        yield Oddity(f"/near{path}", path, Fate.DUPLICATE, path)


def _redirects() -> Iterator[Oddity]:
    for section in SECTIONS:
        found_on, target = f"/{section}/{TOPICS[1]}/", f"/{section}/"
        yield Oddity(f"/{section}", found_on, Fate.REDIRECT, target, 308, target)
    statuses = cycle((301, 302, 303, 307, 308))
    for number, (path, status) in enumerate(zip(article_paths()[3::30], statuses, strict=False)):
        found_on = f"/guide/chapter-{number + 1}"
        yield Oddity(f"/old/{number}", found_on, Fate.REDIRECT, path, status, path)
    for number, status in zip(range(1, MOVED), (301, 302, 308), strict=True):
        target = f"/moved/here-{number}"
        yield Oddity(f"/moved/{number}", CORNERS, Fate.REDIRECT, target, status, target)
    last = f"/moved/here-{MOVED}"
    for hop, status, target in ((1, 301, "/hop/2"), (2, 302, "/hop/3"), (3, 308, last)):
        found_on = CORNERS if hop == 1 else f"/hop/{hop - 1}"
        yield Oddity(f"/hop/{hop}", found_on, Fate.REDIRECT, last, status, target)


def _crooked_redirects() -> Iterator[Oddity]:
    away = f"{OUTSIDE}/landing"
    yield Oddity("/away", CORNERS, Fate.OUTSIDE, status=302, location=away)
    yield Oddity(away, "/away", Fate.OUTSIDE)
    private = REDIRECTED_TO_PRIVATE
    yield Oddity("/to-private", CORNERS, Fate.DISALLOWED, status=301, location=private)
    yield Oddity(private, "/to-private", Fate.DISALLOWED)
    yield Oddity("/loop/a", CORNERS, Fate.FAILED, status=302, location="/loop/b")
    yield Oddity("/loop/b", "/loop/a", Fate.FAILED, status=302, location="/loop/a")
    yield Oddity(f"{FARTHER}1", CORNERS, Fate.FAILED, status=302, location=f"{FARTHER}2")


def _disallowed() -> Iterator[Oddity]:
    for href in (
        *("/private/", "/private/diary", "/private/opening-hours", "/private/ledger?year=2026"),
        *("/search?q=ash", "/reports/burn.cgi", "/reports/oak/draft", "/logs/?draft=1"),
    ):
        yield Oddity(href, CORNERS, Fate.DISALLOWED)


def _failures() -> Iterator[Oddity]:
    for status in (404, 410, 500, 403):
        yield Oddity(f"/gone/{status}", CORNERS, Fate.FAILED, status=status)
    yield Oddity("/gone/silent", CORNERS, Fate.FAILED, status=0)


def _outside() -> Iterator[Oddity]:
    for href in (
        *(f"{OUTSIDE}/", f"{OUTSIDE}:80/ports", f"{OUTSIDE}:8080/ports", "//other.example/x"),
        *("https://www.outside.example/?q=1", "http://127.0.0.1:1/port", "ftp://outside.example/x"),
        *("mailto:ada@outside.example", "javascript:void(0)", "tel:+4912345", "data:text/plain,x"),
    ):
        yield Oddity(href, CORNERS, Fate.OUTSIDE)


def _files() -> Iterator[Oddity]:
    for name in ("plans.zip", "oven.png", "forge.mp4", "disk.iso", "style.css"):
        yield Oddity(f"/files/{name}", CORNERS, Fate.FILE)


def _trap_doors() -> Iterator[Oddity]:
    yield Oddity("/calendar/2026/12", CALENDAR, Fate.TRAP, CALENDAR)
    yield Oddity("/calendar/2026/10", CALENDAR, Fate.TRAP, CALENDAR)
    yield Oddity("/shop/?colour=red", SHOP, Fate.TRAP, SHOP)
    yield Oddity("/maze/a/", MAZE, Fate.TRAP, MAZE)


def _nothing_new() -> Iterator[Oddity]:
    """Yield links to pages that are found otherwise too, so that following them is a choice."""
    first = article_paths()[0]
    yield Oddity(first, NOINDEX, Fate.FETCHED, first)
    # It stands on a page whose base is that of the sections.
    yield Oddity(first.removeprefix("/ashes/"), WITH_BASE, Fate.FETCHED, first)

"""The 1,000 pages of the website and the links by which they are found."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

PAGES = 1_000
SECTIONS = (
    *("ashes", "bellows", "chimneys", "draughts", "embers", "flues"),
    *("grates", "hearths", "irons", "kilns", "logs", "ovens"),
)
TOPICS = ("basics", "care", "craft", "history", "materials", "repair", "safety", "tools")
ARTICLES_A_TOPIC = 7
NEWS_ITEMS = 50
NEWS_A_PAGE = 5
CHAPTERS = 30
KINDS = ("alder", "beech", "cedar", "dogwood")
SIZES = ("1", "2", "3")
MOVED = 4
OPEN_PAGES = 3
# Where the traps begin: each of these is a page, and what lies behind it is not.
CALENDAR, SHOP, MAZE = "/calendar/2026/11", "/shop/", "/maze/"
CORNERS = "/corners/"
NOINDEX, WITH_BASE = "/corners/noindex", "/corners/base"
SLOW, STUMBLES, BUSY = "/corners/slow", "/corners/stumbles", "/corners/busy"
DRAFTS = "/reports/oak/drafts"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the website: where it is, and the pages it leads to."""

    path: str
    links: tuple[str, ...] = ()


def build_outline() -> dict[str, Page]:
    """Return every page of the website by its path, in an order that never changes."""
    pages = [
        *_main_pages(),
        *_articles(),
        *_news(),
        *_guide(),
        *_catalogue(),
        *_corner_pages(),
    ]
    pages += _archive(PAGES - len(pages))
    return {page.path: page for page in pages}


def article_paths() -> list[str]:
    """Return the articles, section by section."""
    numbers = range(1, ARTICLES_A_TOPIC + 1)
    return [
        f"/{section}/{topic}/{topic}-of-{section}-part-{number}"
        for section, topic, number in product(SECTIONS, TOPICS, numbers)
    ]


def archive_paths(pages: dict[str, Page]) -> list[str]:
    """Return the pages that no page links to: only the sitemaps know them."""
    return [path for path in pages if path.startswith("/archive/")]


def _main_pages() -> Iterator[Page]:
    sections = tuple(f"/{section}/" for section in SECTIONS)
    others = ("/news/", "/guide/", "/catalogue/", SHOP, CALENDAR, MAZE, CORNERS)
    yield Page("/", sections + others)
    for section in SECTIONS:
        yield Page(f"/{section}/", tuple(f"/{section}/{topic}/" for topic in TOPICS))


def _articles() -> Iterator[Page]:
    articles = article_paths()
    for start in range(0, len(articles), ARTICLES_A_TOPIC):
        listed = tuple(articles[start : start + ARTICLES_A_TOPIC])
        yield Page(listed[0].rpartition("/")[0] + "/", listed)
    for place, path in enumerate(articles):
        related = ((place * 5 + 3) % len(articles), (place * 11 + 7) % len(articles))
        yield Page(path, tuple(articles[other] for other in related))


def _news() -> Iterator[Page]:
    """Yield a list in pages of which each leads only to the next, and the news they list."""
    items = [f"/news/2026/{number}" for number in range(1, NEWS_ITEMS + 1)]
    last = NEWS_ITEMS // NEWS_A_PAGE
    for number in range(1, last + 1):
        listed = tuple(items[(number - 1) * NEWS_A_PAGE : number * NEWS_A_PAGE])
        following = (f"/news/?page={number + 1}",) if number < last else ()
        yield Page("/news/" if number == 1 else f"/news/?page={number}", listed + following)
    for item in items:
        yield Page(item, ("/news/",))


def _guide() -> Iterator[Page]:
    """Yield chapters of which each leads only to the next: the deepest pages there are."""
    yield Page("/guide/", ("/guide/chapter-1",))
    for number in range(1, CHAPTERS + 1):
        following = (f"/guide/chapter-{number + 1}",) if number < CHAPTERS else ()
        yield Page(f"/guide/chapter-{number}", following)


def _catalogue() -> Iterator[Page]:
    """Yield pages that differ by their query alone."""
    listed = tuple(f"/catalogue/?kind={kind}&size={size}" for kind, size in product(KINDS, SIZES))
    yield Page("/catalogue/", listed)
    for path in listed:
        yield Page(path, ("/catalogue/",))


def _corner_pages() -> Iterator[Page]:
    for path in (SHOP, CALENDAR, MAZE):
        yield Page(path)
    allowed = tuple(f"/private/open/{number}" for number in range(1, OPEN_PAGES + 1))
    plain = (*allowed, DRAFTS, NOINDEX, WITH_BASE, SLOW, STUMBLES, BUSY)
    yield Page(CORNERS, plain)
    for path in plain:
        yield Page(path, ("/",))
    # Only redirects lead here.
    for number in range(1, MOVED + 1):
        yield Page(f"/moved/here-{number}", ("/",))


def _archive(count: int) -> Iterator[Page]:
    for number in range(1, count + 1):
        yield Page(f"/archive/year-{1900 + number}", ("/",))

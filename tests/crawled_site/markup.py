"""The website's pages as HTML."""

from collections.abc import Sequence
from functools import cache, lru_cache
from html import escape
from random import Random

from tests.crawled_site.manifest import SITE
from tests.crawled_site.outline import NOINDEX, SECTIONS, WITH_BASE
from tests.crawled_site.prose import paragraphs, title
from tests.crawled_site.traps import links_within, month_named

_SHORTEST, _LONGEST = 24, 44
_KEPT_PAGES = 4096
_MENU = "".join(f'<a href="/{section}/">{section.title()}</a> ' for section in SECTIONS)


@lru_cache(maxsize=_KEPT_PAGES)
def page(path: str, *, canonical: str = "", within: str = "", near: bool = False) -> bytes:
    """Return a page of the outline, or a copy of it.

    Args:
        path: Where the page is.
        canonical: The address that the page names as its own.
        within: The address inside a trap under which it is shown.
        near: Whether it shall be a near copy: the same but for one number.
    """
    links = [_link(href, title(href)) for href in SITE.outline[path].links]
    odd = [_link(href, f"See also {place}") for place, href in enumerate(_odd_links(path), 1)]
    farther = [_link(href, f"Choice {place}") for place, href in enumerate(_within(path, within))]
    body = (
        f'<nav><a href="/">Home</a> {_MENU}</nav><main>{_article(path, within, near=near)}'
        f"<ul>{''.join(links)}</ul><ul>{''.join(odd)}</ul><ul>{''.join(farther)}</ul></main>"
        "<footer>The stokers' club</footer>"
    )
    return _document(_head(path, canonical), body)


@cache
def print_version(path: str) -> bytes:
    """Return an article to be printed: the text alone, and where it belongs."""
    return _document(_head(path, path), f"<main>{_article(path, '', near=False)}</main>")


def secret(path: str) -> bytes:
    """Return a page that no crawl should have asked for."""
    text = f"<main><h1>Not for crawlers</h1>{_prose(path)}</main>"
    return _document("<title>Not for crawlers</title>", text)


def _document(head: str, body: str) -> bytes:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"{head}</head>\n<body>{body}</body></html>\n"
    ).encode()


def _head(path: str, canonical: str) -> str:
    head = f"<title>{escape(title(path))}</title>"
    if canonical:
        head += f'<link rel="canonical" href="{escape(canonical)}">'
    if path == NOINDEX:
        head += '<meta name="robots" content="noindex, nofollow">'
    if path == WITH_BASE:
        head += '<base href="/ashes/">'
    return head


def _article(path: str, within: str, *, near: bool) -> str:
    read = Random(f"{path} read").randrange(100, 10_000) + near
    month = month_named(within or path)
    return (
        f"<h1>{escape(title(path))}</h1>{f'<p>{month}</p>' if month else ''}"
        f"{_prose(path)}<p>Read {read} times.</p>"
    )


@cache
def _prose(path: str) -> str:
    sentences = Random(f"{path} length").randint(_SHORTEST, _LONGEST)
    return "".join(f"<p>{text}</p>\n" for text in paragraphs(path, sentences))


def _within(path: str, within: str) -> Sequence[str]:
    return links_within(within or path)


def _odd_links(path: str) -> list[str]:
    # A trap's own links are made with the trap.
    return [href for href in _odd_links_by_page().get(path, []) if not links_within(path)]


@cache
def _odd_links_by_page() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for odd in SITE.oddities:
        found.setdefault(odd.found_on, []).append(odd.href)
    return found


def _link(href: str, text: str) -> str:
    return f'<li><a href="{escape(href)}">{escape(text)}</a></li>\n'

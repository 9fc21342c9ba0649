"""A website of 1,000 linked pages of about 60 KB, ready before the first request.

A page is made like a real one of its size. Of the 210 pages between 45 and 75 KB among those that
extraction is measured with, the median has 93 links (62 different), 590 elements, 117 of them
`div`, 290 with a class, 11 images, 19 `meta`, 9 KB of text and as much white space again; the rest
is attributes, scripts and style sheets.
"""

import asyncio
import json
from contextlib import AbstractAsyncContextManager
from random import Random

from bench.serving import Resource, Website, run_module, serve

PAGES = 1_000
PAGE_BYTES = 60_000
MENU_LINKS = 20
BRANCHES = 10
TEASERS = 11
RELATED_LINKS = 16
PARTS = 7
# In the footer as in the menu: a third of a page's links lead where another of its links does.
REPEATED_LINKS = 20
STYLE = "".join(
    f".report__part--{n}, .teaser--{n} > .teaser__body {{ margin: {n}px 0; color: #33{n % 10}; }}\n"
    for n in range(60)
)
WORDS = (
    *("the", "a", "of", "and", "to", "in", "that", "is", "was", "for", "with", "as", "on", "by"),
    *("at", "from", "this", "which", "or", "an", "be", "are", "had", "not", "but", "ember", "ash"),
    *("coal", "kindling", "hearth", "smoke", "flame", "oak", "birch", "glow", "chimney", "kettle"),
    *("draught", "iron", "stone", "winter", "evening", "morning", "village", "builder", "mason"),
    *("carries", "keeps", "burns", "warms", "turns", "closes", "opens", "heavy", "narrow", "early"),
    *("bright", "hollow", "careful", "ordinary", "several", "between", "through", "against"),
    "without",
)


def marker(number: int) -> str:
    """Return the words that only this page has."""
    return f"Report number {number} of the hearth society"


def path_of(number: int) -> str:
    return f"/reports/{number}" if number else "/"


def build_page(number: int) -> bytes:
    """Return a page: menu, article, teasers of other pages, and what machines read."""
    chance = Random(number)
    page = (
        f'<!doctype html>\n<html lang="en" class="no-js"><head>{_head(chance, number)}</head>\n'
        f'<body class="report report-{number} has-sidebar">\n{_header()}\n'
        f'<main class="page__main" id="content">{_article(chance, number)}'
        f"{_aside(chance, number)}</main>\n{_footer()}\n{{script}}</body></html>\n"
    )
    return page.replace("{script}", _script(chance, PAGE_BYTES - len(page))).encode()


def _head(chance: Random, number: int) -> str:
    named = "".join(
        f'<meta property="og:{name}" content="{_prose(chance, 12)}">\n'
        for name in ("title", "description", "site_name", "type", "locale", "section")
    )
    others = "".join(
        f'<meta name="theme-{place}" content="{chance.random()}">\n' for place in range(12)
    )
    files = "".join(
        f'<link rel="preload" href="/static/bundles/{place}.{chance.randrange(10**9)}.css" '
        f'as="style" crossorigin="anonymous">\n'
        for place in range(12)
    )
    return (
        f'<meta charset="utf-8">\n<title>{marker(number)}</title>\n{named}{others}{files}'
        f"<style>{STYLE}</style>"
    )


def _header() -> str:
    return (
        '<header class="page__header"><div class="page__bar"><div class="page__logo">'
        '<a class="logo__link" href="/" title="Home"><span>The hearth society</span></a></div>'
        f'<nav class="menu" aria-label="Main"><ul class="menu__list">\n{_menu()}</ul></nav></div>'
        "</header>"
    )


def _menu() -> str:
    return "".join(
        f'        <li class="menu__item menu__item--{number}"><a class="menu__link" '
        f'href="{path_of(number)}" data-track="menu">Report {number}</a></li>\n'
        for number in range(MENU_LINKS)
    )


def _article(chance: Random, number: int) -> str:
    parts = "".join(_part(chance, place) for place in range(PARTS))
    return (
        f'<article class="report__article" id="report-{number}"><div class="report__head">\n'
        f'      <h1 class="report__title">{marker(number)}</h1>\n      <div class="report__meta">'
        f'<span class="report__by">By the warden</span> <time datetime="2026-03-01">1 March 2026'
        f"</time></div></div>\n{parts}</article>\n"
    )


def _part(chance: Random, place: int) -> str:
    paragraphs = "".join(
        f'          <p class="report__text">{_prose(chance, 34)} <strong>{_prose(chance, 2)}'
        f'</strong> {_prose(chance, 4)} <a href="{path_of(chance.randrange(PAGES))}">'
        f"{_prose(chance, 3)}</a>.</p>\n"
        for _ in range(3)
    )
    items = "".join(
        f"            <li>{_prose(chance, 6)} <em>{_prose(chance, 2)}</em><br>"
        f"{_prose(chance, 3)}</li>\n"
        for _ in range(5)
    )
    return (
        f'      <section class="report__part report__part--{place}"><div class="report__inner">\n'
        f'        <div class="report__body"><h2 id="part-{place}">{_prose(chance, 5)}</h2>\n'
        f"{paragraphs}          <ul>\n{items}          </ul>\n        </div></div></section>\n"
    )


def _aside(chance: Random, number: int) -> str:
    """Return links to the pages below this one, so that all are found, and to some others."""
    first = number * BRANCHES + 1
    below = range(first, min(first + BRANCHES, PAGES))
    others = (chance.randrange(PAGES) for _ in range(RELATED_LINKS))
    teasers = "".join(_teaser(chance, chance.randrange(PAGES)) for _ in range(TEASERS))
    related = "".join(_related(each) for each in (*below, *others))
    return (
        f'<aside class="page__aside"><div class="teasers">\n{teasers}</div>\n'
        f'<h3 class="aside__title">Related</h3><ul class="aside__list">\n{related}</ul></aside>\n'
    )


def _teaser(chance: Random, number: int) -> str:
    picture = f"/pictures/{number}/hearth-{chance.randrange(10**6)}"
    sizes = ", ".join(f"{picture}-{width}w.jpg {width}w" for width in (320, 640, 960, 1280))
    return (
        f'    <div class="teaser teaser--{number % 60}">\n      <div class="teaser__frame">'
        f'<div class="teaser__picture"><img class="teaser__image" src="{picture}.jpg" '
        f'srcset="{sizes}" sizes="(max-width: 640px) 100vw, 320px" alt="" loading="lazy" '
        f'width="320" height="180"></div></div>\n      <div class="teaser__body">'
        f'<div class="teaser__label"><span class="label label--small">Report</span></div>\n'
        f'        <h3 class="teaser__title"><a class="teaser__link" href="{path_of(number)}" '
        f'data-track="teaser">{_prose(chance, 6)}</a></h3>\n        <div class="teaser__text">'
        f"<p>{_prose(chance, 14)}</p></div>\n      </div>\n    </div>\n"
    )


def _related(number: int) -> str:
    return (
        f'      <li class="aside__item"><a class="aside__link" href="{path_of(number)}" '
        f'title="Report {number}"><span class="aside__name">Report {number}</span></a></li>\n'
    )


def _footer() -> str:
    links = "".join(
        f'      <div class="footer__cell"><a class="footer__link" href="{path_of(number)}" '
        f'data-track="footer">Report {number}</a></div>\n'
        for number in range(REPEATED_LINKS)
    )
    return (
        f'<footer class="page__footer"><div class="footer__columns">\n{links}</div>\n'
        f'<div class="footer__end"><p>The hearth society</p></div></footer>'
    )


def _script(chance: Random, size: int) -> str:
    """Return the state that a page hands to its scripts, of about this size."""
    state = {f"part{place}": _prose(chance, 20) for place in range(size // 130)}
    return f"<script>window.__STATE__ = {json.dumps(state)};</script>\n"


def _prose(chance: Random, words: int) -> str:
    return " ".join(chance.choices(WORDS, k=words)).capitalize()


def run_crawled_website() -> AbstractAsyncContextManager[Website]:
    """Serve the pages until the exit."""
    return run_module("bench.crawled_website")


async def _serve() -> None:
    pages = {
        path_of(number): Resource("text/html; charset=utf-8", build_page(number))
        for number in range(PAGES)
    }
    nothing = Resource("text/plain", b"")

    async def page_at(path: str) -> Resource:
        # Whatever else is asked for, robots.txt above all, is empty.
        return pages.get(path, nothing)

    await serve(page_at)


if __name__ == "__main__":
    asyncio.run(_serve())

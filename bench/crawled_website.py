"""A website of 1,000 linked pages of about 60 KB, ready before the first request."""

import asyncio
from contextlib import AbstractAsyncContextManager
from random import Random

from bench.serving import Resource, Website, run_module, serve

PAGES = 1_000
PAGE_BYTES = 60_000
MENU_LINKS = 20
BRANCHES = 10
RELATED_LINKS = 30
STYLE = "".join(f".part-{n} {{ margin: {n}px 0; color: #33{n % 10}; }}\n" for n in range(60))
WORDS = (
    *("the", "a", "of", "and", "to", "in", "that", "is", "was", "for", "with", "as"),
    *("on", "by", "at", "from", "this", "which", "or", "an", "be", "are", "had", "not"),
    *(
        "but",
        "ember",
        "ash",
        "coal",
        "kindling",
        "hearth",
        "smoke",
        "flame",
        "oak",
        "birch",
        "glow",
        "chimney",
    ),
    *(
        "draught",
        "kettle",
        "iron",
        "stone",
        "winter",
        "evening",
        "morning",
        "village",
        "builder",
        "mason",
        "carries",
        "keeps",
    ),
    *(
        "burns",
        "warms",
        "turns",
        "closes",
        "opens",
        "heavy",
        "narrow",
        "early",
        "bright",
        "hollow",
        "careful",
        "ordinary",
    ),
    *("several", "between", "through", "against", "without"),
)


def marker(number: int) -> str:
    """Return the words that only this page has."""
    return f"Report number {number} of the hearth society"


def path_of(number: int) -> str:
    return f"/reports/{number}" if number else "/"


def build_page(number: int) -> bytes:
    """Return a page: a menu, a long article with lists and a table, links to other pages."""
    chance = Random(number)
    parts = [_part(chance, place) for place in range(4)]
    while sum(map(len, parts)) < PAGE_BYTES - 10_500:
        parts.append(_part(chance, len(parts)))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{marker(number)}</title><style>{STYLE}</style></head>\n"
        f'<body class="report"><header><nav class="menu"><ul>{_menu()}</ul></nav></header>\n'
        f'<main><article id="report-{number}"><h1>{marker(number)}</h1>\n{"".join(parts)}'
        f"</article></main>\n<aside><h2>Related</h2><ul>{_related(chance, number)}</ul></aside>\n"
        f'<footer><p>The hearth society, <a href="/">home</a></p></footer></body></html>\n'
    ).encode()


def _menu() -> str:
    return "".join(_link(number) for number in range(MENU_LINKS))


def _related(chance: Random, number: int) -> str:
    """Return links to the pages below this one, so that all are found, and to some others."""
    first = number * BRANCHES + 1
    below = range(first, min(first + BRANCHES, PAGES))
    others = (chance.randrange(PAGES) for _ in range(RELATED_LINKS))
    return "".join(_link(each) for each in (*below, *others))


def _link(number: int) -> str:
    return (
        f'<li class="item"><a class="link" href="{path_of(number)}" title="Report {number}">'
        f"<span>Report {number}</span></a></li>\n"
    )


def _part(chance: Random, place: int) -> str:
    paragraphs = "".join(f'<p class="text">{_prose(chance, 70)}</p>\n' for _ in range(4))
    items = "".join(
        f"<li><strong>{_prose(chance, 2)}</strong> {_prose(chance, 10)}</li>\n" for _ in range(5)
    )
    rows = "".join(
        f"<tr><td>{_prose(chance, 2)}</td><td>{chance.randrange(1000)}</td>"
        f"<td><em>{_prose(chance, 3)}</em></td></tr>\n"
        for _ in range(6)
    )
    return (
        f'<section class="part-{place}"><h2 id="part-{place}">{_prose(chance, 5)}</h2>\n'
        f"{paragraphs}<ul>\n{items}</ul>\n<table><thead><tr><th>Kind</th><th>Count</th>"
        f"<th>Remark</th></tr></thead><tbody>\n{rows}</tbody></table></section>\n"
    )


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

"""A website of articles of one size."""

import asyncio
import sys
from contextlib import AbstractAsyncContextManager

from bench.serving import Resource, Website, run_module, serve

WORDS = ("ember", "ash", "coal", "kindling", "hearth", "smoke", "flame", "oak", "birch", "glow")


def article(number: int, size: int, headings: int = 1) -> bytes:
    """Return an article page of about `size` bytes, different for each number.

    Its headings stand at even distances, those after the first in two ranks by turns.
    """
    paragraphs: list[str] = []
    length, later = 0, 1
    while length < size:
        if later < headings and length >= later * size / headings:
            rank = 2 + later % 2
            title = f"How <code>{WORDS[later % len(WORDS)]}</code> burns, part {later}"
            paragraphs.append(f"<h{rank}>{title}</h{rank}>")
            later += 1
        start = (number * 7 + len(paragraphs) * 3) % len(WORDS)
        words = (WORDS[start:] + WORDS[:start]) * 5
        text = f"<p>{' '.join(words)}, <a href='/{number}/{len(paragraphs)}'>more</a>.</p>"
        paragraphs.append(text)
        length += len(text)
    body = "".join(paragraphs)
    navigation = "".join(f"<li><a href='/{n}'>Page {n}</a></li>" for n in range(20))
    return (
        f"<!doctype html><html lang=en><head><title>Article {number}</title>"
        f"<meta name=description content='About fires'></head><body>"
        f"<nav><ul>{navigation}</ul></nav>"
        f"<main><article><h1>Article {number}</h1>{body}</article></main></body></html>"
    ).encode()


def path_of(number: int, headings: int = 1) -> str:
    """Return the path of an article with so many headings."""
    return f"/{number}" if headings == 1 else f"/{number}-{headings}"


def run_website(size: int) -> AbstractAsyncContextManager[Website]:
    """Serve articles until the exit."""
    return run_module("bench.website", str(size))


async def _serve(size: int) -> None:
    pages: dict[str, Resource] = {}

    async def page_at(path: str) -> Resource:
        if path not in pages:
            number, _, headings = path.strip("/").partition("-")
            page = article(int(number), size, int(headings or 1))
            pages[path] = Resource("text/html; charset=utf-8", page)
        return pages[path]

    await serve(page_at)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))

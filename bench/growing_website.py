"""A website of many small pages, each made when it is asked for."""

import asyncio
import sys
from contextlib import AbstractAsyncContextManager
from random import Random

from bench.crawled_website import WORDS
from bench.serving import Resource, Website, run_module, serve

BRANCHES = 10
_WORDS_OF_PAGE = 150


def path_of(number: int) -> str:
    return f"/notes/{number}" if number else "/"


def build_page(number: int, pages: int) -> bytes:
    """Return a page with words of its own, and links to the pages below it."""
    chance = Random(number)
    text = " ".join(chance.choices(WORDS, k=_WORDS_OF_PAGE))
    first = number * BRANCHES + 1
    below = range(first, min(first + BRANCHES, pages))
    links = "".join(f'<li><a href="{path_of(each)}">Note {each}</a></li>' for each in below)
    return (
        f"<!doctype html><title>Note {number}</title><main><h1>Note {number}</h1><p>{text}</p>"
        f"<ul>{links}</ul></main>"
    ).encode()


def run_growing_website(pages: int) -> AbstractAsyncContextManager[Website]:
    """Serve so many pages until the exit."""
    return run_module("bench.growing_website", str(pages))


async def _serve(pages: int) -> None:
    async def page_at(path: str) -> Resource:
        number = path.rpartition("/")[2]
        if path != "/" and not number.isdecimal():
            return Resource("text/plain", b"")
        return Resource("text/html; charset=utf-8", build_page(int(number or 0), pages))

    await serve(page_at)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))

"""A website that npm built: a Vue application with a router, whose HTML has no text."""

import asyncio
from contextlib import AbstractAsyncContextManager

from bench.contestant import ROOT
from bench.serving import Resource, Website, run_module, serve

BUILD = ROOT / "tests/site/builds/router"
# Each route, and words that only its component has.
ROUTES = (
    ("", "The harbour office writes down"),
    ("tides", "High water comes fifty minutes later"),
    ("lights", "Two lights guide ships into the harbour"),
)


def path_of(number: int) -> str:
    """Return the path of a page; no two of them are the same."""
    return f"/router/{ROUTES[number % len(ROUTES)][0]}?page={number}"


def marker(number: int) -> str:
    """Return words of a page's text."""
    return ROUTES[number % len(ROUTES)][1]


def run_app_website() -> AbstractAsyncContextManager[Website]:
    """Serve the application until the exit."""
    return run_module("bench.app_website")


async def _resource_at(path: str) -> Resource:
    file = BUILD / path.partition("?")[0].removeprefix("/router/")
    if file.suffix == ".js":
        return Resource("text/javascript", file.read_bytes())
    return Resource("text/html; charset=utf-8", (BUILD / "index.html").read_bytes())


if __name__ == "__main__":
    asyncio.run(serve(_resource_at))

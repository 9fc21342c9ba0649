"""Asking a server for what it has, again and again until it is as it should be."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2

_SECONDS = 60


async def scrape(client: httpx2.AsyncClient, url: str, **options: Any) -> httpx2.Response:
    """Scrape a page."""
    return await client.post("/api/v2/scrape", json={"url": url, **options})


async def until(is_so: Callable[[], Awaitable[bool]]) -> None:
    """Ask until it is so."""
    async with asyncio.timeout(_SECONDS):
        # Nothing tells of it: it has to be asked for.
        while not await is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def error_of(response: httpx2.Response) -> tuple[int, str]:
    """Return an error's status and code."""
    return response.status_code, response.json()["error"]["code"]

"""A server that works on jobs, and waiting for what becomes of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
from starlette.applications import Starlette

from cinder.app.composition import open_app
from cinder.config.serving import JobsSettings
from cinder.config.settings import Settings
from cinder.server.asgi import create_app
from tests.resolver import TableResolver

TOKEN = "test-token"
DEADLINE_SECONDS = 60

# Any: whatever JSON a route answers with.
Answer = dict[str, Any]


@asynccontextmanager
async def started(api: Starlette) -> AsyncIterator[None]:
    """Start a server up and shut it down within one task, as a real server does."""
    is_up, may_end = asyncio.Event(), asyncio.Event()

    async def live() -> None:
        async with api.router.lifespan_context(api):
            is_up.set()
            await may_end.wait()

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(live())
        await is_up.wait()
        yield
        may_end.set()


@asynccontextmanager
async def asking(api: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    """Start a server up; yield a client with the token."""
    transport = httpx2.ASGITransport(app=api, raise_app_exceptions=False)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        started(api),
        httpx2.AsyncClient(
            transport=transport, base_url="http://127.0.0.1:8000", headers=headers
        ) as client,
    ):
        yield client


@asynccontextmanager
async def serve_jobs(
    settings: Settings, resolver: TableResolver, *, works: bool = True, **jobs: float
) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve with these settings of jobs; yield a client with the token."""
    chosen = settings.model_copy(update={"jobs": JobsSettings.model_validate(jobs)})
    api = create_app(chosen, open_app(chosen, resolver=resolver, works_on_jobs=works))
    async with asking(api) as client:
        yield client


async def until(
    read: Callable[[], Awaitable[Answer]],
    is_so: Callable[[Answer], bool],
    *,
    seconds: float = DEADLINE_SECONDS,
) -> Answer:
    """Return the first answer that is as it should be."""
    async with asyncio.timeout(seconds):
        while True:
            answer = await read()
            if is_so(answer):
                return answer
            await asyncio.sleep(0.02)  # the server says when it is asked, and only then


def is_over(answer: Answer) -> bool:
    return answer["status"] in ("completed", "failed", "cancelled")

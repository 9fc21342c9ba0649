from collections.abc import AsyncIterator

import httpx2
import pytest
from starlette.applications import Starlette

from cinder.app import open_app
from cinder.config import Settings
from cinder.surfaces.http import create_api
from tests.conftest import TableResolver
from tests.surfaces.working import TOKEN, serve_jobs, started


@pytest.fixture
async def api(settings: Settings, resolver: TableResolver) -> AsyncIterator[Starlette]:
    """The whole server, started up, in this process."""
    served = create_api(settings, open_app(settings, resolver=resolver))
    async with started(served):
        yield served


@pytest.fixture
async def stranger(api: Starlette) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without a token."""
    transport = httpx2.ASGITransport(app=api, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
        yield client


@pytest.fixture
async def client(stranger: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A client with the token."""
    stranger.headers["Authorization"] = f"Bearer {TOKEN}"
    return stranger


@pytest.fixture
async def working(settings: Settings, resolver: TableResolver) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a server that works on jobs."""
    async with serve_jobs(settings, resolver) as client:
        yield client

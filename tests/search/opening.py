"""A provider's client, with the way out that an owner's own address has."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.models.search import SearchFilters
from cinder.search.base import Provider, ProviderFailed, ProviderQuery
from tests.egress.loopback import open_proxy
from tests.search_servers import SearchServer


@asynccontextmanager
async def open_client(
    server: SearchServer, *, timeout_seconds: float = 10
) -> AsyncIterator[ProxiedClient]:
    """Open a client for which this server is at home; nothing else private is open to it."""
    options = ClientOptions(
        max_concurrency=4,
        timeout_seconds=timeout_seconds,
        max_body_bytes=200_000,
        accepts_packed=True,
    )
    async with (
        open_proxy() as proxy,
        ProxiedClient(proxy.proxy, options, homes=(server.url,)) as client,
    ):
        yield client


def asking(
    text: str, *, page: int = 0, count: int = 20, filters: SearchFilters | None = None
) -> ProviderQuery:
    return ProviderQuery(
        text=text, caller="me", page=page, count=count, filters=filters or SearchFilters()
    )


async def failure_of(provider: Provider, query: ProviderQuery | None = None) -> ProviderFailed:
    """Search, and return how that failed."""
    with pytest.raises(ProviderFailed) as failed:
        await provider.search(query or asking("embers"))
    return failed.value

"""A model behind a server on loopback, opened with its egress."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from cinder.fetch.http_client import ClientOptions, ProxiedClient
from cinder.llm.base import Budget, BudgetLimits
from cinder.llm.client import HttpLanguageModel
from cinder.llm.endpoint import Endpoint, EndpointOptions
from cinder.llm.wire_format import WireFormat
from cinder.metrics import Metrics
from tests.egress.loopback import open_proxy
from tests.llm.servers import KEY, MODEL, ModelServer
from tests.search_servers.serving import serving


@dataclass
class OpenModel:
    """A model, its endpoint, and what was counted and waited."""

    model: HttpLanguageModel
    endpoint: Endpoint
    metrics: Metrics
    waits: list[float] = field(default_factory=list)

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(name, labels) or 0


@asynccontextmanager
async def open_model(
    server: ModelServer, *, timeout_seconds: float = 10, max_concurrency: int = 4
) -> AsyncIterator[OpenModel]:
    """Serve a scripted model and open a client for it; waits before retries are only noted."""
    async with (
        serving(server),
        open_model_at(
            server.url,
            server.wire(),
            timeout_seconds=timeout_seconds,
            max_concurrency=max_concurrency,
        ) as opened,
    ):
        yield opened


@asynccontextmanager
async def open_model_at(
    url: str, wire: WireFormat, *, timeout_seconds: float = 300, max_concurrency: int = 4
) -> AsyncIterator[OpenModel]:
    """Open a client for a model's server that runs already."""
    client_options = ClientOptions(
        max_concurrency=max_concurrency, timeout_seconds=timeout_seconds, max_body_bytes=200_000
    )
    options = EndpointOptions(
        title="The language model", address=url, api_key=KEY, max_concurrency=max_concurrency
    )
    metrics = Metrics()
    waits: list[float] = []

    async def note_wait(seconds: float) -> None:
        waits.append(seconds)

    async with (
        open_proxy() as proxy,
        ProxiedClient(proxy.proxy, client_options, homes=(url,)) as client,
    ):
        endpoint = Endpoint(client, wire, options, metrics, sleep=note_wait)
        yield OpenModel(HttpLanguageModel(MODEL, endpoint, metrics, 1024), endpoint, metrics, waits)


def some_budget(*, calls: int = 20, tokens: int = 100_000, seconds: float = 300) -> Budget:
    return Budget(BudgetLimits(calls=calls, tokens=tokens, seconds=seconds))

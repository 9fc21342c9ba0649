"""What tests share: the loopback website, and cinder opened on a data directory of its own."""

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from starlette.applications import Starlette

from cinder.app.composition import App, open_app
from cinder.config.settings import Settings, read_settings
from cinder.server.asgi import create_app
from hatch_build import read_stamp, sources_digest
from tests.api.working import TOKEN, serve_jobs, started
from tests.resolver import TableResolver
from tests.site import Canary, Site, serve_site

SOURCE = Path(__file__).parent.parent / "src"

# A busy machine makes and tries examples slowly; that is no failure.
hypothesis_settings.register_profile(
    "unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.load_profile("unhurried")

# A shell's background jobs ignore SIGINT, and so would the processes that tests start and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_sessionstart() -> None:
    """Refuse to test compiled modules that are older than their source."""
    if read_stamp(SOURCE) not in (None, sources_digest(SOURCE)):
        pytest.exit("Compiled modules are older than their source: run `make setup`.", 2)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests that take minutes first: at the end they would run alone."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.fixture
def site() -> Iterator[Site]:
    with serve_site() as running:
        yield running


@pytest.fixture
def canary() -> Iterator[Canary]:
    listening = Canary()
    yield listening
    listening.close()


@pytest.fixture
def settings(tmp_path: Path, site: Site) -> Settings:
    """Settings that allow the loopback website, by address and by the name `site.test`."""
    return read_settings(
        data_dir=tmp_path / "data",
        server={"port": 0, "api_token": "test-token"},
        egress={"allow": [site.address, f"site.test:{site.port}"]},
        scrape={"retry_wait_seconds": 0.01},
    )


@pytest.fixture
def resolver() -> TableResolver:
    return TableResolver(
        {
            "site.test": ["127.0.0.1"],
            "private.test": ["10.1.2.3"],
            "mixed.test": ["93.184.215.14", "127.0.0.1"],
        }
    )


@pytest.fixture
async def app(settings: Settings, resolver: TableResolver) -> AsyncIterator[App]:
    async with open_app(settings, resolver=resolver) as opened:
        yield opened


@pytest.fixture
async def api(settings: Settings, resolver: TableResolver) -> AsyncIterator[Starlette]:
    """The whole server, started up, in this process."""
    served = create_app(settings, open_app(settings, resolver=resolver))
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

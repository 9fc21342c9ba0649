"""A real server on loopback, with names that lead nowhere else, and two jobs to ask it about."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import uvicorn

from cinder.app.composition import open_app
from cinder.config.settings import Settings, read_settings
from cinder.server.asgi import create_app
from cinder.server.request_limits import limited_protocol
from tests.api.working import TOKEN
from tests.resolver import TableResolver
from tests.site import Site

_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Served:
    """A server that listens, and what there is to ask it for."""

    url: str
    page: str
    """A page that it can fetch."""
    crawl: str
    batch: str


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def serve_contract(folder: Path, site: Site) -> Iterator[Served]:
    """Serve the whole API until the exit; of all names, only the website's is known."""
    settings = read_settings(
        data_dir=folder / "data",
        # That requests without a token are refused is looked at more often than strangers may try.
        server={"port": 0, "api_token": TOKEN, "failed_login_limit": ""},
        egress={"allow": [site.address, f"site.test:{site.port}"]},
        scrape={"retry_wait_seconds": 0.01},
        log={"level": "error"},
    )
    with _listening(settings) as url, httpx2.Client(base_url=url, headers=_HEADERS) as client:
        page = site.url("/article")
        crawl = client.post("/v1/crawl", json={"url": page, "maxPages": 2})
        batch = client.post("/api/v2/scrape", json={"urls": [page]})
        yield Served(url, page, crawl.json()["crawlId"], batch.json()["data"]["jobId"])


_HEADERS = {"Authorization": f"Bearer {TOKEN}"}


@contextmanager
def _listening(settings: Settings) -> Iterator[str]:
    resolver = TableResolver({"site.test": ["127.0.0.1"]})
    api = create_app(settings, open_app(settings, resolver=resolver, works_on_jobs=True))
    config = uvicorn.Config(
        api,
        http=limited_protocol(
            settings.server, settings.server.max_connections, api.state.load_shedder
        ),
        ws="none",
        lifespan="on",
        log_level="error",
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    server = _Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener, asyncio.Runner() as runner:
        thread = threading.Thread(target=runner.run, args=(server.serve(sockets=[listener]),))
        thread.start()
        try:
            assert server.ready.wait(_START_SECONDS)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(_START_SECONDS)

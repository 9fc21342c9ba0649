"""Serving the website, and a canary that must never be reached, on loopback."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from tests.site.pages import Pages


@dataclass(frozen=True, slots=True)
class Site:
    """A running website."""

    scheme: str
    port: int
    pages: Pages
    loop: asyncio.AbstractEventLoop

    def url(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def hits(self, path: str) -> int:
        return self.pages.hits[path]

    async def asked(self, path: str) -> None:
        """Wait until somebody has asked for a page."""
        await asyncio.wrap_future(
            asyncio.run_coroutine_threadsafe(self.pages.wait_for(path), self.loop)
        )

    def release(self) -> None:
        """Let the pages that wait answer."""
        self.loop.call_soon_threadsafe(self.pages.release.set)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def serve_site(certificate: Path | None = None) -> Iterator[Site]:
    """Serve the website until the exit; with a certificate, over TLS."""
    pages = Pages()
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    loop = asyncio.new_event_loop()
    config = uvicorn.Config(
        pages.app(),
        log_level="error",
        timeout_graceful_shutdown=1,
        lifespan="off",
        ssl_certfile=certificate,
    )
    server = _Server(config)
    thread = threading.Thread(
        target=loop.run_until_complete, args=(server.serve(sockets=[listener]),)
    )
    thread.start()
    assert server.ready.wait(60)
    try:
        scheme = "https" if certificate else "http"
        yield Site(scheme, listener.getsockname()[1], pages, loop)
    finally:
        loop.call_soon_threadsafe(pages.release.set)
        server.should_exit = True
        thread.join(60)
        listener.close()
        loop.close()


class Canary:
    """A listener that counts who connects; nobody may."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0)
        self.port = self._socket.getsockname()[1]

    def was_reached(self) -> bool:
        try:
            connection, _ = self._socket.accept()
        except BlockingIOError:
            return False
        connection.close()
        return True

    def close(self) -> None:
        self._socket.close()

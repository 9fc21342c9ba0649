"""The hostile website, byte by byte, and a canary that nothing may reach, on loopback."""

import asyncio
import itertools
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.hostile.crawl_files import FILES, site_address
from tests.hostile.documents import DOCUMENTS
from tests.hostile.pages import BYTES, PAGES, PDFS
from tests.hostile.traps import TRAPS
from tests.hostile.wire import BROKEN, LURES, ODD, TOO_LARGE, answer, head, location

_PLAIN = b"<!doctype html><title>Plain</title><h1>Plain</h1><p>Embers keep under ash.</p>"
_CANARY_ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.255.255.254")
_MAX_SECONDS = 60
# The fields of which a server would see more, had a header been slipped in.
_SLIPPED = b"x-slipped"


class Canary:
    """Listens for connections and datagrams on one port of several loopback addresses."""

    def __init__(self) -> None:
        first = socket.create_server(("127.0.0.1", 0))
        self.port: int = first.getsockname()[1]
        self._sockets = [first]
        for address in _CANARY_ADDRESSES[1:]:
            self._sockets.append(socket.create_server((address, self.port)))
        with suppress(OSError):  # where there is no IPv6
            self._sockets.append(socket.create_server(("::1", self.port), family=socket.AF_INET6))
        for address in _CANARY_ADDRESSES:
            datagrams = socket.socket(type=socket.SOCK_DGRAM)
            datagrams.bind((address, self.port))
            self._sockets.append(datagrams)

    def was_reached(self) -> bool:
        """Whether anybody came since the last time this was asked."""
        reached, _, _ = select.select(self._sockets, [], [], 0)
        for each in reached:
            if each.type == socket.SOCK_STREAM:
                each.accept()[0].close()
            else:
                each.recv(65536)
        return bool(reached)

    def close(self) -> None:
        """Listen no longer."""
        for each in self._sockets:
            each.close()


@dataclass(slots=True)
class HostileSite:
    """A running hostile website."""

    port: int
    canary: Canary
    was_slipped_a_header: bool = False
    _built: dict[str, bytes] = field(default_factory=dict)

    @property
    def addresses(self) -> list[str]:
        """Every address that it listens on, with the port."""
        hosts = ["127.0.0.1", *map(site_address, range(len(FILES)))]
        return [f"{host}:{self.port}" for host in hosts]

    def fill(self, text: str) -> str:
        """Return a text with the addresses in it."""
        known = {
            "{site}": f"127.0.0.1:{self.port}",
            "{site_port}": str(self.port),
            "{canary}": f"127.0.0.1:{self.canary.port}",
            "{canary_port}": str(self.canary.port),
        }
        for name, value in known.items():
            text = text.replace(name, value)
        return text

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                async with asyncio.timeout(_MAX_SECONDS):
                    asked = await reader.readuntil(b"\r\n\r\n")
                    self.was_slipped_a_header |= b"\r\n" + _SLIPPED in asked.lower()
                    address = writer.get_extra_info("sockname")[0]
                    await self._answer(asked.split(b" ")[1].decode("latin-1"), address, writer)
                    await writer.drain()
        except asyncio.CancelledError:
            # The site ends; a handler that says it was cancelled is reported as a failure.
            writer.transport.abort()
            return
        writer.close()

    async def _answer(self, path: str, address: str, writer: asyncio.StreamWriter) -> None:
        folder, _, name = path.lstrip("/").partition("/")
        if folder == "slow":
            await _answer_slowly(name, writer)
        elif folder == "endless-body":
            writer.write(head(b"Content-Type: text/html"))
            while True:
                writer.write(b"a" * 65536)
                await writer.drain()
        else:
            writer.write(self._find(path, folder, name, address))

    def _find(self, path: str, folder: str, name: str, address: str) -> bytes:
        if folder.startswith("redirect"):
            return self._redirect(folder, name)
        if folder == "endless":
            return _redirect_on(name)
        key = f"{address}{path}"
        if key not in self._built:
            self._built[key] = self._build(path, folder, name, address)
        return self._built[key]

    def _build(self, path: str, folder: str, name: str, address: str) -> bytes:
        place = address.rpartition(".")[2]
        if address.startswith("127.0.1.") and path in ("/robots.txt", "/sitemap.xml"):
            at, build_file = list(FILES.values())[int(place) - 1]
            if path == at:
                return self._filled(build_file())
            return answer(b"none", status=b"404 Not Found")
        for known, tables in {"broken": BROKEN, "too-large": TOO_LARGE, "odd": ODD}.items():
            if folder == known:
                return tables[name]()
        if folder == "lure":
            return LURES[name].replace(b"%s", f"127.0.0.1:{self.canary.port}".encode())
        if folder == "page":
            body = BYTES[name]() if name in BYTES else self._page(name)
            kind = b"text/html" if name in BYTES else b"text/html; charset=utf-8"
            return answer(body, kind=kind)
        if folder == "trap":
            return self._trap(name.partition("?")[0])
        if folder == "doc":
            kind, build = DOCUMENTS[name]
            return answer(self._filled(build()), kind=kind)
        if folder == "pdf":
            return answer(self._filled(PDFS[name]()), kind=b"application/pdf")
        return (
            answer(_PLAIN)
            if path.startswith("/plain")
            else answer(b"none", status=b"404 Not Found")
        )

    def _trap(self, name: str) -> bytes:
        kind, _, rest = name.partition("/")
        last = rest.rpartition("/")[2]
        page = TRAPS[kind](int(last) if last.isdecimal() and len(last) < 9 else 1)
        return answer(self.fill(f"<!doctype html><body>{page}").encode())

    def _page(self, name: str) -> bytes:
        return self._filled(f"<!doctype html><body>{PAGES[name]()}".encode("utf-8", "replace"))

    def _filled(self, body: bytes) -> bytes:
        return body.replace(b"{canary}", f"127.0.0.1:{self.canary.port}".encode())

    def _redirect(self, folder: str, name: str) -> bytes:
        if folder == "redirect-nowhere":
            return answer(_PLAIN, b"Location: ", status=b"302 Found")
        status, _, number = name.partition("/")
        target = self.fill(location(int(number))).encode()
        return answer(b"", b"Location: " + target, status=f"{status} Moved".encode())


def _redirect_on(name: str) -> bytes:
    kind, _, rest = name.partition("/")
    onward = {
        "loop": "/endless/loop",
        "ping": "/endless/ping/x" if not rest else "/endless/ping",
        "chain": f"/endless/chain/{int(rest or '0') + 1}" if kind == "chain" else "",
        "growing": f"/endless/growing/{rest * 2 or 'a'}",
    }[kind]
    return answer(b"", b"Location: " + onward.encode(), status=b"302 Found")


async def _answer_slowly(name: str, writer: asyncio.StreamWriter) -> None:
    pieces: Iterator[bytes] = {
        "silence": itertools.repeat(b""),
        "drip": itertools.chain([head(b"Content-Type: text/html")], itertools.repeat(b"a")),
        "slow-head": itertools.chain([b"HTTP/1.1 200 OK\r\nX-Slow: "], itertools.repeat(b"a")),
        "slow-hints": itertools.repeat(b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    }[name]
    for piece in pieces:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(0.5)  # to be slow is all that this page does


@contextmanager
def serve_hostile_site() -> Iterator[HostileSite]:
    """Serve the hostile website and its canary until the exit."""
    listeners = [socket.create_server(("127.0.0.1", 0))]
    port = listeners[0].getsockname()[1]
    listeners += [
        socket.create_server((site_address(number), port)) for number in range(len(FILES))
    ]
    site = HostileSite(port, Canary())
    loop = asyncio.new_event_loop()
    may_end = asyncio.Event()

    async def serve() -> None:
        servers = [await asyncio.start_server(site.serve, sock=each) for each in listeners]
        await may_end.wait()
        for server in servers:
            server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)  # aborted connections end in the loop's next round

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        yield site
    finally:
        loop.call_soon_threadsafe(may_end.set)
        thread.join(60)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        site.canary.close()
        for listener in listeners:
            listener.close()

"""A hostile website, the addresses it tries to reach, and what the egress proxy said to that."""

import asyncio
import base64
import hashlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import structlog

from cinder.app.browser import open_browsers
from cinder.app.composition import make_proxy
from cinder.browser.engine import BrowserFetcher, BrowserParts
from cinder.config.settings import read_settings
from cinder.egress.base import Resolver
from cinder.egress.proxy import ForwardProxy
from cinder.fetch.base import FetchTask
from cinder.metrics import Metrics
from cinder.models.document import FetchedPage
from cinder.models.request import Action, ActionType, Format, Profile, ProxyTier, RenderOptions
from tests.egress.loopback import Origin, Reader, Writer, open_origin
from tests.resolver import TableResolver
from tests.site import Canary

WAIT_SECONDS = 60
_WEBSOCKET_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True)
class Page:
    """What the website answers for a path."""

    body: bytes | str = ""
    type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    def to_bytes(self) -> bytes:
        body = self.body.encode() if isinstance(self.body, str) else self.body
        lines = [
            f"HTTP/1.1 {self.status} As told",
            f"Content-Length: {len(body)}",
            f"Content-Type: {self.type}",
            "Connection: close",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


# A page, or what makes one of the query of the URL asked for.
Answer: TypeAlias = Page | Callable[[str], Page]


@dataclass
class HostileSite:
    """A website whose pages a test writes; `/hold` answers only once the test lets go."""

    origin: Origin = field(default_factory=Origin)
    pages: dict[str, Answer] = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)
    heads: dict[str, list[bytes]] = field(default_factory=dict)
    open_sockets: int = 0
    """WebSockets and requests for `/hold` that are open now."""
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def address(self) -> str:
        return self.origin.pair

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.origin.port}{path}"

    def release(self) -> None:
        self._released.set()

    async def asked(self, path: str, times: int = 1) -> None:
        """Wait until a path has been asked for."""
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self.hits[path] >= times)

    async def sockets_open(self, number: int) -> None:
        """Wait until so many connections are held open."""
        async with asyncio.timeout(WAIT_SECONDS), self._changed:
            await self._changed.wait_for(lambda: self.open_sockets == number)

    async def serve(self, origin: Origin, reader: Reader, writer: Writer) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        path, _, query = head.split(b" ", 2)[1].decode().partition("?")
        async with self._changed:
            self.hits[path] += 1
            self.heads.setdefault(path, []).append(head)
            self._changed.notify_all()
        if b"sec-websocket-key:" in head.lower():
            await self._held(self._serve_websocket(head, reader, writer))
        elif path == "/hold":
            await self._held(self._wait_for_release(reader))
            writer.write(Page("held").to_bytes())
        else:
            answer = self.pages.get(path, Page("No such page", status=404))
            writer.write((answer if isinstance(answer, Page) else answer(query)).to_bytes())
        await writer.drain()

    async def _held(self, held: Any) -> None:  # Any: whatever is awaited
        await self._count_open(1)
        try:
            await held
        finally:
            await self._count_open(-1)

    async def _wait_for_release(self, reader: Reader) -> None:
        """Wait until the test lets go, or whoever asked is gone."""
        async with asyncio.TaskGroup() as tasks:
            waits = [tasks.create_task(self._released.wait()), tasks.create_task(reader.read())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()

    async def _count_open(self, change: int) -> None:
        async with self._changed:
            self.open_sockets += change
            self._changed.notify_all()

    async def _serve_websocket(self, head: bytes, reader: Reader, writer: Writer) -> None:
        key = next(
            line.partition(b":")[2].strip()
            for line in head.splitlines()
            if line.lower().startswith(b"sec-websocket-key:")
        )
        accept = base64.b64encode(hashlib.sha1(key + _WEBSOCKET_GUID).digest())
        writer.write(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        while await reader.read(65536):
            pass


@asynccontextmanager
async def open_hostile_site() -> AsyncIterator[HostileSite]:
    site = HostileSite()
    async with open_origin(site.serve) as site.origin:
        yield site


class Canaries:
    """A canary for each way out, so that one that is reached tells by which way."""

    def __init__(self, names: Iterable[str]) -> None:
        self._canaries = {name: Canary() for name in names}
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("127.0.0.1", 0))
        self.datagrams.settimeout(0)

    @property
    def udp_port(self) -> int:
        port: int = self.datagrams.getsockname()[1]
        return port

    @property
    def ports(self) -> dict[str, int]:
        return {name: canary.port for name, canary in self._canaries.items()}

    def reached(self) -> set[str]:
        """The ways by which somebody came through."""
        return {name for name, canary in self._canaries.items() if canary.was_reached()} | (
            {"udp"} if self._was_sent_to() else set()
        )

    def _was_sent_to(self) -> bool:
        try:
            self.datagrams.recv(1)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self.datagrams.close()
        for canary in self._canaries.values():
            canary.close()


@contextmanager
def open_canaries(names: Iterable[str]) -> Iterator[Canaries]:
    canaries = Canaries(names)
    try:
        yield canaries
    finally:
        canaries.close()


class EgressLog:
    """What the guard decided, read from cinder's own log."""

    def __init__(self) -> None:
        self.decisions: dict[int, set[tuple[str, str]]] = {}
        """For each port, the hosts asked for there and what was decided."""
        self._grew = asyncio.Event()

    def __call__(
        self, _: object, __: str, event: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        if event["event"] == "egress":
            decided = self.decisions.setdefault(event["port"], set())
            decided.add((event["host"], event["decision"]))
            self._grew.set()
        raise structlog.DropEvent

    async def has_decided_on(self, ports: set[int]) -> None:
        """Wait until there is a decision on each of the ports."""
        async with asyncio.timeout(WAIT_SECONDS):
            while not ports <= self.decisions.keys():
                self._grew.clear()
                await self._grew.wait()

    def allowed(self) -> set[int]:
        """The ports on which anything was allowed."""
        return {
            port
            for port, decided in self.decisions.items()
            if any(decision == "allowed" for _, decision in decided)
        }

    def blocked(self, ports: dict[str, int]) -> set[str]:
        """The names of the ports on which everything was refused, and something was."""
        return {
            name
            for name, port in ports.items()
            if {decision for _, decision in self.decisions.get(port, ())} == {"blocked"}
        }


@contextmanager
def read_egress_log() -> Iterator[EgressLog]:
    before = structlog.get_config()["processors"]
    log = EgressLog()
    structlog.configure(processors=[log])
    try:
        yield log
    finally:
        structlog.configure(processors=before)


@dataclass(frozen=True)
class Renderer:
    """Renders pages with browsers behind the egress proxy."""

    proxy: ForwardProxy
    parts: BrowserParts

    async def render(
        self,
        url: str,
        *actions: Action,
        profile: Profile = Profile.DEFAULT,
        tier: ProxyTier = ProxyTier.BASIC,
    ) -> FetchedPage:
        task = FetchTask(
            url=url,
            timeout_seconds=30,
            render=RenderOptions(actions=actions, block_ads=False, profile=profile, proxy=tier),
            screenshot=Format.SCREENSHOT,
            wants_images=True,
        )
        return await BrowserFetcher(tier, self.parts).fetch(task)

    async def run(self, url: str, script: str, profile: Profile = Profile.DEFAULT) -> Any:
        """Run a script on a page and return its value. Any: whatever it is."""
        page = await self.render(url, run_script(script), profile=profile)
        return page.actions[0].value


def run_script(script: str) -> Action:
    return Action(type=ActionType.EXECUTE_JAVASCRIPT, script=script)


def click(selector: str) -> Action:
    return Action(type=ActionType.CLICK, selector=selector)


@asynccontextmanager
async def open_renderer(
    folder: Path,
    *allow: str,
    resolver: Resolver | None = None,
    egress: Mapping[str, object] | None = None,
    **browser: object,
) -> AsyncIterator[Renderer]:
    """Open browsers that may reach what is allowed; names are those of a table."""
    names = {"private.test": ["127.0.0.1"], "mixed.test": ["93.184.215.14", "127.0.0.1"]}
    settings = read_settings(
        data_dir=folder,
        egress={"allow": allow, **(egress or {})},
        scrape={"network_idle_timeout_ms": 0, "stability_max_wait_ms": 200},
        browser=browser,
    )
    async with (
        make_proxy(settings, resolver or TableResolver(names)) as proxy,
        open_browsers(settings, proxy, Metrics()) as parts,
    ):
        yield Renderer(proxy, parts)

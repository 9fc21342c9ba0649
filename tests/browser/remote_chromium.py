"""A Chromium with a debugging port, for tests of remote browsers, and a relay in front of it."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from cinder.browser.chromium import BrowserFinder
from tests.egress.loopback import Origin, Reader, Writer, open_origin

WAIT_SECONDS = 60
_ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--remote-debugging-port=0",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@dataclass
class Chromium:
    """A browser, and the relay in front of it, which a test can cut."""

    port: int
    path: str
    relay: Origin = field(default_factory=Origin)
    relays: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def websocket(self) -> str:
        return f"ws://{self.relay.pair}{self.path}"

    async def serve(self, origin: Origin, reader: Reader, writer: Writer) -> None:
        """Pass a connection on to the browser."""
        head = await reader.readuntil(b"\r\n\r\n")
        origin.heads.append(head)
        there, here = await asyncio.open_connection("127.0.0.1", self.port)
        here.write(head)
        try:
            async with asyncio.TaskGroup() as tasks:
                mine = {
                    tasks.create_task(_pass_on(*pair)) for pair in ((reader, here), (there, writer))
                }
                self.relays |= mine
                await asyncio.wait(mine, return_when=asyncio.FIRST_COMPLETED)
                for task in mine:
                    task.cancel()
        finally:
            here.close()

    def cut(self) -> None:
        """Break all connections; the browser stays, and new ones may be made."""
        for task in self.relays:
            task.cancel()

    def requests(self) -> list[str]:
        """The paths of the requests that came."""
        return [head.split()[1].decode() for head in self.relay.heads]


async def _pass_on(reader: Reader, writer: Writer) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def open_chromium(folder: Path, tls: ssl.SSLContext | None = None) -> AsyncIterator[Chromium]:
    executable = BrowserFinder(home=Path.home()).find_headless().path
    process = await asyncio.create_subprocess_exec(
        executable,
        *_ARGUMENTS,
        f"--user-data-dir={folder}",
        env={"HOME": str(folder), "PATH": os.environ["PATH"]},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with AsyncExitStack() as closing:
        closing.push_async_callback(process.communicate)
        closing.callback(process.kill)
        async with asyncio.timeout(WAIT_SECONDS):
            while b"DevTools listening on " not in (line := await process.stderr.readline()):
                assert line
        address = line.decode().split("ws://")[1].strip()
        pair, _, path = address.partition("/")
        chromium = Chromium(int(pair.rpartition(":")[2]), f"/{path}")
        chromium.relay = await closing.enter_async_context(open_origin(chromium.serve, tls=tls))
        yield chromium

"""The command line as a process of its own, which a test may watch, interrupt and wait for."""

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

# Below those that the system hands out by itself.
_PORTS = range(20_000, 32_000)


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Commands:
    """Runs `cinder` on a data directory of its own, allowed to reach one address."""

    folder: Path
    allow: str
    server_port: int
    """Where a server may be looked for."""

    async def run(self, *arguments: str, stdin: str = "", **variables: str) -> Finished:
        """Run a command to its end."""
        process = await self._start(arguments, variables)
        async with asyncio.timeout(60):
            out, err = await process.communicate(stdin.encode())
        assert process.returncode is not None
        return Finished(process.returncode, out.decode(), err.decode())

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        """Run a command until it ends, or the exit ends it."""
        process = await self._start(arguments, {})
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _start(
        self, arguments: tuple[str, ...], variables: dict[str, str]
    ) -> asyncio.subprocess.Process:
        environment = {
            **os.environ,
            "CINDER_DATA_DIR": str(self.folder / "data"),
            "CINDER_EGRESS__ALLOW": self.allow,
            "CINDER_SERVER__PORT": str(self.server_port),
            **variables,
        }
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "cinder",
            *arguments,
            env=environment,
            cwd=self.folder,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


async def finish(process: asyncio.subprocess.Process) -> Finished:
    """Return what a command that was told to stop left."""
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode is not None
    return Finished(process.returncode, out.decode(), err.decode())


def free_port() -> int:
    """Return a port on which nobody listens, and that the system gives to nobody who asks for any.

    It is drawn by the system's chance: the tests' own begins anew with each test, also with one
    that runs beside this.
    """
    while True:
        port = _PORTS.start + secrets.randbelow(len(_PORTS))
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port

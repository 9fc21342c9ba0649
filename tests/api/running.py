"""A real `cinder serve`, in a process of its own."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2


@dataclass(slots=True)
class RunningServer:
    """A server that listens."""

    process: asyncio.subprocess.Process
    announcement: str

    @property
    def url(self) -> str:
        return self.announcement.splitlines()[0].rpartition(" ")[2]

    @property
    def token(self) -> str:
        line = next(line for line in self.announcement.splitlines() if "Token" in line)
        return line.split()[1]

    def client(self) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=60, trust_env=False)

    async def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        await self.process.wait()


@asynccontextmanager
async def run_server(
    data_dir: Path, *, port: str = "0", log: str = "", open_files: str = "", **variables: str
) -> AsyncIterator[RunningServer]:
    """Run `cinder serve` on a port, any free one for 0, until the exit; its log goes to a file.

    With `open_files`, it may have no more of them.
    """
    environment = {**os.environ, "CINDER_DATA_DIR": str(data_dir), **variables}
    stderr = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) if log else None
    command = [sys.executable, "-m", "cinder", "serve", "--port", port]
    if open_files:
        command = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', open_files, *command]
    process = await asyncio.create_subprocess_exec(
        *command,
        env=environment,
        cwd=data_dir.parent,
        stdout=asyncio.subprocess.PIPE,
        stderr=stderr,
    )
    if stderr is not None:
        os.close(stderr)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            lines = [(await process.stdout.readline()).decode() for _ in range(4)]
        yield RunningServer(process, "".join(lines))
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()

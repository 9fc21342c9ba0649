"""One of the sandbox's child processes, seen from its parent."""

import asyncio
import os
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import Self

from cinder.extract.wire import (
    PREFIX_BYTES,
    MalformedMessage,
    Message,
    read_header,
    read_header_size,
)

_START_TIMEOUT_SECONDS = 30.0
_STREAM_BUFFER_BYTES = 1024 * 1024
LOW_PRIORITY = 5

# Tells whether a child has ended without taking its end away from the event loop.
_PEEK = os.WEXITED | os.WNOHANG | os.WNOWAIT if sys.platform == "linux" else 0

# A child that died closes its pipe; one that was taken over may send anything.
WORKER_FAILURES = (EOFError, OSError, MalformedMessage)


class ExtractionWorker:
    """A child process; it does one job at a time."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self.jobs_done = 0

    @classmethod
    async def start(cls, memory_bytes: int, scorer: Path | None = None) -> Self:
        """Start a child; it says `ready` when it can take a job."""
        chosen = () if scorer is None else (str(scorer),)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-X", "utf8", "-m", "cinder.extract.worker"),
            *(str(memory_bytes), str(os.getpid()), *chosen),
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            env={},
            limit=_STREAM_BUFFER_BYTES,
        )
        if sys.platform != "win32" and os.getpriority(os.PRIO_PROCESS, 0) < 0:
            # Children inherit the server's own, and requests are answered before pages are parsed.
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, process.pid, 0)
        return cls(process)

    async def await_ready(self) -> None:
        """Wait until the child has loaded what it needs."""
        async with asyncio.timeout(_START_TIMEOUT_SECONDS):
            await self._receive()

    async def run(self, job: Message) -> Message:
        """Have a job done and return the answer."""
        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        self._process.stdin.writelines(job.frame())
        await self._process.stdin.drain()
        answer = await self._receive()
        self.jobs_done += 1
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether the child still runs; asks the system, as the event loop learns of it later."""
        if self._process.returncode is not None or sys.platform != "linux":
            return self._process.returncode is None
        try:
            return os.waitid(os.P_PID, self._process.pid, _PEEK) is None
        except ChildProcessError:
            return False

    @property
    def cpu_seconds(self) -> float:
        """The CPU time that the child has had; where the system does not tell, the time of day."""
        if sys.platform != "linux":
            return time.monotonic()
        try:
            # The number of a process's own clock, as clock_getcpuclockid(3) makes it.
            return time.clock_gettime(~self._process.pid << 3 | 2)
        except OSError:
            return 0.0

    def lower_priority(self) -> None:
        """Let everything else run first; a child cannot be raised again without privileges."""
        if sys.platform != "win32" and self.is_alive:
            with suppress(ProcessLookupError):
                os.setpriority(os.PRIO_PROCESS, self._process.pid, LOW_PRIORITY)

    def kill(self) -> None:
        """End the child at once; whoever waits for its answer learns of it."""
        # Killing one that has ended would take its exit status from the event loop, which warns.
        if self.is_alive:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def end(self) -> None:
        """Kill the child and wait until nothing is left of it."""
        self.kill()
        # Reads what is left in the pipe as well: an unread pipe would keep its transport open.
        await self._process.communicate()

    async def _receive(self) -> Message:
        assert self._process.stdout is not None  # noqa: S101 - it was opened as a pipe
        read = self._process.stdout.readexactly
        raw_header = await read(read_header_size(await read(PREFIX_BYTES)))
        kind, header, sizes = read_header(raw_header)
        return Message(kind, header, tuple([await read(size) for size in sizes]))

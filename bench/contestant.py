"""A scraper in a process of its own, which renders pages when told to: the two ends of the line.

The bench sends lines of JSON, `{"urls": […]}`; the contestant answers each with
`{"texts": […], "seconds": […]}` and ends when the line does. Only the standard library is imported
here, since not every contestant has cinder's packages.
"""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PEERS_PYTHON = ROOT / "bench/peers/.venv/bin/python"
MAX_LINE_BYTES = 2**25
ROUND_SECONDS = 300
CLOSE_SECONDS = 30


class ContestantFailed(Exception):
    """A contestant ended or did not answer in time."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A running contestant, seen from the bench."""

    name: str
    process: asyncio.subprocess.Process

    async def render(self, urls: Sequence[str]) -> tuple[list[str], list[float]]:
        """Return the text of each page, rendered one after the other, and its seconds."""
        answer = await self.ask({"urls": list(urls)})
        return answer["texts"], answer["seconds"]

    # A contestant answers in JSON of its own kind.
    async def ask(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Send a message and return the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        return await self.hear()

    async def hear(self) -> dict[str, Any]:
        """Return what the contestant says next."""
        assert self.process.stdout is not None
        try:
            async with asyncio.timeout(ROUND_SECONDS):
                line = await self.process.stdout.readline()
        except TimeoutError as exc:
            raise ContestantFailed(f"{self.name} took over {ROUND_SECONDS} s") from exc
        if not line:
            raise ContestantFailed(f"{self.name} ended; its message stands above")
        answer: dict[str, Any] = json.loads(line)
        return answer


@asynccontextmanager
async def run_contestant(
    name: str, python: str, module: str, *arguments: str, **variables: str
) -> AsyncIterator[Contestant]:
    """Run a contestant's module with its Python until the exit."""
    process = await asyncio.create_subprocess_exec(
        *(python, "-m", module, *arguments),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=MAX_LINE_BYTES,
        cwd=ROOT,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        yield Contestant(name, process)
    finally:
        await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await process.wait()
    except TimeoutError:
        # Its session is its own, so that its browser ends with it.
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def take_stdout() -> int:
    """Return a descriptor for the answers and send whatever else is printed to stderr."""
    answers = os.dup(1)
    os.dup2(2, 1)
    return answers


async def answer_lines(answers: int, render: Callable[[str], Awaitable[str]]) -> None:
    """Render what the bench asks for until it closes the line."""
    with os.fdopen(answers, "w") as out:
        while line := await asyncio.to_thread(sys.stdin.readline):
            texts, seconds = [], []
            for url in json.loads(line)["urls"]:
                started = time.perf_counter()
                texts.append(await render(url))
                seconds.append(time.perf_counter() - started)
            print(json.dumps({"texts": texts, "seconds": seconds}), file=out, flush=True)

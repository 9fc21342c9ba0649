"""Runs commands of `cinder`, each in a process of its own that need not load the program first."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cinder.surfaces.cli.main import main

# What commands load when they run: loading takes five times as long as a refusal.
_LOADED_BEFOREHAND = ("cinder.app", "cinder.services.scrape", "cinder.surfaces.scrape_answer")
_COMMAND_SECONDS = 100


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that is over."""

    exit_code: int
    out: bytes
    err: bytes


class Commands:
    """Has commands run, one after the other."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self._process = process
        self._out, self._err = folder / "out", folder / "err"

    async def run(self, arguments: list[str]) -> Ended:
        """Run `cinder` with these arguments."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"arguments": arguments, "out": str(self._out), "err": str(self._err)}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                line = await self._process.stdout.readline()
        except TimeoutError:
            for child in psutil.Process(self._process.pid).children(recursive=True):
                child.kill()
            line = await self._process.stdout.readline()
        return Ended(int(line), self._out.read_bytes(), self._err.read_bytes())


@asynccontextmanager
async def open_commands(
    folder: Path, working: Path, variables: Mapping[str, str]
) -> AsyncIterator[Commands]:
    """Open what runs commands, with these variables, until the exit."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        cwd=working,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield Commands(process, folder)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


def _serve() -> None:
    """Fork for each line of standard input, which says what to run; tell how each ended."""
    for name in _LOADED_BEFOREHAND:
        __import__(name)
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _run(asked["arguments"], asked["out"], asked["err"])
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _run(arguments: list[str], out: str, err: str) -> None:
    new = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, path, flags in ((0, os.devnull, os.O_RDONLY), (1, out, new), (2, err, new)):
        os.dup2(os.open(path, flags, 0o600), number)
    sys.argv = ["cinder", *arguments]
    main()
    sys.exit()


if __name__ == "__main__":
    _serve()

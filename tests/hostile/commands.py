"""Runs commands of `cinder`, each in a process of its own that need not load the program first."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from cinder.cli.main import main

# What commands load when they run: loading takes five times as long as a refusal.
_LOADED_BEFOREHAND = (
    "cinder.app.composition",
    "cinder.services.scraping.service",
    "cinder.api.schemas.scrape",
)
_COMMAND_SECONDS = 100


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that is over."""

    exit_code: int
    out: bytes
    err: bytes
    was_stopped: bool = False


class Commands:
    """Has commands run, one after the other."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self._process = process
        self._out, self._err = folder / "out", folder / "err"

    @property
    def process_id(self) -> int:
        """The process whose children the commands are."""
        return self._process.pid

    async def run(self, arguments: list[str], patience_seconds: float | None = None) -> Ended:
        """Run `cinder` with these arguments; interrupt it, as a user does, when patience ends."""
        assert self._process.stdin is not None
        asked = {"arguments": arguments, "out": str(self._out), "err": str(self._err)}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        code = await self._wait(patience_seconds) if patience_seconds else None
        if was_stopped := patience_seconds is not None and code is None:
            self._signal(signal.SIGINT)
        if code is None and (code := await self._wait(_COMMAND_SECONDS)) is None:
            self._signal(signal.SIGKILL)
            code = await self._wait(_COMMAND_SECONDS)
        out, err = self._out.read_bytes(), self._err.read_bytes()
        return Ended(-1 if code is None else code, out, err, was_stopped=was_stopped)

    async def _wait(self, seconds: float) -> int | None:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                return int(await self._process.stdout.readline())
        except TimeoutError:
            return None

    def _signal(self, number: int) -> None:
        for child in psutil.Process(self._process.pid).children():
            child.send_signal(number)


@asynccontextmanager
async def open_commands(folder: Path, variables: Mapping[str, str]) -> AsyncIterator[Commands]:
    """Open what runs commands, with these variables, until the exit."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables},
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # What it loads beforehand is no command's time.
        await process.stdout.readline()
        yield Commands(process, folder)
    finally:
        process.stdin.close()
        await process.wait()


def _serve() -> None:
    """Fork for each line of standard input, which says what to run; tell how each ended."""
    # Who was started in the background may have been told to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in _LOADED_BEFOREHAND:
        __import__(name)
    _tell("ready")
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            _run(asked["arguments"], asked["out"], asked["err"])
        _, status = os.waitpid(child, 0)
        _tell(str(os.waitstatus_to_exitcode(status)))


def _tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
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

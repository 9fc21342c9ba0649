"""The data's own fixture server, run from a copy, since it keeps files beside itself."""

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.contestant import ROOT
from bench.hostile.pdfs import write_pdfs

SECONDS = 1_800
START_SECONDS = 120
BROTLI_PYTHON = ROOT / "bench/crawl4ai/.venv/bin/python"
BROTLI_BOMB = (
    "import brotli, sys; "
    "sys.stdout.buffer.write(brotli.compress(bytes(256 * 1024 * 1024), quality=5))"
)


@asynccontextmanager
async def run_hostile_website(data: Path, folder: Path) -> AsyncIterator[str]:
    """Serve the hostile pages until the exit; its address is what is given."""
    shutil.copyfile(data / "fixture_server.py", folder / "fixture_server.py")
    await asyncio.to_thread(write_pdfs, folder / "pdf")
    await asyncio.to_thread(_write_brotli_bomb, folder / "assets")
    ports = [_free_port() for _ in range(2)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(folder / "fixture_server.py")),
        *(str(port) for port in ports),
        str(SECONDS),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        await _listening(ports[0], process)
        yield f"127.0.0.1:{ports[0]}"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


def _write_brotli_bomb(folder: Path) -> None:
    """Write the one file for which the fixture server would need a package that cinder has not."""
    folder.mkdir()
    bomb = b""
    if BROTLI_PYTHON.exists():
        command = [str(BROTLI_PYTHON), "-c", BROTLI_BOMB]
        bomb = subprocess.run(command, check=True, capture_output=True).stdout
    else:
        print("/br-bomb is an empty file here: `make bench` installs brotli with Crawl4AI")
    (folder / "br.bin").write_bytes(bomb)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(START_SECONDS):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.2)
                continue
            writer.close()
            return
    raise RuntimeError("The fixture server ended; its message stands above")

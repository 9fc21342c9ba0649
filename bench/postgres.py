"""A PostgreSQL server to measure on: the system's own where there is one, else that of the tests.

Distributions build it with lz4, which cinder has it compress texts with; the tests' is without.
"""

import os
import pwd
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.store.postgres import run_postgres

SYSTEM_FOLDER = Path("/usr/lib/postgresql")
# It refuses to run as root, and its packages bring a user for it.
USER = "postgres"


@dataclass(frozen=True, slots=True)
class MeasuredServer:
    """An empty database, and the process that all others of its server descend from."""

    url: str
    pid: int


@contextmanager
def run_measured_postgres() -> Iterator[MeasuredServer]:
    """Run a server whose commits are durable until the block ends."""
    programs = _system_programs()
    if programs is not None:
        with _run_system_server(programs) as server:
            yield server
        return
    with run_postgres(is_durable=True) as running:
        # Creating a database runs an event loop of its own.
        with ThreadPoolExecutor() as threads:
            url = threads.submit(running.create_database).result()
        yield MeasuredServer(url, running.pid)


def _system_programs() -> Path | None:
    """Return the folder of the newest server's programs; None where no server is installed."""
    found = [path.parent for path in SYSTEM_FOLDER.glob("*/bin/postgres")]
    return max(found, key=lambda folder: int(folder.parent.name), default=None)


@contextmanager
def _run_system_server(programs: Path) -> Iterator[MeasuredServer]:
    user = USER if os.geteuid() == 0 else None
    # A short path: sockets have little room for one.
    with tempfile.TemporaryDirectory(prefix="cinder-pg-", dir="/tmp") as folder:
        if user is not None:
            os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
        data = f"{folder}/data"

        def run(program: str, *arguments: str) -> None:
            command = (str(programs / program), "-D", data, *arguments)
            subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

        run("initdb", "--auth=trust", f"--username={USER}", "--encoding=UTF8", "--no-locale")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder}"
        run("pg_ctl", "--wait", f"--options={options}", f"--log={folder}/log", "start")
        try:
            pid = int(Path(data, "postmaster.pid").read_text().split()[0])
            yield MeasuredServer(f"postgresql://{USER}:@/{USER}?host={folder}", pid)
        finally:
            run("pg_ctl", "--wait", "--mode=fast", "stop")

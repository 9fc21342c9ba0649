"""The container file and the compose file: what they start are commands that work as they are."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

from tests.cli.commands import Commands, free_port
from tests.site import Site
from tests.store.postgres import run_postgres

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()
COMPOSE = (ROOT / "compose.yaml").read_text()
_NOBODY = 65_534
SETTINGS_PAGE = (ROOT / "docs" / "settings.md").read_text()


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of an empty database."""
    with run_postgres() as server:
        yield server.create_database()


@asynccontextmanager
async def running(arguments: list[str], **variables: str) -> AsyncIterator[str]:
    """Run a container's command until the exit tells it to stop; yield the first line it prints."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "cinder", *arguments),
        env={**os.environ, **variables},
        cwd=variables["CINDER_DATA_DIR"],
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
        yield line
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(60):
            # The server ends by the signal itself, once it has let its requests finish.
            assert await process.wait() in (0, -signal.SIGTERM)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def compose_commands() -> list[list[str]]:
    return [
        json.loads(found) for found in re.findall(r"^ +command: (\[.*\])$", COMPOSE, re.MULTILINE)
    ]


def test_the_image_runs_cinder_without_rights_as_its_last_user() -> None:
    entry = re.search(r"^ENTRYPOINT (.*)$", DOCKERFILE, re.MULTILINE)
    command = re.search(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)
    assert entry is not None
    assert command is not None
    assert json.loads(entry[1])[-1] == "cinder"
    assert json.loads(command[1]) in compose_commands()
    assert re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE) == ["cinder"]


def test_what_the_image_copies_exists_and_is_not_left_out() -> None:
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for name in line.split():
            assert (ROOT / name).exists(), name
            assert name in let_in


def test_every_setting_that_the_compose_file_names_exists() -> None:
    variables = re.findall(r"^ +(CINDER_[A-Z_]+):", COMPOSE, re.MULTILINE)
    assert len(variables) >= 4
    for variable in variables:
        assert f"`{variable}`" in SETTINGS_PAGE


@dataclass(frozen=True, slots=True)
class Unprivileged:
    """A user who may do little, his home, and the Python that he may run."""

    home: Path
    python: Path
    identity: dict[str, Any]  # Any: as the start of a process takes it


@pytest.fixture
def unprivileged() -> Iterator[Unprivileged]:
    """Whoever runs the tests; where that is root, nobody, with a Python that he can read."""
    with TemporaryDirectory() as made:
        home = Path(made)
        if os.geteuid() != 0:
            yield Unprivileged(home, Path(sys.executable), {})
            return
        # What pytest makes is for its own user's eyes alone.
        home.chmod(0o777)
        python = _make_environment(home / "environment")
        identity = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        yield Unprivileged(home, python, identity)


def _make_environment(environment: Path) -> Path:
    version = f"python3.{sys.version_info.minor}"
    base = Path("/usr/bin") / version
    if not base.exists():
        pytest.skip(f"Nobody but root may run the Python of these tests, and there is no {base}")
    packages = environment / "lib" / version / "site-packages"
    packages.mkdir(parents=True)
    (environment / "bin").mkdir()
    (environment / "bin" / "python").symlink_to(base)
    (environment / "pyvenv.cfg").write_text(f"home = {base.parent}\n")
    paths = [str(ROOT / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
    (packages / "cinder.pth").write_text("\n".join(paths))
    return environment / "bin" / "python"


async def test_a_user_without_rights_renders_with_the_sandbox_of_the_browser(
    unprivileged: Unprivileged, site: Site
) -> None:
    process = await asyncio.create_subprocess_exec(
        unprivileged.python,
        *("-m", "cinder", "serve", "--port", "0"),
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(unprivileged.home),
            "CINDER_DATA_DIR": str(unprivileged.home / "data"),
            "CINDER_SERVER__API_TOKEN": "a-token",
            "CINDER_EGRESS__ALLOW": site.address,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        cwd=unprivileged.home,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        **unprivileged.identity,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            url = (await process.stdout.readline()).decode().rstrip().rpartition(" ")[2]
        answer = await _render(url, site.url("/form"))
    finally:
        process.terminate()
        _, log = await process.communicate()
    assert answer["success"], (answer, log.decode())
    assert "browser started" in log.decode()
    assert "browser without sandbox" not in log.decode()


async def _render(server: str, url: str) -> dict[str, Any]:
    headers = {"Authorization": "Bearer a-token"}
    async with httpx2.AsyncClient(base_url=server, headers=headers, timeout=60) as client:
        answer = await client.post("/api/v2/scrape", json={"url": url, "mode": "dynamic"})
    return dict(answer.json())


async def test_a_server_and_workers_share_a_crawl_as_the_compose_file_starts_them(
    tmp_path: Path, site: Site, database: str
) -> None:
    serve, work = compose_commands()
    port = str(free_port())
    variables = {
        "CINDER_STORE__URL": database,
        "CINDER_SERVER__API_TOKEN": "a-token",
        "CINDER_SERVER__PORT": port,
        "CINDER_EGRESS__ALLOW": site.address,
        "CINDER_DATA_DIR": str(tmp_path),
    }
    commands = Commands(tmp_path, site.address, int(port))
    alone = {**variables, "CINDER_JOBS__ENABLED_IN_SERVER": "false"}
    url = site.url("/shelf?books=20")
    async with (
        running(serve, **alone) as listens,
        running(work, **variables) as first,
        running(work, **variables) as second,
    ):
        assert f"listens on http://0.0.0.0:{port}" in listens
        assert "works on up to" in first
        assert "works on up to" in second
        done = await commands.run("crawl", url, CINDER_SERVER__API_TOKEN="a-token")
    assert done.code == 0, done.err
    assert (
        " completed: 21 pages fetched, 0 duplicates, 0 traps, 1 disallowed by robots.txt, 1 error"
        in done.out
    )

"""Finding the server that runs, and what stands in its place."""

import socket
from pathlib import Path

import pytest

from cinder.cli.backends import PROBE_SECONDS, ServerClient, find_server
from cinder.cli.doctor import _check_server
from cinder.config.settings import Settings, read_settings
from cinder.errors import BatchNotFound, CinderError, ErrorCode, InvalidRequest
from cinder.server.local_access import is_port_locked
from tests.api.running import run_server
from tests.cli.commands import free_port
from tests.site import Site


def settings_for(folder: Path, port: int, host: str = "127.0.0.1") -> Settings:
    server = {"host": host, "port": port, "api_token": "a-token"}
    return read_settings(data_dir=folder / "data", server=server)


def test_where_nobody_listens_there_is_no_server(tmp_path: Path) -> None:
    port = free_port()
    assert find_server(settings_for(tmp_path, port)) == (
        None,
        f"no server runs on 127.0.0.1:{port}",
    )
    assert find_server(settings_for(tmp_path, 0))[0] is None


def test_another_program_is_not_taken_for_cinder(tmp_path: Path, site: Site) -> None:
    assert find_server(settings_for(tmp_path, site.port)) == (
        None,
        f"something other than cinder answers on 127.0.0.1:{site.port}",
    )


def test_the_token_of_the_data_directory_is_told_to_no_other_program(
    tmp_path: Path, site: Site
) -> None:
    own = read_settings(data_dir=tmp_path / "data", server={"port": site.port})
    assert find_server(own) == (None, f"no server runs on 127.0.0.1:{site.port}")
    assert _check_server(own).text.startswith("none runs on")
    assert site.hits("/readyz") == 0


def test_a_server_that_is_too_busy_to_answer_is_not_taken_for_another_program(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert find_server(settings_for(tmp_path, port)) == (
            None,
            f"nothing answers on 127.0.0.1:{port} within {PROBE_SECONDS} seconds",
        )


async def test_a_server_has_its_mark_for_as_long_as_it_runs(tmp_path: Path) -> None:
    port = free_port()
    own = read_settings(data_dir=tmp_path / "data", server={"port": port})
    async with run_server(tmp_path / "data", port=str(port)):
        link, _ = find_server(own)
        assert link is not None
        assert not is_port_locked(tmp_path / "data", port + 1)
    assert not is_port_locked(tmp_path / "data", port)


async def test_a_server_that_listens_everywhere_is_reached_on_loopback(tmp_path: Path) -> None:
    port = free_port()
    async with run_server(
        tmp_path / "data",
        port=str(port),
        CINDER_SERVER__HOST="0.0.0.0",
        CINDER_SERVER__API_TOKEN="a-token",
    ):
        link, _ = find_server(settings_for(tmp_path, port, "0.0.0.0"))
        assert link == ServerClient("127.0.0.1", port, "a-token")
        with pytest.raises(BatchNotFound):
            await link.ask("GET", "/v1/batch/none")
        with pytest.raises(InvalidRequest) as wrong:
            await link.ask("POST", "/v1/crawl", {"url": "a.example", "maxDepth": 0})
    assert [problem.field for problem in wrong.value.problems] == ["maxDepth"]
    with pytest.raises(CinderError) as gone:
        await link.ask("GET", "/v1/batches")
    assert gone.value.code is ErrorCode.OVERLOADED

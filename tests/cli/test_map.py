"""`cinder map`, on a server and without one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.running import run_server
from tests.cli.commands import Commands, free_port
from tests.mapped_site import MappedSite, serve_mapped_site


@pytest.fixture
def mapped() -> Iterator[MappedSite]:
    with serve_mapped_site() as running:
        running.put({"/": "<title>Home</title><main><h1>Home</h1><a href='/menu'>Menu</a></main>"})
        running.put_sitemaps(["/a", "/b"], 2)
        yield running


async def test_urls_are_printed_one_a_line(tmp_path: Path, mapped: MappedSite) -> None:
    commands = Commands(tmp_path, mapped.address, free_port())
    done = await commands.run("map", mapped.url("/"), "--limit", "3")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [mapped.url(path) for path in ("/", "/menu", "/a")]
    assert "3 URLs: 2 by page, 1 by sitemap" in done.err
    assert "More: --offset 3" in done.err


async def test_a_running_server_answers_as_json(tmp_path: Path, mapped: MappedSite) -> None:
    port = free_port()
    commands = Commands(tmp_path, mapped.address, port)
    async with run_server(tmp_path / "data", port=str(port), CINDER_EGRESS__ALLOW=mapped.address):
        done = await commands.run("map", mapped.url("/"), "--sitemap", "only", "--json")
    assert done.code == 0, done.err
    assert [each["url"] for each in json.loads(done.out)["urls"]] == [
        mapped.url("/a"),
        mapped.url("/b"),
    ]


async def test_a_wrong_flag_is_named(tmp_path: Path, mapped: MappedSite) -> None:
    commands = Commands(tmp_path, mapped.address, free_port())
    done = await commands.run("map", mapped.url("/"), "--sitemap", "never")
    assert done.code == 2
    assert "sitemap" in done.err

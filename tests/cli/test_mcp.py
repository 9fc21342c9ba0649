"""The options of `cinder mcp` and `cinder serve` that choose the tools."""

import json
import os
import stat
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.cli.commands import Commands, Finished
from tests.cli.test_commands import Run, run

__all__ = ["run"]


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="files lie elsewhere there")

URL = "https://cinder.example/mcp"
HEADERS = {"Authorization": "Bearer T"}


@dataclass(frozen=True, slots=True)
class Expected:
    """Where a client's file is, under which key servers stand, and one of each form."""

    file: str
    section: str
    stdio: dict[str, Any]
    http: dict[str, Any]

    def servers(self, home: Path) -> dict[str, Any]:
        text = (home / self.file).read_text()
        read = tomllib.loads if self.file.endswith(".toml") else json.loads
        servers: dict[str, Any] = read(text)[self.section]
        return servers


STDIO = {"command": str(Path(sys.executable).with_name("cinder")), "args": ["mcp"]}
BRIDGE = {
    "command": "npx",
    "args": ["-y", "mcp-remote", URL, "--header", "Authorization:${AUTHORIZATION}"],
    "env": {"AUTHORIZATION": "Bearer T"},
}
PLAIN = {"url": URL, "headers": HEADERS}
CLIENTS = {
    "claude-desktop": Expected(
        ".config/Claude/claude_desktop_config.json", "mcpServers", STDIO, BRIDGE
    ),
    "claude-code": Expected(
        ".claude.json", "mcpServers", {"type": "stdio", **STDIO}, {"type": "http", **PLAIN}
    ),
    "cursor": Expected(".cursor/mcp.json", "mcpServers", STDIO, PLAIN),
    "vscode": Expected(
        ".config/Code/User/mcp.json",
        "servers",
        {"type": "stdio", **STDIO},
        {"type": "http", **PLAIN},
    ),
    "codex": Expected(
        ".codex/config.toml", "mcp_servers", STDIO, {"url": URL, "http_headers": HEADERS}
    ),
    "windsurf": Expected(
        ".codeium/windsurf/mcp_config.json",
        "mcpServers",
        STDIO,
        {"serverUrl": URL, "headers": HEADERS},
    ),
    "zed": Expected(".config/zed/settings.json", "context_servers", STDIO, PLAIN),
    "gemini": Expected(
        ".gemini/settings.json", "mcpServers", STDIO, {"httpUrl": URL, "headers": HEADERS}
    ),
}


@dataclass(frozen=True, slots=True)
class Home:
    """A person's home, in which clients are set up."""

    folder: Path
    commands: Commands

    async def install(self, client: str, *options: str) -> Finished:
        arguments = ("mcp", "install", "--client", client, *options)
        return await self.commands.run(*arguments, HOME=str(self.folder))

    def backups(self) -> list[Path]:
        return list(self.folder.rglob("*.bak"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(folder, Commands(tmp_path, "", 1))


@pytest.mark.parametrize("client", CLIENTS)
async def test_a_client_gets_its_file_and_later_another_form_of_the_entry(
    client: str, home: Home
) -> None:
    expected = CLIENTS[client]
    first = await home.install(client)
    assert (first.code, first.err) == (0, "")
    assert expected.servers(home.folder) == {"cinder": expected.stdio}
    assert stat.S_IMODE((home.folder / expected.file).stat().st_mode) == 0o600
    before = (home.folder / expected.file).read_bytes()

    again = await home.install(client)
    assert "has it already" in again.out
    assert home.backups() == []

    await home.install(client, "--url", URL, "--token", "T")
    assert expected.servers(home.folder) == {"cinder": expected.http}
    (backup,) = home.backups()
    assert backup.read_bytes() == before


@pytest.mark.parametrize("client", CLIENTS)
async def test_what_is_printed_is_what_would_be_written_and_nothing_is(
    client: str, home: Home
) -> None:
    expected = CLIENTS[client]
    printed = await home.install(client, "--print")
    assert list(home.folder.iterdir()) == []
    assert expected.file in printed.err
    await home.install(client)
    assert (home.folder / expected.file).read_text() == printed.out


async def test_other_servers_a_link_and_the_rights_of_the_file_are_kept(home: Home) -> None:
    real = home.folder / "dotfiles.json"
    real.write_text('{"theme": "dark", "mcpServers": {"other": {"command": "x"}}}')
    real.chmod(0o640)
    (home.folder / ".cursor").mkdir()
    link = home.folder / ".cursor" / "mcp.json"
    link.symlink_to(real)
    await home.install("cursor", "--name", "web", "--env", "CINDER_LOG__LEVEL=debug")

    web = {**STDIO, "env": {"CINDER_LOG__LEVEL": "debug"}}
    servers = {"other": {"command": "x"}, "web": web}
    assert json.loads(real.read_text()) == {"theme": "dark", "mcpServers": servers}
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


async def test_a_file_with_comments_is_left_as_it_is_and_what_to_add_is_printed(home: Home) -> None:
    text = '{\n  // My colours\n  "theme": "One Dark"\n}\n'
    file = home.folder / "settings.json"
    file.write_text(text)
    done = await home.install("zed", "--file", str(file))
    assert done.code == 1
    assert "comments would be lost" in done.err
    assert json.loads(done.out) == {"context_servers": {"cinder": STDIO}}
    assert file.read_text() == text
    assert home.backups() == []


async def test_the_owners_token_goes_to_a_server_on_this_machine_alone(home: Home) -> None:
    near = await home.install("cursor", "--print", "--url", "http://127.0.0.1:8000/mcp")
    far = await home.install("cursor", "--print", "--url", URL)
    token = (home.commands.folder / "data" / "api-token").read_text().strip()
    headers = json.loads(near.out)["mcpServers"]["cinder"]["headers"]
    assert headers == {"Authorization": f"Bearer {token}"}
    assert json.loads(far.out)["mcpServers"]["cinder"] == {"url": URL}


@pytest.mark.parametrize(
    ("given", "entered"),
    [
        ("https://cinder.example", URL),
        ("https://cinder.example/", URL),
        ("https://cinder.example/tools/mcp", "https://cinder.example/tools/mcp"),
    ],
)
async def test_an_address_without_a_path_is_that_of_the_servers_mcp(
    given: str, entered: str, home: Home
) -> None:
    done = await home.install("cursor", "--print", "--url", given)
    assert json.loads(done.out)["mcpServers"]["cinder"]["url"] == entered


@pytest.mark.parametrize(
    "options",
    [
        ("--token", "T"),
        ("--url", "cinder.example"),
        ("--url", URL, "--env", "A=1"),
        ("--env", "A"),
    ],
)
async def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], home: Home
) -> None:
    done = await home.install("cursor", *options)
    assert done.code == 2
    assert list(home.folder.iterdir()) == []


async def test_options_choose_the_tools_of_a_server_over_stdio(tmp_path: Path) -> None:
    options = ["--toolsets", "text", "--tools", "scrape", "--read-only"]
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "cinder", "mcp", *options],
        env={**os.environ, "CINDER_DATA_DIR": str(tmp_path)},
    )
    async with Client(started) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        *("scrape", "scrape_extract_content", "scrape_text_similarity"),
    ]
    actions = tools[0].input_schema["properties"]["actions"]["items"]["properties"]
    assert "click" not in actions["type"]["enum"]


@pytest.mark.parametrize("command", ["mcp", "serve"])
async def test_unknown_name_ends_the_start_with_the_nearest(run: Run, command: str) -> None:
    ended = await run(command, "--toolsets", "serch")
    assert ended.code == 2
    assert "There is no toolset 'serch'. Did you mean search?" in ended.err
    assert "Traceback" not in ended.err

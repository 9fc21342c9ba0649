"""The clients: where each keeps its file, and how it writes a server down."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from cinder.model.document import Json
from cinder.surfaces.cli.install.base import Address, Entry, Launch, Target

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


class ClientName(StrEnum):
    """The clients that can be set up."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VS_CODE = "vscode"
    CODEX = "codex"
    WINDSURF = "windsurf"
    ZED = "zed"
    GEMINI = "gemini"


@dataclass(frozen=True, slots=True)
class Client:
    """A client: what people call it, its file, and the form of an entry in it."""

    title: str
    file: Callable[[], Path]
    section: str
    """The key under which servers stand, by name."""
    write: Callable[[Target], Entry]
    """What stands there for one."""
    advice: str
    """What makes the client read the file."""


def is_on_this_machine(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    return urlsplit(url).hostname in _LOOPBACK


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _app_data(*parts: str, mac: str = "Library/Application Support") -> Callable[[], Path]:
    folders = {"darwin": mac, "win32": "AppData/Roaming"}
    return lambda: Path.home().joinpath(folders.get(sys.platform, ".config"), *parts)


def _plain(target: Target) -> Entry:
    return target.entry if isinstance(target, Launch) else target.entry()


def _typed(target: Target) -> Entry:
    kind = "stdio" if isinstance(target, Launch) else "http"
    return {"type": kind} | _plain(target)


def _by_server_url(target: Target) -> Entry:
    return target.entry if isinstance(target, Launch) else target.entry("serverUrl")


def _by_http_url(target: Target) -> Entry:
    return target.entry if isinstance(target, Launch) else target.entry("httpUrl")


def _for_codex(target: Target) -> Entry:
    if isinstance(target, Launch):
        return target.entry
    return target.entry(headers_key="http_headers")


def _for_claude_desktop(target: Target) -> Entry:
    """Return an entry for a file that knows commands alone: a bridge leads to a URL."""
    return target.entry if isinstance(target, Launch) else _bridge(target)


def _bridge(address: Address) -> Entry:
    arguments = ["-y", "mcp-remote", address.url]
    if address.url.startswith("http:") and not is_on_this_machine(address.url):
        arguments.append("--allow-http")
    entry: Entry = {"command": "npx", "args": list[Json](arguments)}
    if address.token:
        # Not within the argument itself: on some systems one with a space is torn apart.
        arguments += ["--header", "Authorization:${AUTHORIZATION}"]
        headers = address.headers
        entry |= {"args": list[Json](arguments), "env": {"AUTHORIZATION": headers["Authorization"]}}
    return entry


_RESTART = "Restart it to connect."

CLIENTS: Mapping[ClientName, Client] = MappingProxyType(
    {
        ClientName.CLAUDE_DESKTOP: Client(
            "Claude Desktop",
            _app_data("Claude", "claude_desktop_config.json"),
            "mcpServers",
            _for_claude_desktop,
            "Quit and open it again to connect.",
        ),
        ClientName.CLAUDE_CODE: Client(
            "Claude Code", _home(".claude.json"), "mcpServers", _typed, "`/mcp` shows it."
        ),
        ClientName.CURSOR: Client(
            "Cursor", _home(".cursor", "mcp.json"), "mcpServers", _plain, _RESTART
        ),
        ClientName.VS_CODE: Client(
            "VS Code",
            _app_data("Code", "User", "mcp.json"),
            "servers",
            _typed,
            "`MCP: List Servers` starts it.",
        ),
        ClientName.CODEX: Client(
            "Codex", _home(".codex", "config.toml"), "mcp_servers", _for_codex, "`/mcp` shows it."
        ),
        ClientName.WINDSURF: Client(
            "Windsurf",
            _home(".codeium", "windsurf", "mcp_config.json"),
            "mcpServers",
            _by_server_url,
            "Refresh the list of servers to connect.",
        ),
        ClientName.ZED: Client(
            "Zed",
            _app_data("zed", "settings.json", mac=".config"),
            "context_servers",
            _plain,
            "The agent panel's settings show it.",
        ),
        ClientName.GEMINI: Client(
            "Gemini CLI",
            _home(".gemini", "settings.json"),
            "mcpServers",
            _by_http_url,
            "`/mcp` shows it.",
        ),
    }
)

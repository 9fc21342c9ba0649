"""MCP clients and their configuration files: entries merged into JSON and TOML."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import urlsplit

# Any: JSON, or TOML with its dates.
ConfigEntry: TypeAlias = dict[str, Any]

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# The file may hold a token.
_OWNER_ONLY = 0o600
_FIRST_INDENT = re.compile(r"\{\r?\n([ \t]+)\"")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

# The keys of an entry that say how to connect, in any client's file.
_CONNECTION_KEYS = frozenset(
    {"type", "command", "args", "env", "url", "serverUrl", "httpUrl", "headers", "http_headers"}
)


class UnmergeableConfig(Exception):
    """Rewriting the file would lose a part of it; the message says which."""


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command that serves over stdio."""

    command: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """The URL of a running server, and its token."""

    url: str
    token: str | None


ConnectionTarget: TypeAlias = LaunchCommand | ServerUrl


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
class McpClient:
    """A client: its title, its file, and the form of an entry in it."""

    title: str
    file: Callable[[], Path]
    section: str
    """The key of the object that holds the servers by name."""
    advice: str
    """How to make the client read the file."""
    url_key: str = "url"
    headers_key: str = "headers"
    is_typed: bool = False
    """Whether an entry names its transport."""
    takes_urls: bool = True
    """Whether the file may hold URLs; if not, the bridge `mcp-remote` connects to one."""

    def entry(self, target: ConnectionTarget) -> ConfigEntry:
        """Return the entry of a server."""
        entry: ConfigEntry
        if isinstance(target, LaunchCommand):
            program, *arguments = target.command
            entry = {"command": program, "args": arguments}
            entry |= {"env": target.variables} if target.variables else {}
        else:
            authorization = f"Bearer {target.token}"
            if not self.takes_urls:
                arguments = ["-y", "mcp-remote", target.url]
                if target.url.startswith("http:") and not is_loopback_url(target.url):
                    arguments.append("--allow-http")
                entry = {"command": "npx", "args": arguments}
                if target.token:
                    # In a variable: some systems split an argument with a space in it.
                    arguments += ["--header", "Authorization:${AUTHORIZATION}"]
                    entry["env"] = {"AUTHORIZATION": authorization}
                return entry
            entry = {self.url_key: target.url}
            if target.token:
                entry[self.headers_key] = {"Authorization": authorization}
        kind = "stdio" if isinstance(target, LaunchCommand) else "http"
        return {"type": kind} | entry if self.is_typed else entry


def is_loopback_url(url: str) -> bool:
    """Whether a URL leads to this machine."""
    return urlsplit(url).hostname in _LOOPBACK


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _app_data(*parts: str, mac: str = "Library/Application Support") -> Callable[[], Path]:
    folders = {"darwin": mac, "win32": "AppData/Roaming"}
    return lambda: Path.home().joinpath(folders.get(sys.platform, ".config"), *parts)


CLIENTS: Mapping[ClientName, McpClient] = MappingProxyType(
    {
        ClientName.CLAUDE_DESKTOP: McpClient(
            "Claude Desktop",
            _app_data("Claude", "claude_desktop_config.json"),
            "mcpServers",
            "Quit and open it again to connect.",
            takes_urls=False,
        ),
        ClientName.CLAUDE_CODE: McpClient(
            "Claude Code",
            _home(".claude.json"),
            "mcpServers",
            "`/mcp` shows it.",
            is_typed=True,
        ),
        ClientName.CURSOR: McpClient(
            "Cursor", _home(".cursor", "mcp.json"), "mcpServers", "Restart it to connect."
        ),
        ClientName.VS_CODE: McpClient(
            "VS Code",
            _app_data("Code", "User", "mcp.json"),
            "servers",
            "`MCP: List Servers` starts it.",
            is_typed=True,
        ),
        ClientName.CODEX: McpClient(
            "Codex",
            _home(".codex", "config.toml"),
            "mcp_servers",
            "`/mcp` shows it.",
            headers_key="http_headers",
        ),
        ClientName.WINDSURF: McpClient(
            "Windsurf",
            _home(".codeium", "windsurf", "mcp_config.json"),
            "mcpServers",
            "Refresh the list of servers to connect.",
            url_key="serverUrl",
        ),
        ClientName.ZED: McpClient(
            "Zed",
            _app_data("zed", "settings.json", mac=".config"),
            "context_servers",
            "The agent panel's settings show it.",
        ),
        ClientName.GEMINI: McpClient(
            "Gemini CLI",
            _home(".gemini", "settings.json"),
            "mcpServers",
            "`/mcp` shows it.",
            url_key="httpUrl",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The file of a client."""

    path: Path

    def read(self) -> str:
        """Return its text with its line ends; empty if there is no file.

        Raises:
            UnmergeableConfig: it is not UTF-8.
        """
        try:
            return self.path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise UnmergeableConfig("it is not UTF-8") from None

    def replace(self, text: str) -> Path | None:
        """Replace the file, or the file that it links to; return the backup, None if it was new."""
        import shutil
        from tempfile import NamedTemporaryFile

        target = self.path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if target.exists():
            backup = target.with_name(f"{target.name}.{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.bak")
            shutil.copy2(target, backup)
        with NamedTemporaryFile("wb", dir=target.parent, prefix=".cinder-", delete=False) as file:
            draft = Path(file.name)
            try:
                file.write(text.encode())
                file.flush()
                draft.chmod(target.stat().st_mode & 0o777 if backup else _OWNER_ONLY)
                draft.replace(target)
            except BaseException:
                with suppress(FileNotFoundError):
                    draft.unlink()
                raise
        return backup


def merge_entry(existing: object, entry: ConfigEntry) -> ConfigEntry:
    """Return an entry that replaces an existing one, with what the user added to that.

    Variables count as added if both entries start the same command.
    """
    if not isinstance(existing, dict):
        return entry
    added = {key: value for key, value in existing.items() if key not in _CONNECTION_KEYS}
    variables, own = existing.get("env"), entry.get("env", {})
    is_same_command = "args" in entry and existing.get("args") == entry["args"]
    if is_same_command and isinstance(variables, dict) and isinstance(own, dict):
        added["env"] = variables | own
    return entry | added


def show_json(section: str, name: str, entry: ConfigEntry) -> str:
    """Return the text of a file with this entry only."""
    return json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def merge_json(text: str, section: str, name: str, entry: ConfigEntry) -> str:
    """Return a file's text with the entry; the same text if it has the entry already.

    Raises:
        UnmergeableConfig: a part of the text would be lost.
    """

    def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> ConfigEntry:
        unique = dict(pairs)
        if len(unique) < len(pairs):
            raise UnmergeableConfig("a key appears twice in the same object")
        return unique

    try:
        document = json.loads(
            text if text.strip() else "{}", object_pairs_hook=refuse_repeated_keys
        )
    except ValueError as error:
        raise UnmergeableConfig(
            f"it is not plain JSON ({error}), and comments would be lost if it were rewritten"
        ) from None
    except RecursionError:
        raise UnmergeableConfig("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise UnmergeableConfig("it does not hold a JSON object")
    servers = document.setdefault(section, {})
    if not isinstance(servers, dict):
        raise UnmergeableConfig(f"{section!r} is not an object in it")
    merged = merge_entry(servers.get(name), entry)
    if servers.get(name) == merged:
        return text
    servers[name] = merged
    found = _FIRST_INDENT.match(text)
    return json.dumps(document, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def show_toml(section: str, name: str, entry: ConfigEntry) -> str:
    """Return the entry as a table."""
    lines = [f"[{section}.{_toml_key(name)}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def merge_toml(text: str, section: str, name: str, entry: ConfigEntry) -> str:
    """Return a file's text with the entry; the same text if it has the entry already.

    Raises:
        UnmergeableConfig: it is not TOML, or the servers are not tables that can be replaced.
    """
    document = _parse_toml(text)
    servers = document.setdefault(section, {})
    if not isinstance(servers, dict):
        raise UnmergeableConfig(f"{section!r} is not a table in it")
    merged = merge_entry(servers.get(name), entry)
    if servers.get(name) == merged:
        return text
    kept = _without_table(text, f"[{section}.{_toml_key(name)}") if name in servers else text
    before = f"{kept.rstrip()}\n\n" if kept.strip() else ""
    rewritten = before + show_toml(section, name, merged)
    servers[name] = merged
    with suppress(UnmergeableConfig):
        if _parse_toml(rewritten) == document:
            return rewritten
    raise UnmergeableConfig(f"{section!r} is not written as one table for each server")


def _without_table(text: str, begin: str) -> str:
    """Return a text without a table and its subtables; comments after it belong to the next."""
    kept: list[str] = []
    after: list[str] = []
    is_within = False
    for line in text.splitlines(keepends=True):
        stripped = line.strip()
        if stripped.startswith("["):
            is_within = stripped == f"{begin}]" or stripped.startswith(f"{begin}.")
        if not is_within:
            kept += [*after, line]
            after.clear()
        elif not stripped or stripped.startswith("#"):
            after.append(line)
        else:
            after.clear()
    return "".join([*kept, *after])


def _parse_toml(text: str) -> ConfigEntry:
    import tomllib

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnmergeableConfig(f"it is not valid TOML ({error})") from None


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml_value(name)


def _toml_value(value: object) -> str:
    match value:
        case dict():
            pairs = (f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items())
            return f"{{ {', '.join(pairs)} }}"
        case list():
            return f"[{', '.join(map(_toml_value, value))}]"
        case datetime() | date() | time():
            raise UnmergeableConfig("the existing entry holds a date")
        case _:
            # TOML reads the strings that JSON writes.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

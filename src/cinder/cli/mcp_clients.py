"""MCP clients and their configuration files: entries merged into JSON and TOML."""

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from cinder.models.document import Json

ConfigEntry: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """A command that serves over stdio."""

    command: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> ConfigEntry:
        """How nearly all clients write it."""
        program, *arguments = self.command
        entry: ConfigEntry = {"command": program, "args": list[Json](arguments)}
        return entry | ({"env": dict[str, Json](self.variables)} if self.variables else {})


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A server that runs already, and the token that opens it."""

    url: str
    token: str | None

    def entry(self, url_key: str = "url", headers_key: str = "headers") -> ConfigEntry:
        """Return the entry, by the names that a client has for its two parts."""
        entry: ConfigEntry = {url_key: self.url}
        return entry | ({headers_key: self.headers} if self.token else {})

    @property
    def headers(self) -> ConfigEntry:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


ConnectionTarget: TypeAlias = LaunchCommand | ServerUrl


# What says how a server is reached, in any client's words.
_CONNECTION_KEYS = frozenset(
    {"type", "command", "args", "env", "url", "serverUrl", "httpUrl", "headers", "http_headers"}
)


def merge_entry(existing: object, entry: ConfigEntry) -> ConfigEntry:
    """Return an entry that takes an existing one's place, with what was added to that.

    Variables count as added where the same is started as before.
    """
    if not isinstance(existing, dict):
        return entry
    added: ConfigEntry = {
        key: value for key, value in existing.items() if key not in _CONNECTION_KEYS
    }
    variables, given = existing.get("env"), entry.get("env", {})
    is_same_start = "args" in entry and existing.get("args") == entry["args"]
    if is_same_start and isinstance(variables, dict) and isinstance(given, dict):
        added["env"] = variables | given
    return entry | added


class UnmergeableConfig(Exception):
    """The file holds what would be lost if it were written anew; the message says what."""


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
class McpClient:
    """A client: what people call it, its file, and the form of an entry in it."""

    title: str
    file: Callable[[], Path]
    section: str
    """The key under which servers stand, by name."""
    write: Callable[[ConnectionTarget], ConfigEntry]
    """What stands there for one."""
    advice: str
    """What makes the client read the file."""


def is_loopback_url(url: str) -> bool:
    """Whether a URL leads to this machine itself."""
    return urlsplit(url).hostname in _LOOPBACK


def _home(*parts: str) -> Callable[[], Path]:
    return lambda: Path.home().joinpath(*parts)


def _app_data(*parts: str, mac: str = "Library/Application Support") -> Callable[[], Path]:
    folders = {"darwin": mac, "win32": "AppData/Roaming"}
    return lambda: Path.home().joinpath(folders.get(sys.platform, ".config"), *parts)


def _plain_entry(target: ConnectionTarget) -> ConfigEntry:
    return target.entry if isinstance(target, LaunchCommand) else target.entry()


def _typed_entry(target: ConnectionTarget) -> ConfigEntry:
    kind = "stdio" if isinstance(target, LaunchCommand) else "http"
    return {"type": kind} | _plain_entry(target)


def _by_server_url(target: ConnectionTarget) -> ConfigEntry:
    return target.entry if isinstance(target, LaunchCommand) else target.entry("serverUrl")


def _by_http_url(target: ConnectionTarget) -> ConfigEntry:
    return target.entry if isinstance(target, LaunchCommand) else target.entry("httpUrl")


def _for_codex(target: ConnectionTarget) -> ConfigEntry:
    if isinstance(target, LaunchCommand):
        return target.entry
    return target.entry(headers_key="http_headers")


def _for_claude_desktop(target: ConnectionTarget) -> ConfigEntry:
    """Return an entry for a file that knows commands alone: a bridge leads to a URL."""
    return target.entry if isinstance(target, LaunchCommand) else _bridge(target)


def _bridge(address: ServerUrl) -> ConfigEntry:
    arguments = ["-y", "mcp-remote", address.url]
    if address.url.startswith("http:") and not is_loopback_url(address.url):
        arguments.append("--allow-http")
    entry: ConfigEntry = {"command": "npx", "args": list[Json](arguments)}
    if address.token:
        # Not within the argument itself: on some systems one with a space is torn apart.
        arguments += ["--header", "Authorization:${AUTHORIZATION}"]
        headers = address.headers
        entry |= {"args": list[Json](arguments), "env": {"AUTHORIZATION": headers["Authorization"]}}
    return entry


_RESTART = "Restart it to connect."

CLIENTS: Mapping[ClientName, McpClient] = MappingProxyType(
    {
        ClientName.CLAUDE_DESKTOP: McpClient(
            "Claude Desktop",
            _app_data("Claude", "claude_desktop_config.json"),
            "mcpServers",
            _for_claude_desktop,
            "Quit and open it again to connect.",
        ),
        ClientName.CLAUDE_CODE: McpClient(
            "Claude Code", _home(".claude.json"), "mcpServers", _typed_entry, "`/mcp` shows it."
        ),
        ClientName.CURSOR: McpClient(
            "Cursor", _home(".cursor", "mcp.json"), "mcpServers", _plain_entry, _RESTART
        ),
        ClientName.VS_CODE: McpClient(
            "VS Code",
            _app_data("Code", "User", "mcp.json"),
            "servers",
            _typed_entry,
            "`MCP: List Servers` starts it.",
        ),
        ClientName.CODEX: McpClient(
            "Codex", _home(".codex", "config.toml"), "mcp_servers", _for_codex, "`/mcp` shows it."
        ),
        ClientName.WINDSURF: McpClient(
            "Windsurf",
            _home(".codeium", "windsurf", "mcp_config.json"),
            "mcpServers",
            _by_server_url,
            "Refresh the list of servers to connect.",
        ),
        ClientName.ZED: McpClient(
            "Zed",
            _app_data("zed", "settings.json", mac=".config"),
            "context_servers",
            _plain_entry,
            "The agent panel's settings show it.",
        ),
        ClientName.GEMINI: McpClient(
            "Gemini CLI",
            _home(".gemini", "settings.json"),
            "mcpServers",
            _by_http_url,
            "`/mcp` shows it.",
        ),
    }
)


# It may hold a token.
_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The file of a client; where the path is a link, what it leads to."""

    path: Path

    def read(self) -> str:
        """Return its text, nothing where there is no file.

        Raises:
            CannotKeep: it is not text.
        """
        try:
            # Line ends stay what they are.
            return self.path.read_bytes().decode()
        except FileNotFoundError:
            return ""
        except UnicodeDecodeError:
            raise UnmergeableConfig("it is not UTF-8") from None

    def replace(self, text: str) -> Path | None:
        """Write the file anew; return where what it held before is kept, None if there was none."""
        target = self.path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(target) if target.exists() else None
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


def _back_up(path: Path) -> Path:
    """Copy a file beside itself, under a name that nothing has yet."""
    stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"
    backup = path.with_name(f"{path.name}.{stamp}.bak")
    shutil.copy2(path, backup)
    return backup


_FIRST_INDENT = re.compile(r"\{\r?\n([ \t]+)\"")


def show_json(section: str, name: str, entry: ConfigEntry) -> str:
    """Return the entry as a file of its own would have it."""
    return json.dumps({section: {name: entry}}, indent=2, ensure_ascii=False) + "\n"


def merge_json(text: str, section: str, name: str, entry: ConfigEntry) -> str:
    """Return a file's text with the entry; the very same text where that stands in it already.

    Raises:
        CannotKeep: not all that the text holds would stand in it afterwards.
    """
    document = _parse_json(text)
    servers = document.setdefault(section, {})
    if not isinstance(servers, dict):
        raise UnmergeableConfig(f"{section!r} is not an object in it")
    renewed = merge_entry(servers.get(name), entry)
    if servers.get(name) == renewed:
        return text
    servers[name] = renewed
    found = _FIRST_INDENT.match(text)
    return json.dumps(document, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def _parse_json(text: str) -> ConfigEntry:
    if not text.strip():
        return {}
    try:
        document = json.loads(text, object_pairs_hook=_refuse_repeated_keys)
    except ValueError as error:
        raise UnmergeableConfig(
            f"it is not plain JSON ({error}), and comments would be lost if it were written anew"
        ) from None
    except RecursionError:
        raise UnmergeableConfig("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise UnmergeableConfig("it does not hold a JSON object")
    return document


def _refuse_repeated_keys(pairs: list[tuple[str, Json]]) -> ConfigEntry:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise UnmergeableConfig("a key stands twice in the same object")
    return found


_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def show_toml(section: str, name: str, entry: ConfigEntry) -> str:
    """Return the entry as a table."""
    lines = [f"[{section}.{_toml_key(name)}]"]
    lines += [f"{_toml_key(key)} = {_toml_value(value)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"


def merge_toml(text: str, section: str, name: str, entry: ConfigEntry) -> str:
    """Return a file's text with the entry; the very same text where that stands in it already.

    Raises:
        CannotKeep: it is not written as tables that can be exchanged, or is no TOML.
    """
    before = _parse_toml(text)
    servers = before.setdefault(section, {})
    if not isinstance(servers, dict):
        raise UnmergeableConfig(f"{section!r} is not a table in it")
    renewed = merge_entry(servers.get(name), entry)
    if servers.get(name) == renewed:
        return text
    kept = _without_table(text, f"[{section}.{_toml_key(name)}") if name in servers else text
    before_it = f"{kept.rstrip()}\n\n" if kept.strip() else ""
    merged = before_it + show_toml(section, name, renewed)
    servers[name] = renewed
    try:
        is_right = _parse_toml(merged) == before
    except UnmergeableConfig:
        is_right = False
    if not is_right:
        raise UnmergeableConfig(f"{section!r} is not written as one table for each server")
    return merged


def _without_table(text: str, begin: str) -> str:
    """Return a text without a table and those beneath it; comments after it belong to the next."""
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


def _parse_toml(text: str) -> dict[str, Any]:  # Any: what TOML holds, dates among it
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnmergeableConfig(f"it is not valid TOML ({error})") from None


def _toml_key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _toml_value(name)


def _toml_value(value: object) -> str:
    match value:
        case dict():
            pairs = (f"{_toml_key(key)} = {_toml_value(each)}" for key, each in value.items())
            return f"{{ {_join_items(pairs)} }}"
        case list():
            return f"[{_join_items(map(_toml_value, value))}]"
        case datetime() | date() | time():
            raise UnmergeableConfig("a date stands among what is entered already")
        case _:
            # What JSON writes of a text, TOML reads as the same text.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _join_items(parts: Iterable[str]) -> str:
    return ", ".join(parts)

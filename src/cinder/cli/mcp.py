"""`cinder mcp` and `cinder mcp install`: MCP over stdio, and clients configured to use it."""

import json
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

import typer

from cinder.api.errors import EXIT_FAILURE
from cinder.cli.start_up import importing
from cinder.errors import InvalidRequest

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


CLIENTS: Mapping[ClientName, McpClient] = {
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


def read_config(path: Path) -> str:
    """Return the text of a client's file with its line ends; empty if there is no file.

    Raises:
        UnmergeableConfig: it is not UTF-8.
    """
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise UnmergeableConfig("it is not UTF-8") from None


def replace_config(path: Path, text: str) -> Path | None:
    """Replace the file, or the file that it links to; return the backup, None if it was new."""
    import shutil
    from tempfile import NamedTemporaryFile

    target = path.resolve()
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
            draft.unlink(missing_ok=True)
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


Toolsets = Annotated[
    str | None,
    typer.Option(
        help="Groups of MCP tools, by commas: all, core, scrape, search, crawl, extract, text."
    ),
]
Tools = Annotated[
    str | None, typer.Option(help="Single MCP tools, by commas, in addition to --toolsets.")
]
ReadOnly = Annotated[
    bool | None,
    typer.Option(
        "--read-only", help="Let MCP clients only read pages: no clicks, no typing, no scripts."
    ),
]


def tool_settings(
    toolsets: str | None, tools: str | None, read_only: bool | None
) -> dict[str, str | int]:
    """Return the server settings that these options override."""
    options = {"mcp_toolsets": toolsets, "mcp_tools": tools, "mcp_read_only": read_only}
    return {name: value for name, value in options.items() if value is not None}


def mcp(
    context: typer.Context,
    toolsets: Toolsets = None,
    tools: Tools = None,
    read_only: ReadOnly = None,
) -> None:
    """Serve MCP over stdio, for a client that starts cinder itself."""
    if context.invoked_subcommand is not None:
        return
    with importing():
        from cinder.config.settings import read_settings
        from cinder.logs import configure_logs
        from cinder.mcp.server import serve_stdio

    overrides = tool_settings(toolsets, tools, read_only)
    settings = read_settings(**({"server": overrides} if overrides else {}))
    configure_logs(settings.log.level)
    serve_stdio(settings)


def install(
    client: Annotated[ClientName, typer.Option(help="The client to set up.")],
    url: Annotated[
        str | None,
        typer.Option(help="A running server; without one the client starts cinder itself."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(help="The server's token; the owner's if it runs on this machine."),
    ] = None,
    env: Annotated[
        list[str],
        typer.Option(help="NAME=VALUE for the cinder that the client starts; repeatable."),
    ] = [],  # noqa: B006 - read only
    name: Annotated[str, typer.Option(help="The server's name in the client.")] = "cinder",
    file: Annotated[
        Path | None, typer.Option(help="The client's file, if not in its usual place.")
    ] = None,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what to enter, and write nothing.")
    ] = False,
) -> None:
    """Enter cinder in an MCP client's file; all else in it is kept, and a backup made."""
    chosen = CLIENTS[client]
    entry = chosen.entry(_target(url, token, env))
    path = file or chosen.file()
    is_toml = path.suffix == ".toml"
    merge, show = (merge_toml, show_toml) if is_toml else (merge_json, show_json)
    if print_only:
        print(f"For {chosen.title}, in {path}:", file=sys.stderr)
        print(show(chosen.section, name, entry), end="")
        return
    try:
        text = read_config(path)
        merged = merge(text, chosen.section, name, entry)
    except UnmergeableConfig as reason:
        message = f"cinder: {path} was left as it is: {reason}. Enter this by hand:"
        print(message, file=sys.stderr)
        print(show(chosen.section, name, entry), end="")
        raise typer.Exit(EXIT_FAILURE) from None
    if merged == text:
        print(f"{path} has it already. {chosen.advice}")
        return
    backup = replace_config(path, merged)
    was = f" What it held before is in {backup}." if backup else ""
    print(f"Entered {name} for {chosen.title} in {path}.{was} {chosen.advice}")


def _target(url: str | None, token: str | None, env: list[str]) -> ConnectionTarget:
    if url is None:
        if token is not None:
            raise InvalidRequest.at(
                "--token", "Only a running server takes a token: give its --url"
            )
        variables = {}
        for variable in env:
            name, sign, value = variable.partition("=")
            if not name or not sign:
                raise InvalidRequest.at("--env", f"Write NAME=VALUE, not {name!r}")
            variables[name] = value
        script = Path(sys.executable).with_name("cinder")
        program = (str(script),) if script.exists() else (sys.executable, "-m", "cinder")
        return LaunchCommand((*program, "mcp"), variables)
    if env:
        raise InvalidRequest.at("--env", "A running server has its own: --env goes without --url")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest.at("--url", "Give the whole address: http://127.0.0.1:8000/mcp")
    if parts.path in ("", "/"):
        url = parts._replace(path="/mcp").geturl()
    if not token and is_loopback_url(url):
        # The owner's token is known for servers on this machine only.
        from cinder.config.settings import read_settings
        from cinder.server.local_access import find_token

        token = find_token(read_settings())
    return ServerUrl(url, token or None)


mcp_commands = typer.Typer(invoke_without_command=True)
mcp_commands.callback()(mcp)
mcp_commands.command()(install)

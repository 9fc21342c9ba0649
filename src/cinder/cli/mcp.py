"""`cinder mcp` and `cinder mcp install`: MCP over stdio, and MCP clients set up to use it."""

import gc
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from cinder.api.errors import EXIT_FAILURE
from cinder.cli.mcp_clients import (
    CLIENTS,
    ClientName,
    ConfigEntry,
    ConfigFile,
    ConnectionTarget,
    LaunchCommand,
    McpClient,
    ServerUrl,
    UnmergeableConfig,
    is_loopback_url,
    merge_json,
    merge_toml,
    show_json,
    show_toml,
)
from cinder.errors import FieldProblem, InvalidRequest

Toolsets = Annotated[
    str | None,
    typer.Option(
        help="Groups of MCP tools, by commas: default, scrape, search, crawl, extract, text, all."
    ),
]
Tools = Annotated[
    str | None, typer.Option(help="Single MCP tools, by commas, beside those of --toolsets.")
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
    """Return the server's settings that these options override."""
    given = {"mcp_toolsets": toolsets, "mcp_tools": tools, "mcp_read_only": read_only}
    return {name: value for name, value in given.items() if value is not None}


def mcp(
    context: typer.Context,
    toolsets: Toolsets = None,
    tools: Tools = None,
    read_only: ReadOnly = None,
) -> None:
    """Serve MCP over stdio, for a client that starts cinder itself."""
    if context.invoked_subcommand is not None:
        return
    # Importing makes a great many objects and frees few: without the collector looking through
    # them again and again, start-up takes a fifth less time.
    gc.disable()
    from cinder.config import read_settings
    from cinder.logs import configure_logs
    from cinder.mcp.server import serve_stdio

    gc.enable()
    overrides = tool_settings(toolsets, tools, read_only)
    settings = read_settings(**({"server": overrides} if overrides else {}))
    configure_logs(settings.log.level)
    serve_stdio(settings)


def install(
    client: Annotated[ClientName, typer.Option(help="The client to set up.")],
    url: Annotated[
        str | None,
        typer.Option(help="A server that runs; without one the client starts cinder itself."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(help="What opens the server; the owner's where it is on this machine."),
    ] = None,
    env: Annotated[
        list[str],
        typer.Option(help="NAME=VALUE for the cinder that the client starts; several."),
    ] = [],  # noqa: B006 - read only
    name: Annotated[str, typer.Option(help="What the client calls the server.")] = "cinder",
    file: Annotated[
        Path | None, typer.Option(help="The client's file, where it is not at its usual place.")
    ] = None,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what to enter, and write nothing.")
    ] = False,
) -> None:
    """Enter cinder in an MCP client's file; all else in it is kept, and a backup made."""
    chosen = CLIENTS[client]
    entry = chosen.write(_target(url, token, env))
    config = ConfigFile(file or chosen.file())
    if print_only:
        _print_error(f"For {chosen.title}, in {config.path}:")
        print(_show(config, chosen, name, entry), end="")
        return
    try:
        text = config.read()
        merged = _merge(config, text, chosen, name, entry)
    except UnmergeableConfig as reason:
        _print_error(f"cinder: {config.path} was left as it is: {reason}. Enter this by hand:")
        print(_show(config, chosen, name, entry), end="")
        raise typer.Exit(EXIT_FAILURE) from None
    if merged == text:
        print(f"{config.path} has it already. {chosen.advice}")
        return
    backup = config.replace(merged)
    was = f" What it held before is in {backup}." if backup else ""
    print(f"Entered {name} for {chosen.title} in {config.path}.{was} {chosen.advice}")


def _target(url: str | None, token: str | None, env: list[str]) -> ConnectionTarget:
    if url is None:
        if token is not None:
            raise _invalid_option(
                "--token", "Only a server that runs takes a token: give its --url"
            )
        return LaunchCommand(_own_command(), _variables(env))
    if env:
        raise _invalid_option("--env", "A server that runs has its own: --env goes without --url")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _invalid_option("--url", "Give the whole address: http://127.0.0.1:8000/mcp")
    if parts.path in ("", "/"):
        url = parts._replace(path="/mcp").geturl()
    return ServerUrl(url, token or _owners_token(url))


def _own_command() -> tuple[str, ...]:
    """Return what starts this cinder from anywhere."""
    script = Path(sys.executable).with_name("cinder")
    return (str(script), "mcp") if script.exists() else (sys.executable, "-m", "cinder", "mcp")


def _owners_token(url: str) -> str | None:
    """Return the owner's token for a server on this machine; another's is not known here."""
    if not is_loopback_url(url):
        return None
    from cinder.config import read_settings
    from cinder.server.local_access import find_token

    return find_token(read_settings())


def _variables(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise _invalid_option("--env", f"Write NAME=VALUE, not {name!r}")
    return {name: value for name, _, value in pairs}


def _merge(config: ConfigFile, text: str, client: McpClient, name: str, entry: ConfigEntry) -> str:
    merge = merge_toml if config.path.suffix == ".toml" else merge_json
    return merge(text, client.section, name, entry)


def _show(config: ConfigFile, client: McpClient, name: str, entry: ConfigEntry) -> str:
    show = show_toml if config.path.suffix == ".toml" else show_json
    return show(client.section, name, entry)


def _invalid_option(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(problems=(FieldProblem(field, message),))


def _print_error(line: str) -> None:
    print(line, file=sys.stderr)


mcp_commands = typer.Typer(invoke_without_command=True)
mcp_commands.callback()(mcp)
mcp_commands.command()(install)

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
    ConfigFile,
    ConnectionTarget,
    LaunchCommand,
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
    # Imports create many objects and free few: without garbage collection, start-up takes a fifth
    # less time.
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
    config = ConfigFile(file or chosen.file())
    is_toml = config.path.suffix == ".toml"
    merge, show = (merge_toml, show_toml) if is_toml else (merge_json, show_json)
    if print_only:
        print(f"For {chosen.title}, in {config.path}:", file=sys.stderr)
        print(show(chosen.section, name, entry), end="")
        return
    try:
        text = config.read()
        merged = merge(text, chosen.section, name, entry)
    except UnmergeableConfig as reason:
        message = f"cinder: {config.path} was left as it is: {reason}. Enter this by hand:"
        print(message, file=sys.stderr)
        print(show(chosen.section, name, entry), end="")
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
            message = "Only a running server takes a token: give its --url"
            raise _invalid_option("--token", message)
        variables = {}
        for variable in env:
            name, sign, value = variable.partition("=")
            if not name or not sign:
                raise _invalid_option("--env", f"Write NAME=VALUE, not {name!r}")
            variables[name] = value
        script = Path(sys.executable).with_name("cinder")
        program = (str(script),) if script.exists() else (sys.executable, "-m", "cinder")
        return LaunchCommand((*program, "mcp"), variables)
    if env:
        raise _invalid_option("--env", "A running server has its own: --env goes without --url")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _invalid_option("--url", "Give the whole address: http://127.0.0.1:8000/mcp")
    if parts.path in ("", "/"):
        url = parts._replace(path="/mcp").geturl()
    if not token and is_loopback_url(url):
        # The owner's token is known for servers on this machine only.
        from cinder.config import read_settings
        from cinder.server.local_access import find_token

        token = find_token(read_settings())
    return ServerUrl(url, token or None)


def _invalid_option(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(problems=(FieldProblem(field, message),))


mcp_commands = typer.Typer(invoke_without_command=True)
mcp_commands.callback()(mcp)
mcp_commands.command()(install)

"""The command: which client, which form, and what it says of what it did."""

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from cinder.errors import FieldProblem, InvalidRequest
from cinder.surfaces.cli.install.base import Address, CannotKeep, Entry, Launch, Target
from cinder.surfaces.cli.install.clients import CLIENTS, Client, ClientName, is_on_this_machine
from cinder.surfaces.cli.install.config_file import ConfigFile
from cinder.surfaces.cli.install.json_text import merge_json, show_json
from cinder.surfaces.cli.install.toml_text import merge_toml, show_toml
from cinder.surfaces.errors import EXIT_FAILURE


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
        _say(f"For {chosen.title}, in {config.path}:")
        print(_show(config, chosen, name, entry), end="")
        return
    try:
        text = config.read()
        merged = _merge(config, text, chosen, name, entry)
    except CannotKeep as reason:
        _say(f"cinder: {config.path} was left as it is: {reason}. Enter this by hand:")
        print(_show(config, chosen, name, entry), end="")
        raise typer.Exit(EXIT_FAILURE) from None
    if merged == text:
        print(f"{config.path} has it already. {chosen.advice}")
        return
    backup = config.replace(merged)
    was = f" What it held before is in {backup}." if backup else ""
    print(f"Entered {name} for {chosen.title} in {config.path}.{was} {chosen.advice}")


def _target(url: str | None, token: str | None, env: list[str]) -> Target:
    if url is None:
        if token is not None:
            raise _wrong("--token", "Only a server that runs takes a token: give its --url")
        return Launch(_own_command(), _variables(env))
    if env:
        raise _wrong("--env", "A server that runs has its own: --env goes without --url")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise _wrong("--url", "Give the whole address: http://127.0.0.1:8000/mcp")
    if parts.path in ("", "/"):
        url = parts._replace(path="/mcp").geturl()
    return Address(url, token or _owners_token(url))


def _own_command() -> tuple[str, ...]:
    """Return what starts this cinder from anywhere."""
    script = Path(sys.executable).with_name("cinder")
    return (str(script), "mcp") if script.exists() else (sys.executable, "-m", "cinder", "mcp")


def _owners_token(url: str) -> str | None:
    """Return the owner's token for a server on this machine; another's is not known here."""
    if not is_on_this_machine(url):
        return None
    from cinder.config import read_settings
    from cinder.surfaces.token import find_token

    return find_token(read_settings())


def _variables(given: list[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for name, sign, _ in pairs:
        if not name or not sign:
            raise _wrong("--env", f"Write NAME=VALUE, not {name!r}")
    return {name: value for name, _, value in pairs}


def _merge(config: ConfigFile, text: str, client: Client, name: str, entry: Entry) -> str:
    merge = merge_toml if config.path.suffix == ".toml" else merge_json
    return merge(text, client.section, name, entry)


def _show(config: ConfigFile, client: Client, name: str, entry: Entry) -> str:
    show = show_toml if config.path.suffix == ".toml" else show_json
    return show(client.section, name, entry)


def _wrong(field: str, message: str) -> InvalidRequest:
    return InvalidRequest(problems=(FieldProblem(field, message),))


def _say(line: str) -> None:
    print(line, file=sys.stderr)

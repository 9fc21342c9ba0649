"""`cinder mcp` as a command that serves, and as the group of those that set clients up."""

import typer

from cinder.surfaces.cli.install import install
from cinder.surfaces.cli.mcp import mcp

mcp_commands = typer.Typer(invoke_without_command=True)
mcp_commands.callback()(mcp)
mcp_commands.command()(install)

"""`cinder mcp`: the MCP server over standard input and output."""

import gc

import typer

from cinder.surfaces.cli.tool_choice import ReadOnly, Tools, Toolsets, chosen


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
    from cinder.surfaces.logs import set_up_logs
    from cinder.surfaces.mcp.stdio import serve_stdio

    gc.enable()
    overrides = chosen(toolsets, tools, read_only)
    settings = read_settings(**({"server": overrides} if overrides else {}))
    set_up_logs(settings.log.level)
    serve_stdio(settings)

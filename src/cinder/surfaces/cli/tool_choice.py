"""The options that choose which tools MCP clients get, alike for `mcp` and `serve`."""

from typing import Annotated

import typer

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


def chosen(toolsets: str | None, tools: str | None, read_only: bool | None) -> dict[str, str | int]:
    """Return the server's settings that these options override."""
    given = {"mcp_toolsets": toolsets, "mcp_tools": tools, "mcp_read_only": read_only}
    return {name: value for name, value in given.items() if value is not None}

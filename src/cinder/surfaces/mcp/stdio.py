"""MCP over standard input and output, for a client that starts cinder itself."""

import asyncio
import signal

from mcp.server.stdio import stdio_server

from cinder.app import open_app
from cinder.config import Settings
from cinder.surfaces.mcp.server import build_server
from cinder.surfaces.mcp.toolsets import check_selection


def serve_stdio(settings: Settings) -> None:
    """Serve until standard input ends or Ctrl-C. Logs must already go to standard error.

    Raises:
        SettingsError: they choose tools that there are not.
    """
    check_selection(settings.server)
    # Nothing can interrupt the thread that reads a line, so an orderly end would wait for one more.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> None:
    async with (
        open_app(settings, works_on_jobs=True) as app,
        stdio_server() as (incoming, outgoing),
    ):
        server = build_server(app)
        await server.run(incoming, outgoing, server.create_initialization_options())

"""MCP over standard input and output, for a client that starts cinder itself."""

import asyncio
import signal

import structlog
from mcp.server.stdio import stdio_server

from cinder.app import open_app
from cinder.config import Settings
from cinder.surfaces.mcp.server import build_server
from cinder.surfaces.mcp.toolsets import check_selection

log = structlog.get_logger()


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
    async with open_app(settings, works_on_jobs=True) as app:
        server = build_server(app)
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        except* BrokenPipeError:
            # Whoever is killed reads no answers. What was begun is put down in good order.
            log.info("the client is gone")

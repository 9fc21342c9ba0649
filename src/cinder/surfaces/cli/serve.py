"""`cinder serve`: the HTTP server."""

from typing import Annotated, Any

import typer

from cinder import __version__


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
) -> None:
    """Serve REST, MCP and the API documentation over HTTP."""
    import uvicorn

    from cinder.app import open_app
    from cinder.config import Settings, read_settings
    from cinder.surfaces.http import create_api
    from cinder.surfaces.logs import set_up_logs
    from cinder.surfaces.token import TOKEN_FILE, find_token

    class AnnouncingServer(uvicorn.Server):
        """Says where it listens once it does."""

        async def startup(self, sockets: Any = None) -> None:  # Any: as the parent has it
            await super().startup(sockets)
            if self.started:
                actual = self.servers[0].sockets[0].getsockname()[1]
                _announce(settings, actual, find_token(settings), TOKEN_FILE)

    overrides: dict[str, str | int] = {}
    if host is not None:
        overrides["host"] = host
    if port is not None:
        overrides["port"] = port
    settings: Settings = read_settings(**({"server": overrides} if overrides else {}))
    set_up_logs(settings.log.level)
    config = uvicorn.Config(
        create_api(settings, open_app(settings)),
        host=settings.server.host,
        port=settings.server.port,
        http="httptools",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.server.shutdown_seconds,
    )
    server = AnnouncingServer(config)
    server.run()
    if not server.started:
        raise typer.Exit(1)


def _announce(settings: Any, port: int, token: str | None, token_file: str) -> None:
    url = f"http://{settings.server.host}:{port}"
    if token is None:
        shown = "none needed (server.auth is off)"
    elif settings.server.api_token is not None:
        shown = "as set by server.api-token"
    else:
        shown = f"{token}  (kept in {settings.data_dir / token_file})"
    print(
        f"cinder {__version__} listens on {url}\n"
        f"  MCP    {url}/mcp\n"
        f"  Docs   {url}/docs\n"
        f"  Token  {shown}",
        flush=True,
    )

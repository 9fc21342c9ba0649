"""`cinder serve`: the HTTP server."""

import asyncio
import errno
import logging
import os
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder import __version__
from cinder.errors import CinderError
from cinder.surfaces.cli.tool_choice import ReadOnly, Tools, Toolsets, chosen

if TYPE_CHECKING:
    from cinder.app import App
    from cinder.config import Settings
    from cinder.surfaces.cli.serve_workers import WorkerPlace


# How long everything may take to close once requests have ended or were cut off.
CLOSING_SECONDS = 15
ACCEPTED_AT_ONCE = 64
QUEUED_CONNECTIONS = 2048


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    toolsets: Toolsets = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes that serve, behind the one port.")
    ] = None,
    tools: Tools = None,
    read_only: ReadOnly = None,
) -> None:
    """Serve REST, MCP and the API documentation over HTTP."""
    import structlog

    from cinder.config import read_settings, unknown_variables
    from cinder.surfaces.logs import set_up_logs

    given = {"host": host, "port": port, "workers": workers}
    overrides = {name: value for name, value in given.items() if value is not None}
    overrides |= chosen(toolsets, tools, read_only)
    settings = read_settings(**({"server": overrides} if overrides else {}))
    set_up_logs(settings.log.level)
    for name in unknown_variables():
        structlog.get_logger().warning("not a setting of this version", variable=name)
    if settings.server.workers > 1:
        _serve_with_workers(settings)
    else:
        _serve(settings)


def _serve_with_workers(settings: "Settings") -> None:
    from cinder.config import SettingsError
    from cinder.surfaces.token import find_token

    if not hasattr(os, "fork"):
        raise SettingsError("server.workers: this system cannot fork processes; use one worker")
    from cinder.surfaces.cli.serve_workers import BACKLOG, serve_with_workers
    from cinder.surfaces.cli.shared_listener import listen

    token = find_token(settings)
    stop_seconds = settings.server.shutdown_seconds + CLOSING_SECONDS
    announce = partial(_announce, settings, token=token)
    try:
        listeners = listen(settings.server.host, settings.server.port, BACKLOG)
    except OSError as error:
        raise _cannot_listen(settings, error) from None
    sys.exit(serve_with_workers(settings, listeners, _serve, announce, stop_seconds=stop_seconds))


def _serve(settings: "Settings", place: "WorkerPlace | None" = None) -> None:
    """Serve until told to stop, as the only process or as one of several."""
    from cinder.app import open_app
    from cinder.surfaces.http import create_api

    _set_priority(settings.server.nice)
    failures: list[Exception] = []
    works_on_jobs = settings.jobs.enabled_in_server
    group = place.group if place else None
    opening = open_app(settings, works_on_jobs=works_on_jobs, group=group)
    server = _make_server(settings, create_api(settings, _noting(opening, failures)), place)
    _note_startup_failures(settings, failures)
    try:
        server.run(place.sockets if place else None)
    except SystemExit:
        if failures:
            raise failures[0] from None
        raise


def _set_priority(nice: int) -> None:
    """Answer requests before pages are parsed and rendered, unless the owner chose a priority."""
    if hasattr(os, "setpriority") and os.getpriority(os.PRIO_PROCESS, 0) == 0:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, nice)


@asynccontextmanager
async def _noting(
    opening: "AbstractAsyncContextManager[App]", failures: list[Exception]
) -> "AsyncIterator[App]":
    """Keep the reason why cinder could not start, to be told in one line at the end."""
    is_open = False
    try:
        async with opening as app:
            is_open = True
            yield app
    except (CinderError, OSError, ValueError) as error:
        if not is_open:
            failures.append(error)
        raise


def _note_startup_failures(settings: "Settings", failures: list[Exception]) -> None:
    """Keep the server from logging why it could not start: the one line is told after it."""

    def is_wanted(record: logging.LogRecord) -> bool:
        # An address that cannot be listened on is told by the log alone, as the error itself.
        logged: object = record.msg
        if isinstance(logged, OSError):
            failures.append(_cannot_listen(settings, logged))
            return False
        message = record.getMessage()
        return "Traceback" not in message and not message.startswith("Application startup failed")

    logging.getLogger("uvicorn.error").addFilter(is_wanted)


def _cannot_listen(settings: "Settings", error: OSError) -> OSError:
    address = f"{settings.server.host}:{settings.server.port}"
    if error.errno == errno.EADDRINUSE:
        advice = "Stop what listens there, or choose another with --port"
        return OSError(error.errno, f"{address} is in use. {advice}")
    advice = "Choose another address with --host and --port"
    return OSError(error.errno, f"Cannot listen on {address}: {error.strerror}. {advice}")


# Any: the server is imported when used.
def _make_server(settings: "Settings", api: Any, place: "WorkerPlace | None") -> Any:
    import uvicorn

    from cinder.surfaces.bounded_heads import bounded_protocol
    from cinder.surfaces.cli.collector import spare_what_stays
    from cinder.surfaces.cli.open_files import fit_connections
    from cinder.surfaces.cli.stopping import end_by_signal, end_unless_done
    from cinder.surfaces.server_mark import marked
    from cinder.surfaces.token import find_token

    mark = ExitStack()
    app = api
    if place is not None:
        from cinder.surfaces.worker_routing import WorkerRouting

        app = WorkerRouting(api, place.group)

    class AnnouncingServer(uvicorn.Server):
        """Says where it listens once it does."""

        async def startup(self, sockets: Any = None) -> None:  # Any: as the parent has it
            await super().startup(sockets)
            if self.started:
                _lengthen_queues(self.servers)
                spare_what_stays()
                if place is not None:
                    place.tell_listening()
                    return
                actual = self.servers[0].sockets[0].getsockname()[1]
                mark.enter_context(marked(settings.data_dir, actual))
                _announce(settings, actual, token=find_token(settings))

        async def shutdown(self, sockets: Any = None) -> None:  # Any: as the parent has it
            api.state.stopping.set()
            mark.close()
            giving_up = end_unless_done(settings.server.shutdown_seconds + CLOSING_SECONDS)
            await super().shutdown(sockets)
            giving_up.cancel()

        def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002  # Any: the same
            # Not as the parent does it, who has the process die of the signal in the end: a stop
            # that was asked for and went well is a success.
            if self.should_exit:
                end_by_signal(sig)
            self.should_exit = True

    max_connections = fit_connections(settings.server.max_connections, ACCEPTED_AT_ONCE)
    config = uvicorn.Config(
        app,
        host=settings.server.host,
        port=settings.server.port,
        http=bounded_protocol(settings.server, max_connections, api.state.load_shedder),
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        lifespan="on",
        # Not uvloop: libuv ends the process when curl closes a socket that it watches.
        loop="asyncio",
        proxy_headers=bool(settings.server.trusted_proxies),
        forwarded_allow_ips=list(settings.server.trusted_proxies),
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=settings.server.shutdown_seconds,
    )
    return AnnouncingServer(config)


def _lengthen_queues(servers: "Iterable[asyncio.Server]") -> None:
    """Let the kernel hold more connections than the event loop accepts in one go.

    The loop takes one number for both: a short queue drops connections, and a long one keeps
    requests waiting while all of it is accepted.
    """
    for server in servers:
        for listener in server.sockets:
            with listener.dup() as listening:
                listening.listen(QUEUED_CONNECTIONS)


def _announce(settings: "Settings", port: int, *, token: str | None) -> None:
    from cinder.surfaces.token import TOKEN_FILE

    url = f"http://{settings.server.host}:{port}"
    if token is None:
        shown = "none needed (server.auth is off)"
    elif settings.server.api_token is not None:
        shown = "as set by server.api-token"
    else:
        shown = f"{token}  (kept in {settings.data_dir / TOKEN_FILE})"
    print(
        f"cinder {__version__} listens on {url}\n"
        f"  MCP    {url}/mcp\n"
        f"  Docs   {url}/docs\n"
        f"  Token  {shown}",
        flush=True,
    )

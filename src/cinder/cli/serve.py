"""`cinder serve` and `cinder worker`: processes that run until they are stopped."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cinder import __version__
from cinder.cli.mcp import ReadOnly, Tools, Toolsets, tool_settings
from cinder.cli.start_up import importing
from cinder.errors import CinderError

if TYPE_CHECKING:
    from cinder.app.composition import App
    from cinder.config.settings import Settings
    from cinder.server.workers import WorkerContext

# The timeout for closing everything after the last request has ended or was cancelled.
CLOSING_SECONDS = 15
ACCEPTED_AT_ONCE = 64
QUEUED_CONNECTIONS = 2048


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on.")] = None,
    toolsets: Toolsets = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of server processes behind the one port.")
    ] = None,
    tools: Tools = None,
    read_only: ReadOnly = None,
) -> None:
    """Serve REST, MCP and the API documentation over HTTP."""
    options = {"host": host, "port": port, "workers": workers}
    overrides = {name: value for name, value in options.items() if value is not None}
    overrides |= tool_settings(toolsets, tools, read_only)
    settings = _read_settings(**({"server": overrides} if overrides else {}))
    if settings.server.workers > 1:
        _serve_with_workers(settings)
    else:
        _serve(settings)


def _read_settings(**overrides: Any) -> "Settings":  # Any: sections of settings
    """Read the settings and configure logs; warn of unknown environment variables."""
    import structlog

    from cinder.config.settings import read_settings, unknown_variables
    from cinder.logs import configure_logs

    settings = read_settings(**overrides)
    configure_logs(settings.log.level)
    for name in unknown_variables():
        structlog.get_logger().warning("not a setting of this version", variable=name)
    return settings


def _serve_with_workers(settings: "Settings") -> None:
    from cinder.errors import SettingsError
    from cinder.server.local_access import find_token

    if not hasattr(os, "fork"):
        raise SettingsError("server.workers: this system cannot fork processes; use one worker")
    from cinder.server.shared_listener import listen
    from cinder.server.workers import BACKLOG, serve_with_workers

    token = find_token(settings)
    stop_seconds = settings.server.shutdown_seconds + CLOSING_SECONDS
    announce = partial(_announce, settings, token=token)
    try:
        listeners = listen(settings.server.host, settings.server.port, BACKLOG)
    except OSError as error:
        raise _cannot_listen(settings, error) from None
    sys.exit(serve_with_workers(settings, listeners, _serve, announce, stop_seconds=stop_seconds))


def _serve(settings: "Settings", worker: "WorkerContext | None" = None) -> None:
    """Serve until stopped, as the only process or as one of several workers."""
    import logging

    with importing():
        from cinder.server.asgi import create_app

    # Requests are answered before pages are parsed and rendered, unless the owner chose a priority.
    if hasattr(os, "setpriority") and os.getpriority(os.PRIO_PROCESS, 0) == 0:
        with suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, settings.server.nice)
    failures: list[Exception] = []
    opening = _open_app(settings, worker, failures)
    server = _make_server(settings, create_app(settings, opening), worker)

    def is_wanted(record: logging.LogRecord) -> bool:
        # Uvicorn only logs that it cannot listen: the message is the error itself.
        logged: object = record.msg
        if isinstance(logged, OSError):
            failures.append(_cannot_listen(settings, logged))
            return False
        message = record.getMessage()
        return "Traceback" not in message and not message.startswith("Application startup failed")

    # Why the server cannot start is printed as one line at the end.
    logging.getLogger("uvicorn.error").addFilter(is_wanted)
    try:
        server.run(worker.sockets if worker else None)
    except SystemExit:
        if failures:
            raise failures[0] from None
        raise


@asynccontextmanager
async def _open_app(
    settings: "Settings", worker: "WorkerContext | None", failures: list[Exception]
) -> "AsyncIterator[App]":
    """Open cinder; record why it cannot start."""
    from cinder.app.composition import open_app

    group = worker.group if worker else None
    is_open = False
    try:
        async with open_app(
            settings, works_on_jobs=settings.jobs.enabled_in_server, group=group
        ) as app:
            is_open = True
            yield app
    except (CinderError, OSError, ValueError) as error:
        if not is_open:
            failures.append(error)
        raise


def _cannot_listen(settings: "Settings", error: OSError) -> OSError:
    from errno import EADDRINUSE

    address = f"{settings.server.host}:{settings.server.port}"
    if error.errno == EADDRINUSE:
        advice = "Stop what listens there, or choose another with --port"
        return OSError(error.errno, f"{address} is in use. {advice}")
    advice = "Choose another address with --host and --port"
    return OSError(error.errno, f"Cannot listen on {address}: {error.strerror}. {advice}")


# Any: the server is imported when used.
def _make_server(settings: "Settings", api: Any, worker: "WorkerContext | None") -> Any:
    import uvicorn

    from cinder.server.local_access import find_token, hold_port_lock
    from cinder.server.process_control import (
        exit_after_timeout,
        exit_by_signal,
        fit_connections,
        freeze_startup_objects,
    )
    from cinder.server.request_limits import limited_protocol

    port_lock = ExitStack()
    app = api
    if worker is not None:
        from cinder.server.forwarding import WorkerRoutingMiddleware

        app = WorkerRoutingMiddleware(api, worker.group)

    class AnnouncingServer(uvicorn.Server):
        """Announces its address once it listens."""

        async def startup(self, sockets: Any = None) -> None:  # Any: the parent's type
            await super().startup(sockets)
            if not self.started:
                return
            # The event loop takes one number for the connections that it accepts at once and for
            # the kernel's queue: a short queue drops connections, and accepting many at once
            # delays requests. So the queue is lengthened here.
            for listener in (listener for server in self.servers for listener in server.sockets):
                with listener.dup() as listening:
                    listening.listen(QUEUED_CONNECTIONS)
            freeze_startup_objects()
            if worker is not None:
                worker.notify_listening()
                return
            port = self.servers[0].sockets[0].getsockname()[1]
            port_lock.enter_context(hold_port_lock(settings.data_dir, port))
            _announce(settings, port, token=find_token(settings))

        async def shutdown(self, sockets: Any = None) -> None:  # Any: the parent's type
            api.state.stopping.set()
            port_lock.close()
            giving_up = exit_after_timeout(settings.server.shutdown_seconds + CLOSING_SECONDS)
            await super().shutdown(sockets)
            giving_up.cancel()

        def handle_exit(self, sig: int, frame: Any) -> None:  # noqa: ARG002  # Any: the same
            # The parent has the process die of the signal in the end. Here, a graceful stop is a
            # success.
            if self.should_exit:
                exit_by_signal(sig)
            self.should_exit = True

    max_connections = fit_connections(settings.server.max_connections, ACCEPTED_AT_ONCE)
    config = uvicorn.Config(
        app,
        host=settings.server.host,
        port=settings.server.port,
        http=limited_protocol(settings.server, max_connections, api.state.load_shedder),
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


def _announce(settings: "Settings", port: int, *, token: str | None) -> None:
    from cinder.server.local_access import TOKEN_FILE

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


def worker() -> None:
    """Work on batches and crawls until stopped; any number of workers share PostgreSQL."""
    from cinder.app.composition import open_app
    from cinder.server.process_control import exit_by_signal, freeze_startup_objects

    settings = _read_settings()
    if settings.store_url.startswith("sqlite"):
        print(
            "This worker uses SQLite, so it can share jobs with processes of this machine alone. "
            "For a fleet set CINDER_STORE__URL to postgresql://….",
            file=sys.stderr,
        )
    is_stopped = asyncio.Event()

    def stop(number: int) -> None:
        if is_stopped.is_set():
            exit_by_signal(number)
        is_stopped.set()

    async def work() -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop, number)
        async with open_app(settings, works_on_jobs=True) as app:
            await app.start_parsers()
            freeze_startup_objects()
            print(f"cinder worker: works on up to {settings.jobs.slots} jobs at once", flush=True)
            await is_stopped.wait()
            if (task := asyncio.current_task()) is not None:
                loop.call_later(settings.server.shutdown_seconds, task.cancel)

    try:
        asyncio.run(work())
    except asyncio.CancelledError:
        # Other workers take over its jobs once their leases have expired.
        seconds = settings.server.shutdown_seconds
        print(f"Not everything had ended after {seconds} s; stopped all the same.", file=sys.stderr)
    print("cinder worker: stopped", flush=True)

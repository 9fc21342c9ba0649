"""Where commands run their work: on a running server over HTTP, or in this process."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from urllib.parse import quote

from cinder.errors import (
    CacheFailed,
    CinderError,
    ErrorCode,
    FieldProblem,
    InvalidRequest,
    Overloaded,
)
from cinder.models.job import JobKind
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.api.schemas.jobs import JobResponses
    from cinder.app.composition import App
    from cinder.config.settings import Settings
    from cinder.models.document import Json

PROBE_SECONDS = 3
RESPONSE_SECONDS = 60

_MAX_LISTED_JOBS = 100

T = TypeVar("T")

# Any, here and below: answers are JSON, the same from both job clients.
Answer = dict[str, Any]


def run_with_app(work: "Callable[[App], Awaitable[T]]") -> T:
    """Open cinder in this process, and return the result of `work` with it."""
    from cinder.app.composition import open_app
    from cinder.config.settings import read_settings

    async def run() -> T:
        async with open_app(read_settings()) as app:
            return await work(app)

    return asyncio.run(run())


def post_or_run(
    path: str,
    options: "Mapping[str, Json]",
    work: "Callable[[App], Awaitable[Answer]]",
    *,
    seconds: float = RESPONSE_SECONDS,
) -> Answer:
    """Return the running server's answer to a POST; without one, do the work in this process."""
    settings = read_quiet_settings()
    server, _ = find_server(settings)

    async def run() -> Answer:
        if server is not None:
            return dict(await server.ask("POST", path, options, seconds=seconds))
        from cinder.app.composition import open_app

        async with open_app(settings) as app:
            return await work(app)

    return asyncio.run(run())


def read_quiet_settings() -> "Settings":
    """Read the settings; where they log everything, log only warnings."""
    from cinder.config.settings import read_settings
    from cinder.logs import configure_logs

    settings = read_settings()
    configure_logs("warning" if settings.log.level == "info" else settings.log.level)
    return settings


def cancel_on_sigterm() -> None:
    """Cancel the current task on SIGTERM, as Ctrl-C does, so that it releases what it holds."""
    if (task := asyncio.current_task()) is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


@dataclass(frozen=True, slots=True)
class ServerClient:
    """A client of a running server, with its token."""

    host: str
    port: int
    token: str | None

    async def ask(
        self, method: str, path: str, body: object = None, *, seconds: float = RESPONSE_SECONDS
    ) -> Any:
        """Return the JSON of the server's response.

        Raises:
            CinderError: the server responded with this error, or did not respond.
        """
        from http.client import HTTPException

        try:
            status, answer = await asyncio.to_thread(
                self.send, method, path, body, timeout_seconds=seconds
            )
        except (OSError, HTTPException, ValueError) as error:
            raise Overloaded(
                f"The server on {self.host}:{self.port} does not answer: {error}. What was started "
                "there goes on once it runs again."
            ) from error
        if status >= 400:
            raise _error_from_answer(answer)
        return answer

    def send(
        self, method: str, path: str, body: object = None, *, timeout_seconds: float
    ) -> tuple[int, Any]:
        """Send one request; return the status and the JSON of the response."""
        from http.client import HTTPConnection

        connection = HTTPConnection(self.host, self.port, timeout=timeout_seconds)
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, body=content, headers=headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


def find_server(settings: "Settings") -> tuple[ServerClient | None, str]:
    """Return the server on the configured address, or None and why there is none to use."""
    import ipaddress
    from http import HTTPStatus
    from http.client import HTTPException

    from cinder.server.local_access import find_token

    server, host = settings.server, settings.server.host
    if not server.port:
        return None, "server.port names no port to look for a server on"
    with suppress(ValueError):  # a host name
        listening = ipaddress.ip_address(host)
        if listening.is_unspecified:
            # A server that listens on all addresses is reached on loopback.
            host = "127.0.0.1" if listening.version == 4 else "::1"
    client = ServerClient(host, server.port, find_token(settings))
    address = f"{host}:{server.port}"
    if not may_send_token(settings):
        return None, f"no server runs on {address}"
    try:
        status, answer = client.send("GET", "/readyz", timeout_seconds=PROBE_SECONDS)
    except ConnectionRefusedError:
        return None, f"no server runs on {address}"
    except TimeoutError:
        return None, f"nothing answers on {address} within {PROBE_SECONDS} seconds"
    except (OSError, HTTPException, ValueError):
        return None, f"something other than cinder answers on {address}"
    if status == HTTPStatus.UNAUTHORIZED:
        return None, f"the server on {address} wants another token"
    if not isinstance(answer, dict) or "parts" not in answer:
        return None, f"something other than cinder answers on {address}"
    return client, ""


def may_send_token(settings: "Settings") -> bool:
    """Whether the token that a command finds may be sent to the configured address.

    A token that the owner set is for the address that they set. The token in the data directory
    is for the server of that directory only.
    """
    from cinder.server.local_access import is_port_locked

    server = settings.server
    is_set = server.auth == "off" or server.api_token is not None
    return is_set or is_port_locked(settings.data_dir, server.port)


def _error_from_answer(answer: Any) -> CinderError:
    """Return the error in a server's response as an error of this process."""
    data = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(data, dict):
        return CinderError("The server answered with an error that cinder does not know")
    problems = tuple(
        FieldProblem(str(problem["field"]), str(problem["message"]))
        for problem in data.get("validationErrors", ())
    )
    if data.get("code") == ErrorCode.VALIDATION_ERROR and problems:
        return InvalidRequest(problems=problems)
    # Of two classes with the same code, the more general one is used.
    known = (*CacheFailed.__subclasses__(), *CinderError.__subclasses__())
    kinds = {str(kind.code): kind for kind in known}
    return kinds.get(str(data.get("code")), CinderError)(str(data.get("message", "")))


class LocalJobClient:
    """Jobs of one kind in this process."""

    is_local = True

    def __init__(self, app: "App", answers: "JobResponses", kind: JobKind) -> None:
        self._app = app
        self._answers = answers
        self._kind = kind

    async def start(self, options: "Mapping[str, Json]") -> Answer:
        """Start a job with the arguments that REST takes."""
        from cinder.api.arguments import read_arguments
        from cinder.api.schemas.crawl import CrawlArguments, crawl_checks
        from cinder.api.schemas.jobs import describe_batch_start, describe_crawl_start
        from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments
        from cinder.models.request import Format

        if self._kind is JobKind.CRAWL:
            checks = crawl_checks(self._app.settings.jobs.max_pages)
            spec = read_arguments(CrawlArguments, options, *checks).to_spec()
            job = await self._app.jobs.start_crawl(spec, OWNER)
            return describe_crawl_start(await self._app.jobs.report(job))
        arguments = read_arguments(ScrapeArguments, options, *SCRAPE_CHECKS)
        urls = arguments.urls or []
        request = arguments.to_batch_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
        return describe_batch_start(await self._app.jobs.start_batch(urls, request), urls)

    async def resume(self, job_id: str) -> None:
        """Resume a job that was interrupted."""
        await self._app.jobs.take_up(await self._app.jobs.find(job_id, self._kind, OWNER))

    async def status(self, job_id: str, *, offset: int, limit: int) -> Answer:
        """Return the progress of a job, and some of its pages."""
        from cinder.api.arguments import Pagination

        return await self._answers.status(job_id, self._kind, Pagination(offset, limit))

    async def errors(self, job_id: str, *, limit: int) -> list[Answer]:
        """Return the first pages that failed."""
        from cinder.api.arguments import Pagination

        answer: Answer = await self._answers.errors(job_id, self._kind, Pagination(0, limit))
        return list(answer["errors"])

    async def count_page_statuses(self, job_id: str) -> dict[str, int]:
        """Return the number of URLs by page status."""
        from cinder.api.arguments import Pagination

        answer: Answer = await self._answers.ledger(job_id, self._kind, None, Pagination(0, 1))
        return dict(answer["counts"])

    async def cancel(self, job_id: str) -> Answer:
        """Cancel a job."""
        return await self._answers.cancel(job_id, self._kind)

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs, newest first."""
        from cinder.api.schemas.jobs import describe_job

        jobs = await self._app.jobs.list_jobs(OWNER, self._kind)
        return [describe_job(job) for job in jobs]


class RemoteJobClient:
    """Jobs of one kind on a server, over REST."""

    is_local = False

    def __init__(self, server: ServerClient, kind: JobKind) -> None:
        self._server = server
        self._kind = kind

    async def start(self, options: "Mapping[str, Json]") -> Answer:
        """Start a job with the arguments that REST takes."""
        if self._kind is JobKind.CRAWL:
            return dict(await self._server.ask("POST", "/v1/crawl", options))
        return dict((await self._server.ask("POST", "/api/v2/scrape", options))["data"])

    async def resume(self, job_id: str) -> None:
        """Do nothing: the server resumes its jobs by itself."""

    async def status(self, job_id: str, *, offset: int, limit: int) -> Answer:
        """Return the progress of a job, and some of its pages."""
        return await self._get(f"{self._path(job_id)}?offset={offset}&limit={limit}")

    async def errors(self, job_id: str, *, limit: int) -> list[Answer]:
        """Return the first pages that failed."""
        return list((await self._get(f"{self._path(job_id)}/errors?limit={limit}"))["errors"])

    async def count_page_statuses(self, job_id: str) -> dict[str, int]:
        """Return the number of URLs by page status."""
        return dict((await self._get(f"{self._path(job_id)}/ledger?limit=1"))["counts"])

    async def cancel(self, job_id: str) -> Answer:
        """Cancel a job."""
        return dict(await self._server.ask("DELETE", self._path(job_id)))

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs, newest first."""
        plural = "crawls" if self._kind is JobKind.CRAWL else "batches"
        return list((await self._get(f"/v1/{plural}?limit={_MAX_LISTED_JOBS}"))[plural])

    async def _get(self, path: str) -> Answer:
        return dict(await self._server.ask("GET", path))

    def _path(self, job_id: str) -> str:
        return f"/v1/{self._kind}/{quote(job_id, safe='')}"


# Every method of either may raise `CinderError`.
JobClient: TypeAlias = LocalJobClient | RemoteJobClient


@asynccontextmanager
async def open_job_client(kind: JobKind, *, works: bool) -> AsyncIterator[tuple[JobClient, str]]:
    """Open the client of the running server; without one, a local client and why it is local.

    With `works`, this process works on jobs while the local client is open.
    """
    settings = read_quiet_settings()
    server, why_local = find_server(settings)
    if server is not None:
        yield RemoteJobClient(server, kind), ""
        return
    from cinder.api.schemas.jobs import JobResponses
    from cinder.app.composition import open_app
    from cinder.server.process_control import freeze_startup_objects

    async with open_app(settings, works_on_jobs=works) as app:
        if works:
            freeze_startup_objects()
        yield LocalJobClient(app, JobResponses(app.jobs, app.archive, OWNER), kind), why_local

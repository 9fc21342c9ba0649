"""Where commands run their work: on a running server over HTTP, or in this process."""

import asyncio
import http.client
import ipaddress
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from cinder.errors import (
    CacheFailed,
    CinderError,
    ErrorCode,
    FieldProblem,
    InvalidRequest,
    Overloaded,
)
from cinder.models.document import Json
from cinder.models.job import JobKind
from cinder.models.request import OWNER

if TYPE_CHECKING:
    from cinder.api.schemas.jobs import JobResponses
    from cinder.app import App
    from cinder.config import Settings


PROBE_SECONDS = 3
RESPONSE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ServerClient:
    """A running server, and the token that it wants."""

    host: str
    port: int
    token: str | None

    async def ask(
        self, method: str, path: str, body: object = None, *, seconds: float = RESPONSE_SECONDS
    ) -> Any:
        """Return what the server answers; Any, since that is JSON.

        Raises:
            CinderError: the server answered with an error, which this is, or not at all.
        """
        try:
            status, answer = await asyncio.to_thread(
                send_request, self, method, path, body, timeout_seconds=seconds
            )
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Overloaded(
                f"The server on {self.host}:{self.port} does not answer: {error}. What was started "
                "there goes on once it runs again."
            ) from error
        if status >= http.HTTPStatus.BAD_REQUEST:
            raise _error_from_answer(answer)
        return answer


def send_request(
    link: ServerClient, method: str, path: str, body: object = None, *, timeout_seconds: float
) -> tuple[int, Any]:
    """Send one request and return the status and the JSON that came; Any, since it is JSON."""
    connection = http.client.HTTPConnection(link.host, link.port, timeout=timeout_seconds)
    headers = {"Content-Type": "application/json"}
    if link.token is not None:
        headers["Authorization"] = f"Bearer {link.token}"
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, path, body=sent, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def find_server(settings: "Settings") -> tuple[ServerClient | None, str]:
    """Return the server on the configured address, or None and why there is none to use."""
    from cinder.server.local_access import find_token

    server = settings.server
    if not server.port:
        return None, "server.port names no port to look for a server on"
    link = ServerClient(_connectable_host(server.host), server.port, find_token(settings))
    address = f"{link.host}:{link.port}"
    if not may_send_token(settings):
        return None, f"no server runs on {address}"
    try:
        status, answer = send_request(link, "GET", "/readyz", timeout_seconds=PROBE_SECONDS)
    except ConnectionRefusedError:
        return None, f"no server runs on {address}"
    except (OSError, http.client.HTTPException, ValueError):
        return None, f"something other than cinder answers on {address}"
    if status == http.HTTPStatus.UNAUTHORIZED:
        return None, f"the server on {address} wants another token"
    if not isinstance(answer, dict) or "parts" not in answer:
        return None, f"something other than cinder answers on {address}"
    return link, ""


def may_send_token(settings: "Settings") -> bool:
    """Whether the configured address may be sent the token that a command finds.

    One that the owner set is meant for the address that he set; the one in the data directory is
    for that directory's own server.
    """
    from cinder.server.local_access import is_port_locked

    server = settings.server
    is_set = server.auth == "off" or server.api_token is not None
    return is_set or is_port_locked(settings.data_dir, server.port)


def _connectable_host(host: str) -> str:
    """Return an address to connect to where a server listens on this one."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if not address.is_unspecified:
        return host
    return "127.0.0.1" if address.version == 4 else "::1"


def _error_from_answer(answer: Any) -> CinderError:  # Any: JSON
    """Return the error that a server told, to be said and counted as one of this process."""
    told = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(told, dict):
        return CinderError("The server answered with an error that cinder does not know")
    problems = tuple(
        FieldProblem(str(problem["field"]), str(problem["message"]))
        for problem in told.get("validationErrors", ())
    )
    if told.get("code") == ErrorCode.VALIDATION_ERROR and problems:
        return InvalidRequest(problems=problems)
    # Of two with the same code the general one counts.
    known = (*CacheFailed.__subclasses__(), *CinderError.__subclasses__())
    kinds = {str(kind.code): kind for kind in known}
    return kinds.get(str(told.get("code")), CinderError)(str(told.get("message", "")))


# Any, here and below: answers are JSON, the same from both desks.
Answer = dict[str, Any]

_MAX_LISTED_JOBS = 100


class JobClient(Protocol):
    """Starts jobs of one kind, tells of them and stops them.

    Every method may raise `CinderError`.
    """

    is_local: bool
    """Whether this process does the work, which rests when it ends."""

    async def start(self, given: Mapping[str, Json]) -> Answer:
        """Start a job by the arguments that REST takes."""
        ...

    async def take_up(self, job_id: str) -> None:
        """Go on with a job that was left, where this process does the work."""
        ...

    async def status(self, job_id: str, *, offset: int, limit: int) -> Answer:
        """Return how far a job is, and some of its pages."""
        ...

    async def errors(self, job_id: str, *, limit: int) -> list[Answer]:
        """Return the first pages that could not be had."""
        ...

    async def count_page_statuses(self, job_id: str) -> dict[str, int]:
        """Return how many URLs met which fate."""
        ...

    async def cancel(self, job_id: str) -> Answer:
        """Stop a job."""
        ...

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs that there are, newest first."""
        ...


class LocalJobClient:
    """Cinder in this process."""

    is_local = True

    def __init__(self, app: "App", answers: "JobResponses", kind: JobKind) -> None:
        self._app = app
        self._answers = answers
        self._kind = kind

    async def start(self, given: Mapping[str, Json]) -> Answer:
        """Start a job by the arguments that REST takes."""
        if self._kind is JobKind.CRAWL:
            return await self._start_crawl(given)
        return await self._start_batch(given)

    async def _start_crawl(self, given: Mapping[str, Json]) -> Answer:
        from cinder.api.arguments import read_arguments
        from cinder.api.schemas.crawl import CrawlArguments, crawl_checks

        checks = crawl_checks(self._app.settings.jobs.max_pages)
        spec = read_arguments(CrawlArguments, given, *checks).to_spec()
        return await self._answers.crawl_started(await self._app.jobs.start_crawl(spec, OWNER))

    async def _start_batch(self, given: Mapping[str, Json]) -> Answer:
        from cinder.api.arguments import read_arguments
        from cinder.api.schemas.jobs import describe_batch_start
        from cinder.api.schemas.scrape import SCRAPE_CHECKS, ScrapeArguments
        from cinder.models.request import Format

        arguments = read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
        urls = arguments.urls or []
        request = arguments.to_batch_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
        return describe_batch_start(await self._app.jobs.start_batch(urls, request), urls)

    async def take_up(self, job_id: str) -> None:
        """Go on with a job that was left."""
        await self._app.jobs.take_up(await self._app.jobs.find(job_id, self._kind, OWNER))

    async def status(self, job_id: str, *, offset: int, limit: int) -> Answer:
        """Return how far a job is, and some of its pages."""
        from cinder.api.schemas.jobs import Pagination

        if self._kind is JobKind.CRAWL:
            return await self._answers.crawl_status(job_id, Pagination(offset, limit))
        return await self._answers.batch_status(job_id, Pagination(offset, limit))

    async def errors(self, job_id: str, *, limit: int) -> list[Answer]:
        """Return the first pages that could not be had."""
        from cinder.api.schemas.jobs import Pagination

        answer: Answer = await self._answers.errors(job_id, self._kind, Pagination(0, limit))
        return list(answer["errors"])

    async def count_page_statuses(self, job_id: str) -> dict[str, int]:
        """Return how many URLs met which fate."""
        from cinder.api.schemas.jobs import Pagination

        answer: Answer = await self._answers.ledger(job_id, self._kind, None, Pagination(0, 1))
        return dict(answer["counts"])

    async def cancel(self, job_id: str) -> Answer:
        """Stop a job."""
        return await self._answers.cancel(job_id, self._kind)

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs that there are, newest first."""
        from cinder.api.schemas.jobs import describe_job

        jobs = await self._app.jobs.list_jobs(OWNER, self._kind)
        return [describe_job(job) for job in jobs]


class RemoteJobClient:
    """A server, over REST."""

    is_local = False

    def __init__(self, link: ServerClient, kind: JobKind) -> None:
        self._link = link
        self._kind = kind

    async def start(self, given: Mapping[str, Json]) -> Answer:
        """Start a job by the arguments that REST takes."""
        if self._kind is JobKind.CRAWL:
            return dict(await self._link.ask("POST", "/v1/crawl", given))
        return dict((await self._link.ask("POST", "/api/v2/scrape", given))["data"])

    async def take_up(self, job_id: str) -> None:
        """Return: the server goes on by itself."""

    async def status(self, job_id: str, *, offset: int, limit: int) -> Answer:
        """Return how far a job is, and some of its pages."""
        return await self._get(f"{self._path(job_id)}?offset={offset}&limit={limit}")

    async def errors(self, job_id: str, *, limit: int) -> list[Answer]:
        """Return the first pages that could not be had."""
        return list((await self._get(f"{self._path(job_id)}/errors?limit={limit}"))["errors"])

    async def count_page_statuses(self, job_id: str) -> dict[str, int]:
        """Return how many URLs met which fate."""
        return dict((await self._get(f"{self._path(job_id)}/ledger?limit=1"))["counts"])

    async def cancel(self, job_id: str) -> Answer:
        """Stop a job."""
        return dict(await self._link.ask("DELETE", self._path(job_id)))

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs that there are, newest first."""
        plural = "crawls" if self._kind is JobKind.CRAWL else "batches"
        return list((await self._get(f"/v1/{plural}?limit={_MAX_LISTED_JOBS}"))[plural])

    async def _get(self, path: str) -> Answer:
        return dict(await self._link.ask("GET", path))

    def _path(self, job_id: str) -> str:
        return f"/v1/{self._kind}/{quote(job_id, safe='')}"


@asynccontextmanager
async def open_job_client(kind: JobKind, *, works: bool) -> AsyncIterator[tuple[JobClient, str]]:
    """Open the server's desk, or one in this process that works on jobs if told to, and say why."""
    from cinder.api.schemas.jobs import JobResponses
    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.logs import configure_logs
    from cinder.server.process_control import freeze_startup_objects

    settings = read_settings()
    configure_logs("warning" if settings.log.level == "info" else settings.log.level)
    link, why_not = find_server(settings)
    if link is not None:
        yield RemoteJobClient(link, kind), ""
        return
    async with open_app(settings, works_on_jobs=works) as app:
        if works:
            freeze_startup_objects()
        yield LocalJobClient(app, JobResponses(app.jobs, app.archive, OWNER), kind), why_not

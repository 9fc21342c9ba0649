"""Where a command takes jobs to: a server that runs, or cinder opened in this process."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from cinder.model.document import Json
from cinder.model.job import JobKind
from cinder.model.request import OWNER
from cinder.surfaces.cli.server_link import ServerLink, find_server

if TYPE_CHECKING:
    from cinder.app import App
    from cinder.surfaces.job_answer import JobAnswers

# Any, here and below: answers are JSON, the same from both desks.
Answer = dict[str, Any]

_LISTED_AT_MOST = 100


class JobDesk(Protocol):
    """Starts jobs of one kind, tells of them and stops them.

    Every method may raise `CinderError`.
    """

    is_here: bool
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

    async def count_fates(self, job_id: str) -> dict[str, int]:
        """Return how many URLs met which fate."""
        ...

    async def cancel(self, job_id: str) -> Answer:
        """Stop a job."""
        ...

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs that there are, newest first."""
        ...


class LocalDesk:
    """Cinder in this process."""

    is_here = True

    def __init__(self, app: "App", answers: "JobAnswers", kind: JobKind) -> None:
        self._app = app
        self._answers = answers
        self._kind = kind

    async def start(self, given: Mapping[str, Json]) -> Answer:
        """Start a job by the arguments that REST takes."""
        if self._kind is JobKind.CRAWL:
            return await self._start_crawl(given)
        return await self._start_batch(given)

    async def _start_crawl(self, given: Mapping[str, Json]) -> Answer:
        from cinder.surfaces.arguments import read_arguments
        from cinder.surfaces.crawl_arguments import CrawlArguments, crawl_checks

        checks = crawl_checks(self._app.settings.jobs.max_pages)
        spec = read_arguments(CrawlArguments, given, *checks).to_spec()
        return await self._answers.crawl_started(await self._app.jobs.start_crawl(spec, OWNER))

    async def _start_batch(self, given: Mapping[str, Json]) -> Answer:
        from cinder.model.request import Format
        from cinder.surfaces.arguments import read_arguments
        from cinder.surfaces.job_answer import describe_batch_start
        from cinder.surfaces.scrape_arguments import SCRAPE_CHECKS, ScrapeArguments

        arguments = read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
        urls = arguments.urls or []
        request = arguments.to_batch_request(caller=OWNER, default_formats=(Format.MARKDOWN,))
        return describe_batch_start(await self._app.jobs.start_batch(urls, request), urls)

    async def take_up(self, job_id: str) -> None:
        """Go on with a job that was left."""
        await self._app.jobs.take_up(await self._app.jobs.find(job_id, self._kind, OWNER))

    async def status(self, job_id: str, *, offset: int, limit: int) -> Answer:
        """Return how far a job is, and some of its pages."""
        from cinder.surfaces.job_answer import Part

        if self._kind is JobKind.CRAWL:
            return await self._answers.crawl_status(job_id, Part(offset, limit))
        return await self._answers.batch_status(job_id, Part(offset, limit))

    async def errors(self, job_id: str, *, limit: int) -> list[Answer]:
        """Return the first pages that could not be had."""
        from cinder.surfaces.job_answer import Part

        answer: Answer = await self._answers.errors(job_id, self._kind, Part(0, limit))
        return list(answer["errors"])

    async def count_fates(self, job_id: str) -> dict[str, int]:
        """Return how many URLs met which fate."""
        from cinder.surfaces.job_answer import Part

        answer: Answer = await self._answers.ledger(job_id, self._kind, None, Part(0, 1))
        return dict(answer["counts"])

    async def cancel(self, job_id: str) -> Answer:
        """Stop a job."""
        return await self._answers.cancel(job_id, self._kind)

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs that there are, newest first."""
        from cinder.surfaces.job_answer import describe_job

        jobs = await self._app.jobs.list_jobs(OWNER, self._kind)
        return [describe_job(job) for job in jobs]


class ServerDesk:
    """A server, over REST."""

    is_here = False

    def __init__(self, link: ServerLink, kind: JobKind) -> None:
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

    async def count_fates(self, job_id: str) -> dict[str, int]:
        """Return how many URLs met which fate."""
        return dict((await self._get(f"{self._path(job_id)}/ledger?limit=1"))["counts"])

    async def cancel(self, job_id: str) -> Answer:
        """Stop a job."""
        return dict(await self._link.ask("DELETE", self._path(job_id)))

    async def list_jobs(self) -> list[Answer]:
        """Return the jobs that there are, newest first."""
        plural = "crawls" if self._kind is JobKind.CRAWL else "batches"
        return list((await self._get(f"/v1/{plural}?limit={_LISTED_AT_MOST}"))[plural])

    async def _get(self, path: str) -> Answer:
        return dict(await self._link.ask("GET", path))

    def _path(self, job_id: str) -> str:
        return f"/v1/{self._kind}/{quote(job_id, safe='')}"


@asynccontextmanager
async def open_desk(kind: JobKind, *, works: bool) -> AsyncIterator[tuple[JobDesk, str]]:
    """Open the server's desk, or one in this process that works on jobs if told to, and say why."""
    from cinder.app import open_app
    from cinder.config import read_settings
    from cinder.surfaces.cli.collector import spare_what_stays
    from cinder.surfaces.job_answer import JobAnswers
    from cinder.surfaces.logs import set_up_logs

    settings = read_settings()
    set_up_logs("warning" if settings.log.level == "info" else settings.log.level)
    link, why_not = find_server(settings)
    if link is not None:
        yield ServerDesk(link, kind), ""
        return
    async with open_app(settings, works_on_jobs=works) as app:
        if works:
            spare_what_stays()
        yield LocalDesk(app, JobAnswers(app.jobs, app.archive, OWNER), kind), why_not

"""Crawls and batches in responses: status, pages, errors and ledger, and their webhooks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from cinder.api.arguments import Arguments, read_body
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json
from cinder.models.job import Job, JobKind, JobStatus, LedgerPage, PageStatus
from cinder.models.redaction import redact
from cinder.models.saved import format_timestamp, parse_saved_uri
from cinder.models.webhook import EventListing, WebhookTarget
from cinder.services.archive import Archive
from cinder.services.excerpt import fit_text, json_chars
from cinder.services.jobs.control import ERROR_FILTER, BatchStart, JobControl, JobReport
from cinder.services.webhooks import WebhookOptions, make_target, target_of

DEFAULT_LIMIT = 50
MAX_LIMIT = 100
MAX_OFFSET = 10_000_000
_MAX_INVALID_SHOWN = 100
_ROBOTS = "Robots.txt disallowed"
# What the sentence takes that says that something was cut.
_CUT_CHARS = 150


@dataclass(frozen=True, slots=True)
class Pagination:
    """Which entries of a list an answer is to show, and how much room they have."""

    offset: int = 0
    limit: int = DEFAULT_LIMIT
    max_chars: int = 100_000
    """As JSON; further entries are left for the next part. One is always shown."""
    is_bound: bool = False
    """Whether that one, too, may be no longer; else its content alone may be as long."""


DescribePage = Callable[[LedgerPage, int], Awaitable[dict[str, Json]]]


class JobResponses:
    """Reads a caller's jobs and describes them."""

    def __init__(self, jobs: JobControl, archive: Archive, caller: str) -> None:
        self._jobs = jobs
        self._archive = archive
        self._caller = caller

    async def crawl_started(self, job: Job) -> dict[str, Json]:
        """Return the answer to a crawl's start."""
        return describe_crawl(await self._jobs.report(job))

    async def crawl_status(
        self, crawl_id: str, part: Pagination, *, include_content: bool = False
    ) -> dict[str, Json]:
        """Return how far a crawl is, and some of the pages it got.

        Raises:
            CrawlNotFound: there is none of this id.
            CrawlExpired: there was.
        """
        job = await self._jobs.find(crawl_id, JobKind.CRAWL, self._caller)
        answer = describe_crawl_status(await self._jobs.report(job))
        return answer | await self._results(job, part, include_content=include_content)

    async def batch_status(
        self, job_id: str, part: Pagination, *, include_content: bool = False
    ) -> dict[str, Json]:
        """Return how far a batch is, and some of the pages it got.

        Raises:
            BatchNotFound: there is none of this id.
            BatchExpired: there was.
        """
        job = await self._jobs.find(job_id, JobKind.BATCH, self._caller)
        answer = describe_batch_status(await self._jobs.report(job))
        return answer | await self._results(job, part, include_content=include_content)

    async def errors(self, job_id: str, kind: JobKind, part: Pagination) -> dict[str, Json]:
        """Return some of the URLs of a job that could not be had, and why.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        count = (await self._jobs.report(job)).errors
        noun = "error" if count == 1 else "errors"
        work = "batch scrape" if kind is JobKind.BATCH else "crawl"
        return {
            id_key(kind): job.id,
            **await self._part("errors", job, ERROR_FILTER, part, _describe_failed_page),
            "total": count,
            "message": f"Found {count} {noun} in {work}",
        }

    async def cancel(self, job_id: str, kind: JobKind) -> dict[str, Json]:
        """Stop a job, and return what it is now.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        return describe_cancelled(await self._jobs.cancel(job))

    async def ledger(
        self, job_id: str, kind: JobKind, fate: PageStatus | None, part: Pagination
    ) -> dict[str, Json]:
        """Return some of all the URLs that a job has seen, each with its fate and the reason.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        fates = None if fate is None else (fate,)
        return {
            id_key(kind): job.id,
            **await self._part("urls", job, fates, part, _describe_ledger_row),
            "counts": describe_counts(await self._jobs.report(job)),
        }

    async def _results(
        self, job: Job, part: Pagination, *, include_content: bool
    ) -> dict[str, Json]:
        with_content = self._with_fitting_content if part.is_bound else self._with_content
        describe = with_content if include_content else _describe_fetched_page
        return await self._part("pages", job, (PageStatus.FETCHED,), part, describe)

    async def _part(
        self,
        name: str,
        job: Job,
        fates: Sequence[PageStatus] | None,
        part: Pagination,
        describe: DescribePage,
    ) -> dict[str, Json]:
        """Return entries of a list under its name, and where the next ones begin.

        While the job goes on, there is always a place at which later ones will be.
        """
        rows = await self._jobs.list_pages(job, fates, offset=part.offset, limit=part.limit + 1)
        shown = await _fit_pages(rows[: part.limit], part.max_chars, describe)
        has_more = len(rows) > len(shown)
        answer: dict[str, Json] = {name: shown, "hasMore": has_more}
        if has_more or not job.status.is_over:
            answer["nextOffset"] = part.offset + len(shown)
        return answer

    async def _with_content(self, page: LedgerPage, room: int) -> dict[str, Json]:
        entry = describe_job_page(page)
        body = await self._archive.read(page.uris[0], self._caller) if page.uris else None
        if body is None:
            return entry | {"warning": "Its content is no longer kept: scrape the URL anew."}
        if body.text is None:
            return entry | {"warning": f"It is no text ({body.mime}): read it by its URI."}
        if len(body.text) <= room:
            return entry | {"content": body.text}
        cut = "Its content was cut: scrape the URL, with startIndex, to read on."
        return entry | {"content": body.text[:room], "wasTruncated": True, "warning": cut}

    async def _with_fitting_content(self, page: LedgerPage, room: int) -> dict[str, Json]:
        """Describe a page with as much of its content as leaves the whole within the room."""
        entry = await self._with_content(page, room)
        content = str(entry.get("content", ""))
        over = json_chars(entry) - room
        if over <= 0:
            return entry
        # Once more, so that the rest is cut as any other.
        fitting = fit_text(content, max(json_chars(content) - over - _CUT_CHARS, room // 2))
        return await self._with_content(page, len(fitting))


async def _fit_pages(
    pages: Sequence[LedgerPage], max_chars: int, describe: DescribePage
) -> list[dict[str, Json]]:
    """Describe pages as long as there is room, at least one."""
    shown: list[dict[str, Json]] = []
    room = max_chars
    for page in pages:
        # What does not fit after others comes first in the next part, with all the room.
        entry = await describe(page, max_chars)
        room -= json_chars(entry)
        if room < 0 and shown:
            break
        shown.append(entry)
    return shown


def id_key(kind: JobKind) -> str:
    """Return under which key answers have a job's id."""
    return "jobId" if kind is JobKind.BATCH else "crawlId"


def describe_crawl(report: JobReport) -> dict[str, Json]:
    """Return a crawl as its start is answered."""
    job = report.job
    return {
        "crawlId": job.id,
        "url": str(job.spec.get("url", "")),
        "status": job.status,
        "pagesFound": report.found,
        "pagesCrawled": report.fetched,
        "createdAt": format_timestamp(job.created_at),
        "expiresAt": format_timestamp(job.expires_at),
    }


def describe_crawl_status(report: JobReport) -> dict[str, Json]:
    """Return how far a crawl is, without its pages."""
    return describe_crawl(report) | _progress(report)


def _progress(report: JobReport) -> dict[str, Json]:
    job = report.job
    shown: dict[str, Json] = {
        "progress": report.progress,
        "queued": report.counts.queued + report.counts.leased,
        "errorCount": report.errors,
    }
    if job.finished_at is not None:
        shown["completedAt"] = format_timestamp(job.finished_at)
    if job.ended_by is not None:
        shown["endedBy"] = job.ended_by
    shown["leftOut"] = {reason.value: count for reason, count in job.left_out.items()}
    if job.error:
        # What went wrong of a job that goes on may come right.
        shown["error" if job.status is JobStatus.FAILED else "warning"] = job.error
    return shown


def describe_counts(report: JobReport) -> dict[str, Json]:
    """Return how many URLs of a job there are of each fate, and of those that have none yet."""
    fates = {fate.value: count for fate, count in sorted(report.counts.fates.items())}
    return {"queued": report.counts.queued, "leased": report.counts.leased, **fates}


def describe_batch_start(start: BatchStart, urls: Sequence[str]) -> dict[str, Json]:
    """Return the answer to a batch's start, given the URLs as they were sent."""
    job, count = start.job, start.job.found
    noun = "URL" if count == 1 else "URLs"
    answer: dict[str, Json] = {
        "jobId": job.id,
        "urls": count,
        "status": batch_status_of(job),
        "expiresAt": format_timestamp(job.expires_at),
        "duplicates": start.duplicates,
        "invalidUrls": [_describe_invalid_url(p, urls) for p in start.invalid[:_MAX_INVALID_SHOWN]],
        "message": f"Batch scrape started for {count} {noun}. "
        f"Use jobId '{job.id}' to check status.",
    }
    if len(start.invalid) > _MAX_INVALID_SHOWN:
        answer["warning"] = (
            f"Only the first {_MAX_INVALID_SHOWN} of {len(start.invalid)} invalid URLs are listed "
            "here; the command errors lists all."
        )
    return answer


def _describe_invalid_url(problem: FieldProblem, urls: Sequence[str]) -> dict[str, Json]:
    place = int(problem.field.removeprefix("urls[").removesuffix("]"))
    return {"url": urls[place][:2_000], "error": redact(problem.message)}


def describe_batch_status(report: JobReport) -> dict[str, Json]:
    """Return how far a batch is, without its pages."""
    job = report.job
    answer: dict[str, Json] = {
        "jobId": job.id,
        "status": batch_status_of(job),
        "total": job.found,
        "completed": report.finished,
        "creditsUsed": report.fetched,
        "createdAt": format_timestamp(job.created_at),
        "expiresAt": format_timestamp(job.expires_at),
        "message": _batch_message(report),
    }
    return answer | _progress(report)


def batch_status_of(job: Job) -> str:
    """Return a batch's status by the names that batches have for it."""
    return job.status if job.status.is_over else "scraping"


def _batch_message(report: JobReport) -> str:
    job = report.job
    percent = 100 * report.finished // job.found if job.found else 100
    done = f"{report.finished}/{job.found} URLs completed ({percent}%)"
    match job.status:
        case JobStatus.COMPLETED | JobStatus.CANCELLED:
            return f"Batch scrape {job.status}: {done}"
        case JobStatus.FAILED:
            return f"Batch scrape failed: {job.error or 'it could not be worked on'}. {done}"
        case _:
            return f"Batch scrape progress: {done}"


def describe_cancelled(job: Job) -> dict[str, Json]:
    """Return the answer to a job's cancelling; one that was over stays what it was."""
    work = "Batch scrape" if job.kind is JobKind.BATCH else "Crawl"
    message = f"{work} cancelled"
    if job.status is not JobStatus.CANCELLED:
        message = f"{work} was over before: {job.status}"
    return {id_key(job.kind): job.id, "status": job.status, "message": message}


def describe_job(job: Job) -> dict[str, Json]:
    """Return a job as a list of jobs shows it."""
    is_crawl = job.kind is JobKind.CRAWL
    shown: dict[str, Json] = {
        id_key(job.kind): job.id,
        "status": job.status if is_crawl else batch_status_of(job),
        "createdAt": format_timestamp(job.created_at),
        "expiresAt": format_timestamp(job.expires_at),
    }
    if is_crawl:
        shown |= {"url": str(job.spec.get("url", "")), "pagesCrawled": job.fetched}
    else:
        shown |= {"total": job.found, "creditsUsed": job.fetched}
    if job.finished_at is not None:
        shown["completedAt"] = format_timestamp(job.finished_at)
    if job.ended_by is not None:
        shown["endedBy"] = job.ended_by
    return shown


def describe_job_page(page: LedgerPage) -> dict[str, Json]:
    """Return a page that was got."""
    shown: dict[str, Json] = {"url": page.url}
    optional: dict[str, Json] = {
        "title": page.title,
        "statusCode": page.status_code,
        "contentLength": page.content_length,
        "verdict": page.verdict,
        "timestamp": None if page.finished_at is None else format_timestamp(page.finished_at),
    }
    shown |= {name: value for name, value in optional.items() if value is not None}
    if page.uris:
        shown["savedUris"] = {parse_saved_uri(uri)[1].value: uri for uri in page.uris}
    return shown


def describe_failed_page(page: LedgerPage) -> dict[str, Json]:
    """Return a URL that could not be had, and why."""
    shown = describe_job_page(page)
    reason = redact(page.reason) if page.reason else page.reason
    shown["error"] = _ROBOTS if page.fate is PageStatus.DISALLOWED else reason
    if page.fate is PageStatus.DISALLOWED and reason:
        shown["reason"] = reason
    return shown


def describe_ledger_row(page: LedgerPage) -> dict[str, Json]:
    """Return a URL of the ledger: what became of it, or that it waits."""
    shown: dict[str, Json] = {"depth": page.depth, "state": page.state}
    if page.fate is not None:
        shown |= {"fate": page.fate, "reason": page.reason}
    return describe_job_page(page) | shown


async def _describe_fetched_page(page: LedgerPage, _room: int) -> dict[str, Json]:
    return describe_job_page(page)


async def _describe_failed_page(page: LedgerPage, _room: int) -> dict[str, Json]:
    return describe_failed_page(page)


async def _describe_ledger_row(page: LedgerPage, _room: int) -> dict[str, Json]:
    return describe_ledger_row(page)


_WEBHOOK = "webhook"


class WebhookArguments(Arguments):
    """Whom to tell how a job goes."""

    url: str
    """Where events are posted."""
    events: list[str] | None = None
    """Which to send, of started, page, completed and failed; all by default."""
    secret: str | None = None
    """What events are signed with; without one, cinder uses or makes one."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers to send along."""


def split_webhook(
    given: object, *, default_secret: str | None
) -> tuple[object, WebhookTarget | None]:
    """Return a request without its webhook, and that.

    Raises:
        InvalidRequest: something is wrong with the webhook.
    """
    if not isinstance(given, Mapping) or given.get(_WEBHOOK) is None:
        return given, None
    rest = {name: value for name, value in given.items() if name != _WEBHOOK}
    arguments = _read_webhook(given[_WEBHOOK])
    options = WebhookOptions(
        url=arguments.url,
        secret=arguments.secret,
        events=arguments.events,
        headers=arguments.headers,
    )
    return rest, make_target(options, default_secret=default_secret or None)


def with_webhook_secret(
    answer: dict[str, Json], job: Job, target: WebhookTarget | None
) -> dict[str, Json]:
    """Return the answer to a start, with the secret if one was made for this very job."""
    if target is None or not target.is_secret_generated:
        return answer
    kept = target_of(job)
    # A start that was repeated answers with the job that there was, which has its own.
    if kept is None or kept.secret != target.secret:
        return answer
    return {**answer, "webhookSecret": target.secret}


def describe_webhook_event(event: EventListing) -> dict[str, Json]:
    """Return an event as REST shows it."""
    return {
        "id": event.id,
        "type": event.type,
        "url": event.url,
        "state": event.state,
        "tries": event.tries,
        "createdAt": format_timestamp(event.created_at),
        "nextTryAt": None if event.next_at is None else format_timestamp(event.next_at),
        "finishedAt": None if event.finished_at is None else format_timestamp(event.finished_at),
        "error": event.error,
    }


def _read_webhook(given: Any) -> WebhookArguments:  # Any: whatever a caller sent
    try:
        return read_body(WebhookArguments, given)
    except InvalidRequest as error:
        problems = (
            FieldProblem(
                _WEBHOOK if problem.field == "(request)" else f"{_WEBHOOK}.{problem.field}",
                problem.message,
            )
            for problem in error.problems
        )
        raise InvalidRequest(problems=tuple(problems)) from None

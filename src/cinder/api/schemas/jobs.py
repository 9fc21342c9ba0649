"""Crawls and batches in responses: status, pages, errors and ledger, and their webhooks."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from pydantic import Field

from cinder.api.arguments import Arguments, Pagination, read_body
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Document, Json
from cinder.models.job import ERROR_STATUSES, Job, JobKind, JobStatus, LedgerPage, PageStatus
from cinder.models.redaction import redact
from cinder.models.request import Format
from cinder.models.saved import format_timestamp, parse_saved_uri
from cinder.models.webhook import EventListing, WebhookTarget
from cinder.services.archive import Archive
from cinder.services.excerpt import fit_text, json_chars
from cinder.services.jobs.control import (
    NOTICE_KEY,
    BatchStart,
    JobControl,
    JobReport,
    formats_of,
)
from cinder.services.reading import describe_links
from cinder.services.summary import summarize_document
from cinder.services.webhooks import WebhookOptions, make_target, target_of

_MAX_INVALID_SHOWN = 100
_ROBOTS = "Robots.txt disallowed"
# The length of the sentence that says that content was cut.
_CUT_CHARS = 150


def _list_or_none(urls: tuple[str, ...] | None) -> Json:
    return None if urls is None else list(urls)


def _summarize(document: Document) -> Json:
    summary = summarize_document(document)
    return None if summary is None else summary.text


# The formats that are shown beside a page's content, which is its markdown or extracted data.
_KEPT_FORMATS: Mapping[Format, Callable[[Document], Json]] = {
    Format.HTML: lambda document: document.content.html,
    Format.RAW_HTML: lambda document: document.content.text,
    Format.LINKS: lambda document: _list_or_none(document.content.links),
    Format.LINKS_DETAIL: lambda document: describe_links(document.content.links_detail or ()),
    Format.IMAGES: lambda document: _list_or_none(document.content.images),
    Format.SUMMARY: _summarize,
    Format.BRANDING: lambda document: document.content.branding,
}

# Describes a page; its content may have so many characters.
DescribePage = Callable[[LedgerPage, int], Awaitable[dict[str, Json]]]


class JobResponses:
    """Reads a caller's jobs and describes them."""

    def __init__(self, jobs: JobControl, archive: Archive, caller: str) -> None:
        self._jobs = jobs
        self._archive = archive
        self._caller = caller

    async def status(
        self, job_id: str, kind: JobKind, part: Pagination, *, include_content: bool = False
    ) -> dict[str, Json]:
        """Return the progress of a job, and some of its pages.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        with_content = self._with_fitting_content if part.is_bound else self._with_content
        describe = (
            partial(with_content, formats_of(job)) if include_content else _plain(describe_job_page)
        )
        answer = describe_status(await self._jobs.report(job))
        return answer | await self._part("pages", job, (PageStatus.FETCHED,), part, describe)

    async def errors(self, job_id: str, kind: JobKind, part: Pagination) -> dict[str, Json]:
        """Return some of the URLs of a job that could not be fetched, and why.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        count = (await self._jobs.report(job)).errors
        noun = "error" if count == 1 else "errors"
        work = "batch scrape" if kind is JobKind.BATCH else "crawl"
        return {
            id_key(kind): job.id,
            **await self._part("errors", job, ERROR_STATUSES, part, _plain(describe_failed_page)),
            "total": count,
            "message": f"Found {count} {noun} in {work}",
        }

    async def cancel(self, job_id: str, kind: JobKind) -> dict[str, Json]:
        """Stop a job, and return its state.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        return describe_cancelled(await self._jobs.cancel(job))

    async def ledger(
        self, job_id: str, kind: JobKind, fate: PageStatus | None, part: Pagination
    ) -> dict[str, Json]:
        """Return some of the URLs in the ledger of a job, with their fates and reasons.

        Raises:
            CinderError: there is no such job, or no longer.
        """
        job = await self._jobs.find(job_id, kind, self._caller)
        fates = None if fate is None else (fate,)
        counts = (await self._jobs.report(job)).counts
        by_fate = {fate.value: count for fate, count in sorted(counts.fates.items())}
        return {
            id_key(kind): job.id,
            **await self._part("urls", job, fates, part, _plain(describe_ledger_row)),
            "counts": {"queued": counts.queued, "leased": counts.leased, **by_fate},
        }

    async def _part(
        self,
        name: str,
        job: Job,
        fates: Sequence[PageStatus] | None,
        part: Pagination,
        describe: DescribePage,
    ) -> dict[str, Json]:
        """Return entries of a list under its name, and the offset of the next ones.

        While the job runs, there is always a next offset.
        """
        rows = await self._jobs.list_pages(job, fates, offset=part.offset, limit=part.limit + 1)
        shown: list[dict[str, Json]] = []
        room = part.max_chars
        for page in rows[: part.limit]:
            # An entry that does not fit is the first of the next part, with all the room.
            entry = await describe(page, part.max_chars)
            room -= json_chars(entry)
            if room < 0 and shown:
                break
            shown.append(entry)
        has_more = len(rows) > len(shown)
        answer: dict[str, Json] = {name: shown, "hasMore": has_more}
        if has_more or not job.status.is_over:
            answer["nextOffset"] = part.offset + len(shown)
        return answer

    async def _with_content(
        self, formats: Sequence[Format], page: LedgerPage, room: int
    ) -> dict[str, Json]:
        entry = await self._with_text(page, room)
        others = [kind for kind in formats if kind in _KEPT_FORMATS]
        if not others or not page.uris:
            return entry
        with_raw = Format.RAW_HTML in others
        document = await self._archive.read_document(page.uris[0], self._caller, with_raw=with_raw)
        if document is None:
            return entry
        more = {kind.value: _KEPT_FORMATS[kind](document) for kind in others}
        if json_chars(entry) + json_chars(more) <= room:
            return entry | more
        left_out = f"Too long to be shown here: {', '.join(more)}. An export has them."
        return entry | {"warning": " ".join((str(entry.get("warning", "")), left_out)).strip()}

    async def _with_text(self, page: LedgerPage, room: int) -> dict[str, Json]:
        entry = describe_job_page(page)
        body = await self._archive.read(page.uris[0], self._caller) if page.uris else None
        if body is None:
            return entry | {"warning": "Its content is no longer saved: scrape the URL again."}
        if body.text is None:
            return entry | {"warning": f"It is no text ({body.mime}): read it by its URI."}
        if len(body.text) <= room:
            return entry | {"content": body.text}
        cut = "Its content was cut: scrape the URL, with startIndex, to read on."
        return entry | {"content": body.text[:room], "wasTruncated": True, "warning": cut}

    async def _with_fitting_content(
        self, formats: Sequence[Format], page: LedgerPage, room: int
    ) -> dict[str, Json]:
        """Describe a page with so much of its content that the whole entry fits."""
        entry = await self._with_content(formats, page, room)
        content = str(entry.get("content", ""))
        over = json_chars(entry) - room
        if over <= 0:
            return entry
        # Again, so that the warning is added.
        fitting = fit_text(content, max(json_chars(content) - over - _CUT_CHARS, room // 2))
        return await self._with_content(formats, page, len(fitting))


def id_key(kind: JobKind) -> str:
    """Return the key of a job's id in responses."""
    return "jobId" if kind is JobKind.BATCH else "crawlId"


def describe_crawl(report: JobReport) -> dict[str, Json]:
    """Return what every response about a crawl shows."""
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


def describe_crawl_start(report: JobReport) -> dict[str, Json]:
    """Return the response to the start of a crawl."""
    notice = report.job.spec.get(NOTICE_KEY)
    return describe_crawl(report) | ({"warning": notice} if notice else {})


def describe_status(report: JobReport) -> dict[str, Json]:
    """Return the progress of a job, without its pages."""
    job = report.job
    is_crawl = job.kind is JobKind.CRAWL
    shown = describe_crawl(report) if is_crawl else _describe_batch(report)
    shown |= {
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
        # A running job may recover.
        shown["error" if job.status is JobStatus.FAILED else "warning"] = job.error
    return shown


def describe_batch_start(start: BatchStart, urls: Sequence[str]) -> dict[str, Json]:
    """Return the response to the start of a batch, whose URLs are given as they were sent."""
    job, count = start.job, start.job.found
    noun = "URL" if count == 1 else "URLs"
    answer: dict[str, Json] = {
        "jobId": job.id,
        "urls": count,
        "status": batch_status_of(job),
        "expiresAt": format_timestamp(job.expires_at),
        "duplicates": start.duplicates,
        "invalidUrls": [
            {
                "url": urls[int(problem.field.removeprefix("urls[").removesuffix("]"))][:2_000],
                "error": redact(problem.message),
            }
            for problem in start.invalid[:_MAX_INVALID_SHOWN]
        ],
        "message": f"Batch scrape started for {count} {noun}. "
        f"Use jobId '{job.id}' to check status.",
    }
    warnings = [start.notice] if start.notice else []
    if len(start.invalid) > _MAX_INVALID_SHOWN:
        warnings.append(
            f"Only the first {_MAX_INVALID_SHOWN} of {len(start.invalid)} invalid URLs are listed "
            "here; the command errors lists all."
        )
    return answer | ({"warning": " ".join(warnings)} if warnings else {})


def _describe_batch(report: JobReport) -> dict[str, Json]:
    job = report.job
    percent = 100 * report.finished // job.found if job.found else 100
    message = f"{report.finished}/{job.found} URLs completed ({percent}%)"
    match job.status:
        case JobStatus.COMPLETED | JobStatus.CANCELLED:
            message = f"Batch scrape {job.status}: {message}"
        case JobStatus.FAILED:
            reason = job.error or "it could not be worked on"
            message = f"Batch scrape failed: {reason}. {message}"
        case _:
            message = f"Batch scrape progress: {message}"
    return {
        "jobId": job.id,
        "status": batch_status_of(job),
        "total": job.found,
        "completed": report.finished,
        "creditsUsed": report.fetched,
        "createdAt": format_timestamp(job.created_at),
        "expiresAt": format_timestamp(job.expires_at),
        "message": message,
    }


def batch_status_of(job: Job) -> str:
    """Return the status of a batch; `scraping` until it is over."""
    return job.status if job.status.is_over else "scraping"


def describe_cancelled(job: Job) -> dict[str, Json]:
    """Return the response to a cancellation; a job that was over keeps its status."""
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
    """Return a page of a job."""
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
    """Return a URL that could not be fetched, and why."""
    shown = describe_job_page(page)
    reason = redact(page.reason) if page.reason else page.reason
    shown["error"] = _ROBOTS if page.fate is PageStatus.DISALLOWED else reason
    if page.fate is PageStatus.DISALLOWED and reason:
        shown["reason"] = reason
    return shown


def describe_ledger_row(page: LedgerPage) -> dict[str, Json]:
    """Return a URL of the ledger, with its state and its fate."""
    shown: dict[str, Json] = {"depth": page.depth, "state": page.state}
    if page.fate is not None:
        shown |= {"fate": page.fate, "reason": page.reason}
    return describe_job_page(page) | shown


def _plain(describe: Callable[[LedgerPage], dict[str, Json]]) -> DescribePage:
    """Return a description that needs no content."""

    async def describe_page(page: LedgerPage, _room: int) -> dict[str, Json]:
        return describe(page)

    return describe_page


_WEBHOOK = "webhook"


class WebhookArguments(Arguments):
    """Where to send the events of a job."""

    url: str
    """Where events are posted."""
    events: list[str] | None = None
    """Which to send, of started, page, completed and failed; all by default."""
    secret: str | None = None
    """What events are signed with; without one, cinder uses or makes one."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers to send along."""


def split_webhook(
    raw: object, *, default_secret: str | None
) -> tuple[object, WebhookTarget | None]:
    """Return a request without its webhook, and the webhook.

    Raises:
        InvalidRequest: the webhook is invalid.
    """
    if not isinstance(raw, Mapping) or raw.get(_WEBHOOK) is None:
        return raw, None
    rest = {name: value for name, value in raw.items() if name != _WEBHOOK}
    try:
        arguments = read_body(WebhookArguments, raw[_WEBHOOK])
    except InvalidRequest as error:
        problems = (
            FieldProblem(
                _WEBHOOK if problem.field == "(request)" else f"{_WEBHOOK}.{problem.field}",
                problem.message,
            )
            for problem in error.problems
        )
        raise InvalidRequest(problems=tuple(problems)) from None
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
    """Return the response to a start, with the secret if it was generated for this job."""
    if target is None or not target.is_secret_generated:
        return answer
    kept = target_of(job)
    # A repeated start returns the existing job, which has a secret of its own.
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

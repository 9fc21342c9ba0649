"""The sandbox: runs extraction in child processes, so that no page can harm the server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import structlog

from cinder.errors import (
    CinderError,
    FieldProblem,
    InvalidRequest,
    ParseLimitExceeded,
    ParseTimeout,
    Unsupported,
)
from cinder.fair_queue import OWNER_REQUESTER, Requester
from cinder.html.bombs import UnparsedFormats
from cinder.models.document import Extraction, FetchedPage, HtmlFacts, Json, StoredForm
from cinder.models.extraction import ExtractedData, PassageQuery, RankedPassage
from cinder.models.recipe import Recipe, RecipeTrials
from cinder.models.request import ExtractOptions
from cinder.models.saved import Comparison
from cinder.sandbox.extraction_messages import (
    FieldsJob,
    LearnRecipeJob,
    PassagesJob,
    TryRecipesJob,
)
from cinder.sandbox.messages import (
    BrandingJob,
    CompareJob,
    ExtractionAnswer,
    ExtractJob,
    InspectJob,
    Message,
    PdfJob,
    SandboxJob,
    StylesheetsJob,
    UnparsedJob,
)
from cinder.sandbox.pool import ExtractionWorker, WorkerPool

_MAX_MESSAGE_CHARS = 1_000
_MAX_REASON_CHARS = 200

T = TypeVar("T")

log = structlog.get_logger()


class _JobFailed(Exception):
    """Extraction raised an unexpected error; the child process goes on."""


class ExtractionSandbox(WorkerPool):
    """The child processes that turn pages into content.

    Every method raises `ParseLimitExceeded` when the job takes too long or too much memory, and
    `Overloaded` when too many slow pages wait already.
    """

    async def extract(
        self,
        page: FetchedPage,
        options: ExtractOptions,
        who: Requester = OWNER_REQUESTER,
        *,
        stored_form: StoredForm | None = None,
    ) -> Extraction:
        """Turn a fetched page into content; one beyond the limits gives its bare text, flagged.

        The content comes with its texts in the form of the store, if one is given.

        Raises:
            InvalidRequest: one of the caller's selectors is not valid.
            ParseLimitExceeded: the page took too long or too much memory, and is no text.
            Overloaded: too many slow pages wait already.
        """
        content_type = _content_type(page)
        job = ExtractJob(page.body, content_type, page.final_url, options, page.unseen, stored_form)
        try:
            return (await self._ask(job, ExtractionAnswer, page.url, who)).restore(page.body)
        except _JobFailed as failure:
            log.error("extraction failed", url=page.url, reason=str(failure))  # noqa: TRY400 - the child's traceback stays with it
            return await self._read_unparsed(page, options, str(failure))
        except ParseLimitExceeded as limit:
            if self.is_closed:
                raise
            log.warning("page beyond the limits", url=page.url, reason=limit.message)
            unparsed = await self._read_unparsed(page, options, limit.message)
            if unparsed.text is None:
                raise
            return replace(unparsed, is_out_of_time=isinstance(limit, ParseTimeout))

    async def extract_pdf(
        self,
        page: FetchedPage,
        options: ExtractOptions,
        max_pages: int,
        who: Requester = OWNER_REQUESTER,
    ) -> Extraction:
        """Turn a fetched PDF into content.

        Raises:
            ParseLimitExceeded: the file took too long or too much memory.
            Unsupported: the file is encrypted, broken, or no PDF.
        """
        job = PdfJob(page.body, page.final_url, options, max_pages)
        try:
            return (await self._ask(job, ExtractionAnswer, page.url, who)).restore(page.body)
        except _JobFailed as failure:
            log.error("parsing a PDF failed", url=page.url, reason=str(failure))  # noqa: TRY400 - the child's traceback stays with it
            raise ParseLimitExceeded(f"The PDF could not be parsed: {failure}") from failure

    async def inspect(self, html: str, base_url: str) -> HtmlFacts:
        """Return the facts about an HTML string."""
        try:
            return await self._ask(InspectJob(html, base_url), HtmlFacts, None)
        except _JobFailed as failure:
            raise ParseLimitExceeded(f"The HTML could not be parsed: {failure}") from failure

    async def find_stylesheets(self, page: FetchedPage) -> list[str]:
        """Return the URLs of the style sheets that a page links to."""
        job = StylesheetsJob(page.body, _content_type(page), page.final_url)
        return await self._ask_or_limit(job, list[str], page.url)

    async def read_branding(self, page: FetchedPage, sheets: Sequence[str]) -> Mapping[str, Json]:
        """Return a page's branding, given the style sheets that it links to."""
        samples = page.style_samples
        job = BrandingJob(page.body, _content_type(page), page.final_url, tuple(sheets), samples)
        return await self._ask_or_limit(job, dict[str, Json], page.url)

    async def compare(self, before: str, after: str, url: str) -> Comparison:
        """Return the difference between two versions of a page."""
        return await self._ask_or_limit(CompareJob(before, after), Comparison, url)

    async def extract_fields(self, job: FieldsJob) -> ExtractedData:
        """Return what a saved page has for the fields of a schema, found without a model."""
        return await self._ask_or_limit(job, ExtractedData, job.url)

    async def rank_passages(
        self, markdown: str, query: PassageQuery, *, limit: int
    ) -> tuple[RankedPassage, ...]:
        """Return the passages of a saved page that a question is about, the best first."""
        job = PassagesJob(markdown, query, limit)
        return await self._ask_or_limit(job, tuple[RankedPassage, ...], None)

    async def try_recipes(self, job: TryRecipesJob) -> RecipeTrials:
        """Do the same as `extract_fields`, by the first recipe that holds where there is one."""
        return await self._ask_or_limit(job, RecipeTrials, job.url)

    async def learn_recipe(self, job: LearnRecipeJob) -> Recipe:
        """Return rules that find the proved ones of these values in a saved page."""
        return await self._ask_or_limit(job, Recipe, job.url)

    async def _ask_or_limit(self, job: SandboxJob, answer: type[T], url: str | None) -> T:
        """Return the answer to a job that has no lesser result to fall back to."""
        try:
            return await self._ask(job, answer, url)
        except _JobFailed as failure:
            message = f"The job '{job.kind}' on {url or 'a saved page'} failed: {failure}"
            raise ParseLimitExceeded(message, url=url) from failure

    async def _read_unparsed(
        self, page: FetchedPage, options: ExtractOptions, reason: str
    ) -> Extraction:
        formats = UnparsedFormats.of(options)
        job = UnparsedJob(page.body, _content_type(page), page.final_url, formats, reason)
        try:
            return (await self._ask(job, ExtractionAnswer, page.url)).restore(page.body)
        except _JobFailed as failure:
            raise ParseLimitExceeded(
                f"The text of {page.url} could not be read: {failure}", url=page.url
            ) from failure

    async def _ask(
        self, job: SandboxJob, answer: type[T], url: str | None, who: Requester = OWNER_REQUESTER
    ) -> T:
        message = Message.of(job.kind, job)

        # Decoding is part of the work: a worker that sends a malformed answer is replaced.
        async def work(worker: ExtractionWorker) -> T | CinderError | _JobFailed:
            reply = await worker.run(message)
            if reply.kind == "invalid":
                return InvalidRequest(problems=reply.read(tuple[FieldProblem, ...]))
            if reply.kind == "unsupported":
                return Unsupported(reply.read(str)[:_MAX_MESSAGE_CHARS])
            if reply.kind == "failed":
                return _JobFailed(reply.read(str)[:_MAX_REASON_CHARS])
            return reply.read(answer)

        outcome = await self.run(work, url, who)
        if isinstance(outcome, CinderError | _JobFailed):
            raise outcome
        return outcome


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """The sandbox for pages, and the one for PDF documents, so that no page waits for those."""

    pages: ExtractionSandbox
    pdfs: ExtractionSandbox


def _content_type(page: FetchedPage) -> str:
    return page.headers.get("content-type", "")

"""The sandbox: runs extraction in child processes, so that no page can harm the server."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog

from cinder.errors import InvalidRequest, ParseLimitExceeded, Unsupported
from cinder.fair_queue import OWNER_REQUESTER, Requester
from cinder.models.document import Extraction, FetchedPage, HtmlFacts, Json
from cinder.models.extraction import ExtractedData, FieldValue, PassageQuery, RankedPassage
from cinder.models.recipe import Recipe, RecipeTrials
from cinder.models.request import ExtractOptions
from cinder.models.saved import Comparison
from cinder.sandbox.branding_messages import (
    branding_job,
    read_brand,
    read_stylesheets,
    stylesheets_job,
)
from cinder.sandbox.extraction_messages import (
    fields_job,
    learn_recipe_job,
    read_fields,
    read_recipe,
    read_tried,
    try_recipes_job,
)
from cinder.sandbox.messages import (
    Message,
    extract_job,
    inspect_job,
    pdf_job,
    read_extraction,
    read_facts,
    read_invalid,
    read_unsupported,
    unparsed_job,
)
from cinder.sandbox.pool import ExtractionWorker, WorkerPool
from cinder.sandbox.text_messages import compare_job, passages_job, read_comparison, read_passages

T = TypeVar("T")

log = structlog.get_logger()


class _JobFailed(Exception):
    """A child met something that extraction did not foresee, said so, and goes on."""


class ExtractionSandbox(WorkerPool):
    """The child processes, asked to turn pages into content."""

    async def extract(
        self, page: FetchedPage, options: ExtractOptions, who: Requester = OWNER_REQUESTER
    ) -> Extraction:
        """Turn a fetched page into content; one beyond the limits gives its bare text, flagged.

        Raises:
            InvalidRequest: one of the caller's selectors is not valid.
            ParseLimitExceeded: the page took too long or too much memory, and is no text.
            Overloaded: too many slow pages wait already.
        """
        content_type = page.headers.get("content-type", "")
        job = extract_job(page.body, content_type, page.final_url, options, page.unseen)
        read = partial(read_extraction, body=page.body)
        try:
            return await self._ask(job, read, page.url, who)
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
            return unparsed

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
        job = pdf_job(page.body, page.final_url, options, max_pages)
        read = partial(read_extraction, body=page.body)
        try:
            return await self._ask(job, read, page.url, who)
        except _JobFailed as failure:
            log.error("parsing a PDF failed", url=page.url, reason=str(failure))  # noqa: TRY400 - the child's traceback stays with it
            raise ParseLimitExceeded(f"The PDF could not be parsed: {failure}") from failure

    async def inspect(self, html: str, base_url: str) -> HtmlFacts:
        """Return the facts about an HTML string.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        try:
            return await self._ask(inspect_job(html, base_url), read_facts, None)
        except _JobFailed as failure:
            raise ParseLimitExceeded(f"The HTML could not be parsed: {failure}") from failure

    async def find_stylesheets(self, page: FetchedPage) -> list[str]:
        """Return the addresses of the style sheets that a page links to.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        return await self._ask_or_limit(stylesheets_job(page), read_stylesheets, page.url)

    async def read_branding(self, page: FetchedPage, sheets: Sequence[str]) -> Mapping[str, Json]:
        """Return a page's branding, given the style sheets that it links to.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        return await self._ask_or_limit(branding_job(page, sheets), read_brand, page.url)

    async def compare(self, before: str, after: str, url: str) -> Comparison:
        """Return how two versions of a page differ.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        return await self._ask_or_limit(compare_job(before, after), read_comparison, url)

    async def extract_fields(
        self,
        text: str | None,
        markdown: str | None,
        *,
        content_type: str,
        url: str,
        schema: Mapping[str, Json],
    ) -> ExtractedData:
        """Return what a saved page holds for the fields of a valid schema, found without a model.

        Args:
            text: the page as it came, decoded; None for what is no text, such as a PDF.
            markdown: what was made of it.
            content_type: the whole Content-Type header, empty when there was none.
            url: where the page came from.
            schema: a valid JSON Schema.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        job = fields_job(text, markdown, content_type=content_type, url=url, schema=schema)
        return await self._ask_or_limit(job, read_fields, url)

    async def rank_passages(
        self, markdown: str, query: PassageQuery, *, limit: int
    ) -> tuple[RankedPassage, ...]:
        """Return the passages of a saved page that a question is about, the best first.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        job = passages_job(markdown, query, limit)
        return await self._ask_or_limit(job, read_passages, None)

    async def try_recipes(
        self,
        text: str,
        markdown: str | None,
        *,
        content_type: str,
        url: str,
        schema: Mapping[str, Json],
        recipes: Sequence[Recipe],
    ) -> RecipeTrials:
        """Return what `extract_fields` does, by the first recipe that holds where it can be.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        job = try_recipes_job(
            text, markdown, content_type=content_type, url=url, schema=schema, recipes=recipes
        )
        return await self._ask_or_limit(job, read_tried, url)

    async def learn_recipe(
        self,
        text: str,
        markdown: str | None,
        *,
        content_type: str,
        url: str,
        schema: Mapping[str, Json],
        values: Sequence[FieldValue],
    ) -> Recipe:
        """Return the rules by which a saved page gives the proved ones of some values again.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        job = learn_recipe_job(
            text, markdown, content_type=content_type, url=url, schema=schema, values=values
        )
        return await self._ask_or_limit(job, read_recipe, url)

    async def _ask_or_limit(self, job: Message, read: Callable[[Message], T], url: str | None) -> T:
        """Return the answer to a job of which there is no less to be had when it fails."""
        try:
            return await self._ask(job, read, url)
        except _JobFailed as failure:
            message = f"The job '{job.kind}' on {url or 'a saved page'} failed: {failure}"
            raise ParseLimitExceeded(message, url=url) from failure

    async def _read_unparsed(
        self, page: FetchedPage, options: ExtractOptions, reason: str
    ) -> Extraction:
        job = unparsed_job(page.body, page.headers.get("content-type", ""), options, reason)
        try:
            return await self._ask(job, partial(read_extraction, body=page.body), page.url)
        except _JobFailed as failure:
            raise ParseLimitExceeded(
                f"The text of {page.url} could not be read: {failure}", url=page.url
            ) from failure

    async def _ask(
        self,
        job: Message,
        read: Callable[[Message], T],
        url: str | None,
        who: Requester = OWNER_REQUESTER,
    ) -> T:
        async def work(worker: ExtractionWorker) -> T | InvalidRequest | Unsupported | _JobFailed:
            return _read_outcome(await worker.run(job), read)

        outcome = await self.run(work, url, who)
        if isinstance(outcome, InvalidRequest | Unsupported | _JobFailed):
            raise outcome
        return outcome


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Where pages are turned into content and, so that none waits for them, PDF documents."""

    pages: ExtractionSandbox
    pdfs: ExtractionSandbox


def _read_outcome(
    answer: Message, read: Callable[[Message], T]
) -> T | InvalidRequest | Unsupported | _JobFailed:
    if answer.kind == "invalid":
        return read_invalid(answer)
    if answer.kind == "unsupported":
        return read_unsupported(answer)
    if answer.kind == "failed":
        return _JobFailed(str(answer.header.get("reason"))[:200])
    return read(answer)

"""The stages of an extraction, what they share, and the pages they read."""

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from cinder.errors import CinderError, InvalidRequest, ScrapeTimeout
from cinder.extraction.field_specs import FIELDS_VERSION
from cinder.fair_queue import FairQueue, Requester
from cinder.llm.base import Budget
from cinder.llm.schema_check import SchemaCheck
from cinder.models.document import Document, Json, Verdict, VerdictKind
from cinder.models.extraction import ExtractedData, ExtractionEngine, ExtractRequest, PageSource
from cinder.models.request import ContentOptions, Format, PdfParser, RenderOptions, ScrapeRequest
from cinder.models.saved import SavedKind
from cinder.sandbox.extraction_messages import FieldsJob
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.found_fields import SchemaFields, list_fields
from cinder.services.scraping.outcome import Scraper


@dataclass(frozen=True, kw_only=True)
class LoadedPage:
    """A page with its saved texts, in which quotes are looked up."""

    url: str
    markdown: str | None
    text: str | None
    """The page as received, decoded; None if it is no text, such as a PDF."""
    content_type: str
    owner: str | None = None
    """The only caller who may see it; None if all may."""

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the page's URL and content."""
        parts = (self.url, self.content_type, self.markdown or "", self.text or "")
        digest = hashlib.sha256()
        for part in parts:
            digest.update(hashlib.sha256(part.encode("utf-8", "replace")).digest())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSpec:
    """The schema and prompt of an extraction."""

    prompt: str
    schema: Mapping[str, Json]
    check: SchemaCheck
    fields: SchemaFields
    is_schema_given: bool = True
    """Whether the caller sent the schema; else it was derived from the prompt."""


def make_extraction_spec(
    prompt: str, schema: Mapping[str, Json], *, is_schema_given: bool = True
) -> ExtractionSpec:
    """Return the spec of a schema.

    Raises:
        InvalidRequest: it is not valid JSON Schema; the message says where.
    """
    return ExtractionSpec(
        prompt=prompt,
        schema=schema,
        check=SchemaCheck(schema),
        fields=list_fields(schema),
        is_schema_given=is_schema_given,
    )


def read_schema_of_scrape(request: ScrapeRequest) -> ExtractionSpec | None:
    """Return what a scrape's schema asks for; None without a schema.

    Raises:
        InvalidRequest: it is not valid JSON Schema; the message says where.
    """
    if request.extract_schema is None:
        return None
    try:
        return make_extraction_spec(request.extract or "", json.loads(request.extract_schema))
    except InvalidRequest as error:
        problems = (
            replace(problem, field=f"extractSchema{problem.field.removeprefix('schema')}")
            for problem in error.problems
        )
        raise InvalidRequest(problems=tuple(problems)) from None


@dataclass(slots=True, kw_only=True)
class ExtractionRun:
    """The state of one request."""

    caller: str | None = None
    """The caller; None if there is none in particular."""
    budget: Budget | None = None
    """The budget for the model; None if there is no model."""
    engines: list[ExtractionEngine] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_model_down: bool = False
    """Whether the model failed and is not asked again."""

    @property
    def may_ask(self) -> bool:
        """Whether there is a model that can be asked."""
        return self.budget is not None and not self.is_model_down

    def note_engine(self, engine: ExtractionEngine) -> None:
        """Record an engine that found values."""
        if engine not in self.engines:
            self.engines.append(engine)


class ExtractionStage(Protocol):
    """Finds values on one page."""

    @property
    def engine(self) -> ExtractionEngine:
        """Its engine."""
        ...

    @property
    def identity(self) -> str | None:
        """What its findings depend on besides page, spec and fields; None if not cacheable."""
        ...

    async def find(
        self, page: LoadedPage, spec: ExtractionSpec, fields: tuple[str, ...], run: ExtractionRun
    ) -> ExtractedData:
        """Return the values of these fields; `missing` names those without one.

        Raises:
            CinderError: the stage failed for this page.
        """
        ...


class RulesStage:
    """Fills a schema by rules, from what the page itself declares and shows."""

    engine = ExtractionEngine.RULES
    identity = f"rules-{FIELDS_VERSION}"

    def __init__(self, sandbox: ExtractionSandbox) -> None:
        self._sandbox = sandbox

    async def find(
        self, page: LoadedPage, spec: ExtractionSpec, _fields: tuple[str, ...], _run: ExtractionRun
    ) -> ExtractedData:
        """Return the values of all fields; those that another stage found are not left out.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        return await self._sandbox.extract_fields(
            FieldsJob(page.text, page.markdown, page.content_type, page.url, spec.schema)
        )


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A URL with its outcome, and the page if it could be read."""

    source: PageSource
    page: LoadedPage | None = None


def page_of(document: Document) -> LoadedPage:
    """Return a document as a page for stages."""
    return LoadedPage(
        url=document.final_url,
        markdown=document.content.markdown,
        # A PDF has an original file instead, and its text is the markdown.
        text=None if document.original is not None else document.content.text,
        content_type=document.content_type,
    )


# Pages with these verdicts do not have the requested content.
_OTHER_PAGES = frozenset((VerdictKind.LOGIN_WALL, VerdictKind.CONSENT_ONLY, VerdictKind.SOFT_404))
_MAX_SCRAPE_SECONDS = 60.0
_MAX_ERROR_CHARS = 300


class PageScraper:
    """Scrapes the pages of extractions, with one limit for all of them together."""

    def __init__(self, scraper: Scraper, at_once: int) -> None:
        self._scraper = scraper
        self._slots = FairQueue(at_once)

    async def read(self, request: ExtractRequest, seconds: float) -> list[SourcePage]:
        """Return the page of each URL, or why it failed; that does not affect the others."""
        limit = min(seconds, _MAX_SCRAPE_SECONDS)
        async with asyncio.TaskGroup() as tasks:
            reads = [tasks.create_task(self._read(url, request, limit)) for url in request.urls]
        return [task.result() for task in reads]

    async def _read(self, url: str, request: ExtractRequest, seconds: float) -> SourcePage:
        # The same options as in the tools that read a page, so that they share the cached copy.
        scrape_request = ScrapeRequest(
            url=url,
            formats=(Format.MARKDOWN,),
            timeout_ms=max(1, round(seconds * 1000)),
            cache=request.cache,
            content=ContentOptions(pdf_parser=PdfParser()),
            render=RenderOptions(mode=request.mode, proxy_pool=request.proxy_pool),
            caller=request.caller,
        )
        try:
            requester = Requester(caller=request.caller)
            async with asyncio.timeout(seconds), self._slots.hold(requester):
                outcome = await self._scraper.scrape(scrape_request)
        except TimeoutError:
            late = ScrapeTimeout("There was no time left for this page.", url=url)
            return _failed(url, late)
        except CinderError as error:
            return _failed(url, error)
        document, verdict = outcome.document, outcome.document.verdict
        uris = outcome.saved.uris if outcome.saved else {}
        refusal = None
        if document.media is not None:
            refusal = f"It is a file, {document.media.mime}, without text to extract from."
        elif verdict.kind in _OTHER_PAGES:
            refusal = f"It is not the page that was asked for: {verdict.kind} ({verdict.evidence})."
        source = PageSource(
            url=url,
            final_url=document.final_url,
            title=document.content.metadata.title,
            verdict=verdict,
            uri=uris.get(SavedKind.CLEANED),
            page_uri=uris.get(SavedKind.RAW),
            error=refusal,
        )
        return SourcePage(source, None if refusal else page_of(document))


def _failed(url: str, error: CinderError) -> SourcePage:
    verdict = Verdict(VerdictKind(error.verdict)) if error.verdict else None
    return SourcePage(
        PageSource(
            url=url, verdict=verdict, error=f"{error.code}: {error.message[:_MAX_ERROR_CHARS]}"
        )
    )

"""The protocol of an extraction stage, the pages and spec it gets, and the stage of rules."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from cinder.extraction.field_specs import FIELDS_VERSION
from cinder.llm.base import Budget
from cinder.llm.schema_check import SchemaCheck
from cinder.models.document import Document, Json
from cinder.models.extraction import ExtractedData, ExtractionEngine, ExtractRequest, PageSource
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.found_fields import SchemaFields, list_fields


@dataclass(frozen=True, kw_only=True)
class LoadedPage:
    """A page that was read: the texts that quotes are looked up in, as they are saved."""

    url: str
    markdown: str | None
    text: str | None
    """The page as it came, decoded; None for what is no text, such as a PDF."""
    content_type: str
    owner: str | None = None
    """The caller who alone may see it; None where all may."""

    @cached_property
    def fingerprint(self) -> str:
        """What pages of the same address and content share."""
        parts = (self.url, self.content_type, self.markdown or "", self.text or "")
        digest = hashlib.sha256()
        for part in parts:
            digest.update(hashlib.sha256(part.encode("utf-8", "replace")).digest())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionSpec:
    """What is wanted of the pages."""

    prompt: str
    schema: Mapping[str, Json]
    check: SchemaCheck
    fields: SchemaFields
    is_schema_given: bool = True
    """Whether the caller wrote the schema; else it was read off the prompt."""


def make_extraction_spec(
    prompt: str, schema: Mapping[str, Json], *, is_schema_given: bool = True
) -> ExtractionSpec:
    """Return what is wanted by a schema.

    Raises:
        InvalidRequest: it is not valid JSON Schema; names where.
    """
    check = SchemaCheck(schema)
    return ExtractionSpec(
        prompt=prompt,
        schema=schema,
        check=check,
        fields=list_fields(schema),
        is_schema_given=is_schema_given,
    )


@dataclass(slots=True, kw_only=True)
class ExtractionRun:
    """What is noted while a request is under way."""

    caller: str | None = None
    """Who asks; None where nobody in particular does."""
    budget: Budget | None = None
    """What may be asked of the model; None where there is none."""
    engines: list[ExtractionEngine] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_model_down: bool = False
    """Whether the model failed, so that it is asked no more."""

    @property
    def may_ask(self) -> bool:
        """Whether there is a model that is to be asked."""
        return self.budget is not None and not self.is_model_down

    def note_engine(self, engine: ExtractionEngine) -> None:
        """Remember what values came from."""
        if engine not in self.engines:
            self.engines.append(engine)


class ExtractionStage(Protocol):
    """Finds values on one page."""

    @property
    def engine(self) -> ExtractionEngine:
        """What it counts as."""
        ...

    @property
    def identity(self) -> str | None:
        """What its findings depend on besides page, wish and fields; None: do not keep them."""
        ...

    async def find(
        self, page: LoadedPage, wish: ExtractionSpec, fields: tuple[str, ...], run: ExtractionRun
    ) -> ExtractedData:
        """Return what it finds of these fields; its `missing` are those that it does not.

        Raises:
            CinderError: it cannot, for this page.
        """
        ...


class RulesStage:
    """Fills a schema by what the page itself says."""

    engine = ExtractionEngine.RULES
    identity = f"rules-{FIELDS_VERSION}"

    def __init__(self, sandbox: ExtractionSandbox) -> None:
        self._sandbox = sandbox

    async def find(
        self, page: LoadedPage, wish: ExtractionSpec, _fields: tuple[str, ...], _run: ExtractionRun
    ) -> ExtractedData:
        """Return what the page says of all fields; whoever has some already leaves those out.

        Raises:
            ParseLimitExceeded: it took too long or too much memory.
            Overloaded: too many slow pages wait already.
        """
        return await self._sandbox.extract_fields(
            page.text,
            page.markdown,
            content_type=page.content_type,
            url=page.url,
            schema=wish.schema,
        )


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A URL, what came of it, and the page where there is one to read."""

    source: PageSource
    page: LoadedPage | None = None


class PageReader(Protocol):
    """Gets the pages that an extraction is about."""

    async def read(self, request: ExtractRequest, seconds: float) -> list[SourcePage]:
        """Return what came of each URL; one that failed says why, and the others go on."""
        ...


def page_of(document: Document) -> LoadedPage:
    """Return a document as stages read it."""
    return LoadedPage(
        url=document.final_url,
        markdown=document.content.markdown,
        # Of a PDF it is the file that came, and its text is the markdown.
        text=None if document.original is not None else document.content.text,
        content_type=document.content_type,
    )


def describe_failures(pages: Sequence[SourcePage]) -> str:
    """Return what was tried and came to nothing."""
    return " ".join(f"{each.source.url}: {each.source.error}" for each in pages)

"""A stage of extraction: one way to find values on a page, tried in the order of the stages."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from cinder.llm.budget import Budget
from cinder.llm.schema_check import SchemaCheck
from cinder.model.document import Json
from cinder.model.extract import Engine
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.open_fields import SchemaFields, list_fields


@dataclass(frozen=True, kw_only=True)
class ReadPage:
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
class Wish:
    """What is wanted of the pages."""

    prompt: str
    schema: Mapping[str, Json]
    check: SchemaCheck
    fields: SchemaFields
    is_schema_given: bool = True
    """Whether the caller wrote the schema; else it was read off the prompt."""


def make_wish(prompt: str, schema: Mapping[str, Json], *, is_schema_given: bool = True) -> Wish:
    """Return what is wanted by a schema.

    Raises:
        InvalidRequest: it is not valid JSON Schema; names where.
    """
    check = SchemaCheck(schema)
    return Wish(
        prompt=prompt,
        schema=schema,
        check=check,
        fields=list_fields(schema),
        is_schema_given=is_schema_given,
    )


@dataclass(slots=True, kw_only=True)
class Run:
    """What is noted while a request is under way."""

    caller: str | None = None
    """Who asks; None where nobody in particular does."""
    budget: Budget | None = None
    """What may be asked of the model; None where there is none."""
    engines: list[Engine] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_model_down: bool = False
    """Whether the model failed, so that it is asked no more."""

    @property
    def may_ask(self) -> bool:
        """Whether there is a model that is to be asked."""
        return self.budget is not None and not self.is_model_down

    def note_engine(self, engine: Engine) -> None:
        """Remember what values came from."""
        if engine not in self.engines:
            self.engines.append(engine)


class Stage(Protocol):
    """Finds values on one page."""

    @property
    def engine(self) -> Engine:
        """What it counts as."""
        ...

    @property
    def identity(self) -> str | None:
        """What its findings depend on besides page, wish and fields; None: do not keep them."""
        ...

    async def find(
        self, page: ReadPage, wish: Wish, fields: tuple[str, ...], run: Run
    ) -> ExtractedData:
        """Return what it finds of these fields; its `missing` are those that it does not.

        Raises:
            CinderError: it cannot, for this page.
        """
        ...

"""Extraction requests and results: values with their evidence, and passages of a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from cinder.models.document import Json, Verdict
from cinder.models.options import Option
from cinder.models.request import MAX_TIMEOUT_MS, CachePolicy, Mode, ModeOption, ProxyPoolOption

FieldPath = tuple[str | int, ...]
"""The path of a value in the data: property names and array indexes."""


class Method(StrEnum):
    """How a value was found."""

    JSON_LD = "json-ld"
    MICRODATA = "microdata"
    META = "meta"
    TABLE = "table"
    DEFINITION_LIST = "definition-list"
    LABEL = "label"
    HEADING = "heading"
    NAMED_ELEMENT = "named-element"
    TYPED = "typed"
    MODEL = "model"
    CALLER = "caller"
    """The caller supplied the value."""
    RECIPE = "recipe"


class Grounding(StrEnum):
    """Whether a value's quote was found in its page."""

    VERIFIED = "verified"
    """The page contains the quote literally, and the quote is the value."""
    NORMALIZED = "normalized"
    """The page contains the quote literally, and the value follows from it by a named rule."""
    UNVERIFIED = "unverified"
    """The page does not contain the quote."""


class QuotedText(StrEnum):
    """The text of a saved page that a quote's offsets refer to."""

    MARKDOWN = "markdown"
    PAGE = "page"
    """The decoded page (`rawHtml`), for values that appear only in its markup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence for a value: the text at the offsets is exactly the quote."""

    method: Method
    quote: str
    grounding: Grounding
    url: str = ""
    label: str = ""
    """The page's label for the value."""
    text: QuotedText | None = None
    start: int | None = None
    end: int | None = None
    normalization: str = ""
    """The rule that derives the value from the quote; empty where they are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldValue:
    """A value, its path in the data, and its evidence."""

    path: FieldPath
    value: Json
    evidence: tuple[Evidence, ...]
    """The deciding one first; the others confirm it."""
    score: float = 1.0
    """How well the page's label matches the field, up to 1."""

    @property
    def is_grounded(self) -> bool:
        """Whether some page contains the value."""
        return any(item.grounding is not Grounding.UNVERIFIED for item in self.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another value for a field that already has one."""

    path: FieldPath
    kept: Json
    other: FieldValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedData:
    """The data of one or several pages, with evidence for each value."""

    data: Json = None
    values: tuple[FieldValue, ...] = ()
    missing: tuple[str, ...] = ()
    """The fields of the schema without a value: `address.city`, `offers[]`."""
    conflicts: tuple[Conflict, ...] = ()
    warnings: tuple[str, ...] = field(default=())


class ExtractionEngine(StrEnum):
    """What found the values of a response."""

    RECIPE = "recipe"
    """A recipe learned from the site's pages."""
    RULES = "rules"
    MODEL = "model"
    CALLER = "caller"
    """The caller found them, and cinder verified them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedValue:
    """A value that the caller found on a page, with a quote as evidence."""

    path: FieldPath
    value: Json
    quote: str
    url: str | None = None
    """The page; None where it may be any of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """Pages, and what to extract from them: a prompt, a JSON Schema, or both."""

    urls: tuple[str, ...]
    caller: str
    prompt: str = ""
    schema: Mapping[str, Json] | None = None
    mode: ModeOption = Mode.SMART
    proxy_pool: ProxyPoolOption = None
    strict_grounding: Annotated[
        bool, Option("Leave out values that no page proves.", hint="Drop unverified")
    ] = False
    cache: CachePolicy = field(default_factory=CachePolicy)
    timeout_ms: Annotated[
        int,
        Option(
            "Milliseconds that the whole request may take; what is not found by then is missing.",
            name="timeout",
            bounds={"ge": 1, "le": MAX_TIMEOUT_MS},
            flags=None,
        ),
    ] = MAX_TIMEOUT_MS
    claims: tuple[ClaimedValue, ...] = ()
    """Values that the caller found, to be verified; the model is not called then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSource:
    """One of the pages: its verdict, and the URIs of its saved texts."""

    url: str
    final_url: str | None = None
    title: str | None = None
    verdict: Verdict | None = None
    uri: str | None = None
    """The saved markdown, which `markdown` offsets refer to."""
    page_uri: str | None = None
    """The saved page, which `page` offsets refer to."""
    error: str | None = None
    """Why it could not be read, starting with the error code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPassage:
    """A passage that may contain missing values."""

    id: str
    url: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackPassages:
    """The fields that cinder could not find, and passages in which the caller may find them."""

    fields: tuple[str, ...]
    passages: tuple[OfferedPassage, ...]
    schema: Mapping[str, Json] | None
    instruction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """The calls to the language model."""

    model: str
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractAnswer:
    """The data, its sources, and what is missing."""

    extracted: ExtractedData
    sources: tuple[PageSource, ...]
    engines: tuple[ExtractionEngine, ...]
    schema_problems: tuple[str, ...] = ()
    """The paths at which the data does not match the caller's schema."""
    usage: ModelUsage | None = None
    """None where no model is configured."""
    fallback_passages: FallbackPassages | None = None


class ValueSign(StrEnum):
    """What a text must contain to hold a value of some kind."""

    FIGURE = "figure"
    AT = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriedField:
    """A field whose value a passage may contain."""

    name: str
    """With its parents' names in front: `address city`."""
    description: str = ""
    sign: ValueSign | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageQuery:
    """What passages are ranked by: a prompt, fields, or both."""

    prompt: str = ""
    fields: tuple[QueriedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPassage:
    """An unchanged part of a saved markdown text."""

    id: str
    """Derived from the text alone, so changes elsewhere on the page do not affect it."""
    heading: str
    """The headings above it, the outermost first."""
    text: str
    start: int
    end: int
    score: float
    """From 0, not relevant, to 1."""
    context: str = ""
    """The header rows of a table, where the passage contains later rows of it."""

"""Extraction requests and results: values with their evidence, and passages of a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from cinder.models.document import Json, Verdict
from cinder.models.options import Option
from cinder.models.request import MAX_TIMEOUT_MS, CachePolicy, Mode, ModeOption

FieldPath = tuple[str | int, ...]
"""Where a value stands in the data: names of properties, and places in arrays."""


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
    """The caller says so."""
    RECIPE = "recipe"


class Grounding(StrEnum):
    """What looking a value's quote up in its page showed."""

    VERIFIED = "verified"
    """The quote stands there literally, and is the value."""
    NORMALIZED = "normalized"
    """The quote stands there literally, and the value follows from it by a stated rule."""
    UNVERIFIED = "unverified"
    """The page does not hold the quote."""


class QuotedText(StrEnum):
    """Which text of a saved page a quote's offsets count in."""

    MARKDOWN = "markdown"
    PAGE = "page"
    """The page as it came, decoded (`rawHtml`): what only its markup says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What shows a value: the text at the offsets is the quote, character for character."""

    method: Method
    quote: str
    grounding: Grounding
    url: str = ""
    label: str = ""
    """What the page calls the value."""
    text: QuotedText | None = None
    start: int | None = None
    end: int | None = None
    normalization: str = ""
    """The rule by which the value follows from the quote; empty where it is the quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldValue:
    """A value, where it stands in the data, and what shows it."""

    path: FieldPath
    value: Json
    evidence: tuple[Evidence, ...]
    """The deciding one first; others say the same."""
    score: float = 1.0
    """How well what the page calls it fits the field, up to 1."""

    @property
    def is_grounded(self) -> bool:
        """Whether some page holds the value."""
        return any(each.grounding is not Grounding.UNVERIFIED for each in self.evidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Another value for a field that already has one."""

    path: FieldPath
    kept: Json
    other: FieldValue


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedData:
    """The data of one page or several, and what is known about each value of it."""

    data: Json = None
    values: tuple[FieldValue, ...] = ()
    missing: tuple[str, ...] = ()
    """The fields of the schema that nothing was found for: `address.city`, `offers[]`."""
    conflicts: tuple[Conflict, ...] = ()
    warnings: tuple[str, ...] = field(default=())


class ExtractionEngine(StrEnum):
    """What found the values of an answer."""

    RECIPE = "recipe"
    """What was learned of the site's pages."""
    RULES = "rules"
    MODEL = "model"
    CALLER = "caller"
    """The caller found them, and cinder looked them up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedValue:
    """A value that the caller says a page holds, with the words that show it."""

    path: FieldPath
    value: Json
    quote: str
    url: str | None = None
    """The page; None where any of them may hold it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractRequest:
    """Pages, and what is wanted of them: by a prompt, a JSON Schema, or both."""

    urls: tuple[str, ...]
    caller: str
    prompt: str = ""
    schema: Mapping[str, Json] | None = None
    mode: ModeOption = Mode.SMART
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
    """What the caller found himself, to be checked; no model is asked then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSource:
    """One of the pages: what was really got, and where it is kept."""

    url: str
    final_url: str | None = None
    title: str | None = None
    verdict: Verdict | None = None
    uri: str | None = None
    """The saved markdown, in which `markdown` offsets count."""
    page_uri: str | None = None
    """The saved page as it came, in which `page` offsets count."""
    error: str | None = None
    """Why nothing was read of it, code first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedPassage:
    """A passage that may hold what is missing."""

    id: str
    url: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FallbackPassages:
    """What nothing here could find, for the caller to find."""

    fields: tuple[str, ...]
    passages: tuple[OfferedPassage, ...]
    schema: Mapping[str, Json] | None
    instruction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUsage:
    """What was asked of the language model."""

    model: str
    calls: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractAnswer:
    """The data, what proves it, and what is still open."""

    extracted: ExtractedData
    sources: tuple[PageSource, ...]
    engines: tuple[ExtractionEngine, ...]
    schema_problems: tuple[str, ...] = ()
    """Where the data does not match the caller's schema."""
    usage: ModelUsage | None = None
    """None where there is no model to ask."""
    hand_off: FallbackPassages | None = None


class ValueSign(StrEnum):
    """What a text must have in it to say a value of some kind."""

    FIGURE = "figure"
    AT = "@"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueriedField:
    """A field that a passage may hold the value of."""

    name: str
    """With what it belongs to in front: `address city`."""
    description: str = ""
    sign: ValueSign | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassageQuery:
    """What is asked of a page: in words, by the names of fields, or both."""

    prompt: str = ""
    fields: tuple[QueriedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPassage:
    """A part of a saved markdown text, exactly as it stands there."""

    id: str
    """The same for the same text, whatever else changes on its page."""
    heading: str
    """The headings that it stands under, the outermost first."""
    text: str
    start: int
    end: int
    score: float
    """From 0, which is nothing that was asked for, to 1."""
    context: str = ""
    """What it cannot be read without: the first rows of a table that it has later rows of."""

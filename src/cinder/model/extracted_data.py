"""Extracted data: values that a page holds for the fields of a schema, each with its proof."""

from dataclasses import dataclass, field
from enum import StrEnum

from cinder.model.document import Json

Path = tuple[str | int, ...]
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

    path: Path
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

    path: Path
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

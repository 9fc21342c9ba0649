"""Extraction: what a caller wants to know of some pages, and what is answered."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cinder.model.document import Json, Verdict
from cinder.model.extracted_data import ExtractedData, Path
from cinder.model.request import CachePolicy, Mode


class Engine(StrEnum):
    """What found the values of an answer."""

    RECIPE = "recipe"
    """What was learned of the site's pages."""
    RULES = "rules"
    MODEL = "model"
    CALLER = "caller"
    """The caller found them, and cinder looked them up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A value that the caller says a page holds, with the words that show it."""

    path: Path
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
    mode: Mode = Mode.SMART
    strict_grounding: bool = False
    """Whether values that no page proves are left out."""
    cache: CachePolicy = field(default_factory=CachePolicy)
    timeout_ms: int = 300_000
    claims: tuple[Claim, ...] = ()
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
class HandOff:
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
    engines: tuple[Engine, ...]
    schema_problems: tuple[str, ...] = ()
    """Where the data does not match the caller's schema."""
    usage: ModelUsage | None = None
    """None where there is no model to ask."""
    hand_off: HandOff | None = None

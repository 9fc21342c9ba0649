"""Fetched pages, the documents extracted from them, and their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from cinder.models.request import ActionType

# How a browser found a part to be out of sight, in the words of the script that looks.
HIDING_WAYS: Final = frozenset(
    ("NOT_SHOWN", "LABEL", "SEE_THROUGH", "SHRUNK", "COLLAPSED", "BESIDE", "COLOURED", "OTHER")
)


class HiddenPart(NamedTuple):
    """An element whose text no visitor sees."""

    place: int
    """The character of the page's HTML before which the element's start tag has room for another
    attribute."""
    way: str
    """How it is out of sight, one of `WAYS`."""


# A value as JSON has it. msgspec, which reads annotations at run time, knows no recursive types.
if TYPE_CHECKING:
    Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
else:
    Json = Any

# The warning that tells of selectors without a match.
NOTHING_INCLUDED = "No element of the page matches includeTags."


class FetchSource(StrEnum):
    """Which kind of engine fetched a page."""

    NATIVE = "native"
    BROWSER = "browser"


class VerdictKind(StrEnum):
    """What a fetch really got."""

    OK = "ok"
    BLOCKED = "blocked"
    LOGIN_WALL = "login_wall"
    PAYWALL = "paywall"
    CONSENT_ONLY = "consent_only"
    SOFT_404 = "soft_404"
    HTTP_ERROR = "http_error"
    JS_SHELL = "js_shell"
    EMPTY = "empty"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The kind of thing a fetch got, and what shows it."""

    kind: VerdictKind = VerdictKind.OK
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Media:
    """Bytes handed through as they came, with their MIME type."""

    mime: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """What one browser action did."""

    type: ActionType
    message: str
    """What it did, in a sentence."""
    elapsed_ms: int = 0
    name: str | None = None
    """The name that the request gave a screenshot."""
    html: str | None = None
    """What a `scrape` took, as the page had it at that moment."""
    markdown: str | None = None
    """The same, converted."""
    value: Json = None
    """What a script returned."""
    screenshot: Media | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """What a server gave to ask later whether a page has changed."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A server's final answer, after redirects. Header names are lower-case."""

    url: str
    final_url: str
    status_code: int
    headers: Mapping[str, str]
    body: bytes
    source: FetchSource
    strategy: str
    is_cut: bool = False
    """Whether the connection, or what was packed in the body, broke off before its end."""
    screenshot: Media | None = None
    actions: tuple[ActionResult, ...] = ()
    style_samples: Mapping[str, Json] | None = None
    """How the page looks, by the styles that a browser computed, where that was asked for."""
    warnings: tuple[str, ...] = ()
    """What the reader should know about how the page was got."""
    pages_taken: int = 1
    """How many pages it took: in a browser, actions and scripts lead on to others."""
    unseen: tuple[HiddenPart, ...] = ()
    """The parts that a browser shows to nobody, in the order of the page."""

    @property
    def content_type(self) -> str:
        """The MIME type without its parameters, lower-case; empty when the server named none."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def validators(self) -> Validators:
        """The page's ETag and Last-Modified."""
        return Validators(
            etag=self.headers.get("etag"), last_modified=self.headers.get("last-modified")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """What a page says about itself."""

    title: str | None = None
    description: str | None = None
    language: str | None = None
    author: str | None = None
    published: str | None = None
    modified: str | None = None
    canonical: str | None = None
    site_name: str | None = None
    robots: str | None = None
    """What it asks robots to do, such as `noindex, nofollow`."""
    keywords: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    open_graph: Mapping[str, str] = field(default_factory=dict)
    json_ld: tuple[Json, ...] = ()
    page_count: int | None = None
    """How many pages a PDF has."""


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Extraction:
    """The content made of a page: one field for each format, None where it was not asked for."""

    text: str | None = None
    """The page decoded to text, unchanged otherwise."""
    markdown: str | None = None
    html: str | None = None
    links: tuple[str, ...] | None = None
    images: tuple[str, ...] | None = None
    branding: Mapping[str, Json] | None = None
    """How the page looks, each value with where it came from."""
    metadata: PageMetadata = field(default_factory=PageMetadata)
    word_count: int = 0
    token_count: int = 0
    empty_evidence: str = ""
    """What shows that a document has no text to take out; empty where it has."""
    is_partial: bool = False
    """Whether a limit cost some of the content; the warnings say which."""
    warnings: tuple[str, ...] = ()
    derived: dict[str, object] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What readers compute from these texts and keep with them; it is never stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A scraped page: where it came from, what it holds, how trustworthy it is."""

    url: str
    final_url: str
    status_code: int
    source: FetchSource
    strategy: str
    content_type: str
    scraped_at: datetime
    load_time_ms: int
    content: Extraction = field(default_factory=Extraction)
    media: Media | None = None
    """The file itself, where the URL led to one instead of a page."""
    original: Media | None = None
    """The file that the content was made of, where that is not text itself."""
    screenshot: Media | None = None
    actions: tuple[ActionResult, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    is_cut: bool = False
    """Whether it broke off before all of it had come."""
    validators: Validators = field(default_factory=Validators)
    extracted: str | None = None


# By role, the selectors by which its element is looked for, the best first.
BRAND_ROLES = {
    "html": ("html",),
    "body": ("body",),
    "h1": ("h1",),
    "h2": ("h2",),
    "h3": ("h3",),
    "text": ("main p", "article p", "p"),
    "link": ("main a[href]:not([class])", "p a[href]", "a[href]:not([class])", "a[href]"),
    "header": ("header", "[role=banner]"),
    "input": ("input[type=text]", "input[type=email]", "input[type=search]", "textarea"),
    "code": ("pre", "code"),
}
BUTTON = "button"
BUTTONS = (
    "button, [role=button], input[type=submit], a[class*=btn], a[class*=button], a[class*=cta]"
)
MAX_BUTTONS = 12

INHERITED_STYLES = ("color", "font-family", "font-size", "font-weight", "line-height")
BRAND_STYLES = (*INHERITED_STYLES, "background-color", "border-radius", "border-color")

"""Fetched pages, the documents extracted from them, and their verdicts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

# Why an element is hidden, in the words of the script that checks it in the browser.
HIDING_WAYS: Final = frozenset(
    ("NOT_SHOWN", "LABEL", "SEE_THROUGH", "SHRUNK", "COLLAPSED", "BESIDE", "COLOURED", "OTHER")
)


class HiddenPart(NamedTuple):
    """An element whose text is hidden from visitors."""

    place: int
    """The offset in the page's HTML at which an attribute can be inserted into the start tag."""
    way: str
    """How it is hidden, one of `HIDING_WAYS`."""


# A JSON value. msgspec reads annotations at run time and does not support recursive aliases.
if TYPE_CHECKING:
    Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
else:
    Json = Any

# The warning about selectors that match nothing.
NOTHING_INCLUDED = "No element of the page matches includeTags."


class FetchSource(StrEnum):
    """The kind of engine that fetched a page."""

    NATIVE = "native"
    BROWSER = "browser"


class VerdictKind(StrEnum):
    """What kind of page a fetch returned."""

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
    """The kind of page a fetch returned, and the evidence for it."""

    kind: VerdictKind = VerdictKind.OK
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Media:
    """Unchanged bytes with their MIME type."""

    mime: str
    data: bytes


class ActionType(StrEnum):
    """What a browser action does on a page."""

    WAIT = "wait"
    CLICK = "click"
    WRITE = "write"
    PRESS = "press"
    SCROLL = "scroll"
    SCREENSHOT = "screenshot"
    SCRAPE = "scrape"
    EXECUTE_JAVASCRIPT = "executeJavascript"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionResult:
    """The result of one browser action."""

    type: ActionType
    message: str
    """What it did, as a sentence."""
    elapsed_ms: int = 0
    name: str | None = None
    """The name of a screenshot, from the request."""
    html: str | None = None
    """The page's HTML at the time of a `scrape` action."""
    markdown: str | None = None
    """The same HTML, converted to markdown."""
    value: Json = None
    """The return value of a script."""
    screenshot: Media | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Validators:
    """The headers by which a later request can ask whether a page has changed."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return bool(self.etag or self.last_modified)


# A page's type is asked for a dozen times, and a site sends few different ones.
@lru_cache(maxsize=64)
def _mime_type_of(header: str) -> str:
    return header.partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """A server's response after redirects. Header names are lower-case."""

    url: str
    final_url: str
    status_code: int
    headers: Mapping[str, str]
    body: bytes
    source: FetchSource
    strategy: str
    is_cut: bool = False
    """Whether the connection, or the compressed body, ended early."""
    screenshot: Media | None = None
    actions: tuple[ActionResult, ...] = ()
    style_samples: Mapping[str, Json] | None = None
    """The styles that a browser computed, where the branding format was requested."""
    warnings: tuple[str, ...] = ()
    """What the reader should know about the fetch."""
    pages_taken: int = 1
    """How many pages were loaded: in a browser, actions and scripts may load further ones."""
    proxy_number: int = 0
    """Which proxy of the request's pool it came through, from 1; 0 without a pool."""
    unseen: tuple[HiddenPart, ...] = ()
    """The hidden parts of a page that a browser rendered, in document order."""

    @property
    def content_type(self) -> str:
        """The MIME type without parameters, lower-case; empty when the server sent none."""
        return _mime_type_of(self.headers.get("content-type", ""))

    @property
    def validators(self) -> Validators:
        """The page's ETag and Last-Modified."""
        return Validators(
            etag=self.headers.get("etag"), last_modified=self.headers.get("last-modified")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PageMetadata:
    """The metadata in a page."""

    title: str | None = None
    description: str | None = None
    language: str | None = None
    author: str | None = None
    published: str | None = None
    modified: str | None = None
    canonical: str | None = None
    site_name: str | None = None
    robots: str | None = None
    """The robots directives, such as `noindex, nofollow`."""
    keywords: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    open_graph: Mapping[str, str] = field(default_factory=dict)
    json_ld: tuple[Json, ...] = ()
    page_count: int | None = None
    """The number of pages of a PDF."""
    kept_share: float | None = None
    """The share of an HTML page's text outside its chrome that the content has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlHints:
    """The URLs in a page that tell a crawler where to go, other than its plain links."""

    pages: tuple[str, ...] = ()
    """Frames, the target of a refresh, and the next and previous page."""
    languages: tuple[str, ...] = ()
    """Translations of the page."""
    feeds: tuple[str, ...] = ()
    nofollow: tuple[str, ...] = ()
    """Links that are all marked nofollow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDetail:
    """A link that a visitor of a page sees."""

    url: str
    text: str = ""
    """Its words, or the description of its image."""
    rel: str = ""
    """Its relation, such as `nofollow`; empty without one."""
    section: str = ""
    """`header`, `nav`, `aside` or `footer`; in the content, the heading above it or `main`."""


class StoredForm(StrEnum):
    """How a store writes long texts."""

    PLAIN = "plain"
    COMPRESSED = "compressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTexts:
    """What a store writes of a page's texts, computed where the page was parsed."""

    text: bytes | None = None
    """The page's text, compressed; None where there is none, or the store has it plain."""
    markdown: bytes | None = None
    """The same of the markdown."""
    plain: str = ""
    """The markdown without its markup, for the index."""
    plain_hash: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Extraction:
    """The content of a page: one field for each format, None where it was not requested."""

    text: str | None = None
    """The page decoded to text, otherwise unchanged."""
    markdown: str | None = None
    html: str | None = None
    links: tuple[str, ...] | None = None
    links_detail: tuple[LinkDetail, ...] | None = None
    images: tuple[str, ...] | None = None
    branding: Mapping[str, Json] | None = None
    """Colours, fonts and images, each with its source."""
    metadata: PageMetadata = field(default_factory=PageMetadata)
    word_count: int = 0
    token_count: int = 0
    empty_evidence: str = ""
    """Why a document has no text to extract; empty where it has some."""
    is_partial: bool = False
    """Whether a limit cut the content; the warnings name it."""
    is_out_of_time: bool = False
    """Whether that limit was one of time, so that another try may give the whole content."""
    warnings: tuple[str, ...] = ()
    hints: CrawlHints = field(default_factory=CrawlHints)
    """For crawls; never stored."""
    derived: dict[str, object] = field(default_factory=dict, init=False, compare=False, repr=False)
    """Values computed from these texts and cached with them; never stored."""

    @property
    def stored(self) -> StoredTexts | None:
        """These texts as the store writes them, where that was computed with them."""
        found = self.derived.get(StoredTexts.__name__)
        return found if isinstance(found, StoredTexts) else None

    def keep_stored(self, texts: StoredTexts) -> None:
        """Keep what the store writes of these texts; a copy of the content is without it."""
        self.derived[StoredTexts.__name__] = texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A scraped page: its origin, its content and its verdict."""

    url: str
    final_url: str
    status_code: int
    source: FetchSource
    strategy: str
    content_type: str
    scraped_at: datetime
    load_time_ms: int
    proxy_pool: str | None = None
    """The pool of upstream proxies that it was fetched through."""
    content: Extraction = field(default_factory=Extraction)
    media: Media | None = None
    """The file, where the URL leads to one instead of a page."""
    original: Media | None = None
    """The file that the content was extracted from, where that is not text."""
    screenshot: Media | None = None
    actions: tuple[ActionResult, ...] = ()
    verdict: Verdict = field(default_factory=Verdict)
    is_cut: bool = False
    """Whether the body ended early."""
    validators: Validators = field(default_factory=Validators)
    extracted: str | None = None
    retry_after_seconds: int | None = None
    """The Retry-After of an HTTP error; never stored, as error pages are not saved."""


@dataclass(frozen=True, slots=True)
class HtmlHeading:
    """A heading of a page, h1 being level 1."""

    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HtmlFacts:
    """The content of an HTML string. Links and images are absolute where there is a base URL."""

    title: str
    headings: tuple[HtmlHeading, ...]
    paragraph_count: int
    link_count: int
    image_count: int
    word_count: int
    content_hash: str
    meta: Mapping[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


# The selectors of the element of each role, the best first.
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

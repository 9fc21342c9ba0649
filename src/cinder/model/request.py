"""What a caller asks for: one scrape request and the options it is made of."""

from dataclasses import dataclass, field
from enum import StrEnum

from cinder.model.headers import is_secret_header
from cinder.model.redaction import redact

DAY_MS = 86_400_000

# Who asks, as long as there is one token and all callers are the owner.
OWNER = "owner"


class Format(StrEnum):
    """A form in which a page's content can be asked for."""

    MARKDOWN = "markdown"
    HTML = "html"
    RAW_HTML = "rawHtml"
    LINKS = "links"
    IMAGES = "images"
    SCREENSHOT = "screenshot"
    FULL_SCREENSHOT = "fullscreenshot"
    SUMMARY = "summary"
    BRANDING = "branding"
    CHANGE_TRACKING = "changeTracking"


class Mode(StrEnum):
    """Which engine may fetch: without a browser, with one, or whichever the page needs."""

    SMART = "smart"
    STATIC = "static"
    DYNAMIC = "dynamic"


class ResultHandling(StrEnum):
    """Whether a result is kept, handed back, or both."""

    SAVE_ONLY = "saveOnly"
    SAVE_AND_RETURN = "saveAndReturn"
    RETURN_ONLY = "returnOnly"


class ProxyTier(StrEnum):
    """How much effort goes into looking like an ordinary visitor."""

    BASIC = "basic"
    STEALTH = "stealth"
    AUTO = "auto"


class Profile(StrEnum):
    """Whose browser profile renders: a fresh isolated one, or the one a person logged in with."""

    DEFAULT = "default"
    MASTER = "master"


class ActionType(StrEnum):
    """A thing the browser can be told to do on a page."""

    WAIT = "wait"
    CLICK = "click"
    WRITE = "write"
    PRESS = "press"
    SCROLL = "scroll"
    SCREENSHOT = "screenshot"
    SCRAPE = "scrape"
    EXECUTE_JAVASCRIPT = "executeJavascript"


# After all others, a page is still the one that the web shows to anybody.
_CHANGING_ACTIONS = frozenset(
    (ActionType.CLICK, ActionType.WRITE, ActionType.PRESS, ActionType.EXECUTE_JAVASCRIPT)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One browser action; which of the fields it needs depends on its type."""

    type: ActionType
    milliseconds: int | None = None
    selector: str | None = None
    text: str | None = None
    key: str | None = None
    direction: str | None = None
    amount: int | None = None
    name: str | None = None
    script: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PdfParser:
    """Asks for PDF documents to be parsed to text, up to a number of pages."""

    max_pages: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """When a kept result may answer instead of the web."""

    max_age_ms: int = 2 * DAY_MS
    force_rescrape: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentOptions:
    """What part of a page counts as its content, and whether it is cleaned to markdown."""

    clean: bool = True
    only_main_content: bool = True
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()
    pdf_parser: PdfParser | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How a page is fetched and what a browser does on it."""

    mode: Mode = Mode.SMART
    wait_for_ms: int = 0
    actions: tuple[Action, ...] = ()
    block_ads: bool = True
    mobile: bool = False
    proxy: ProxyTier = ProxyTier.AUTO
    profile: Profile = Profile.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeRequest:
    """One URL to scrape, with every option that shapes the answer.

    `url` is canonical (see `cinder.model.url`), `headers` are validated and in the order given.
    """

    url: str
    formats: tuple[Format, ...] = (Format.MARKDOWN,)
    result_handling: ResultHandling = ResultHandling.SAVE_AND_RETURN
    timeout_ms: int = 60_000
    headers: tuple[tuple[str, str], ...] = ()
    cache: CachePolicy = field(default_factory=CachePolicy)
    content: ContentOptions = field(default_factory=ContentOptions)
    render: RenderOptions = field(default_factory=RenderOptions)
    extract: str | None = None
    caller: str = OWNER
    keep_http_errors: bool = False
    """Whether a page that came with an HTTP error status is an answer rather than a failure."""

    @property
    def screenshot(self) -> Format | None:
        """The kind of screenshot asked for; a request names at most one."""
        kinds = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)
        return next((wanted for wanted in self.formats if wanted in kinds), None)

    @property
    def runs_script(self) -> bool:
        """Whether a script of the caller's is to run in the page."""
        return any(action.type is ActionType.EXECUTE_JAVASCRIPT for action in self.render.actions)

    @property
    def is_customized(self) -> bool:
        """Whether headers, selectors, actions or a prompt of the caller's shape the answer.

        Any of them can put words of the caller's choice into it, or leave words out: a page may
        echo its `User-Agent`. How it is fetched (`mode`, `waitFor`, `proxy`, `mobile`, `blockAds`)
        and which of the formats are made cannot.
        """
        content = self.content
        return bool(
            self.headers
            or self.render.actions
            or content.include_tags
            or content.exclude_tags
            or self.extract is not None
        )

    @property
    def is_private(self) -> bool:
        """Whether the answer may be meant for this caller alone, or made by him.

        What his actions did to a page, be it a login or a script that rewrites it, is not what
        the web says to others. A secret in the address opens it as a header does.
        """
        return (
            self.render.profile is Profile.MASTER
            or any(is_secret_header(name) for name, _ in self.headers)
            or any(action.type in _CHANGING_ACTIONS for action in self.render.actions)
            or redact(self.url) != self.url
        )

"""A scrape request: its options, its actions, and the keys that actions press."""

import difflib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from string import ascii_lowercase
from typing import Annotated

from cinder.models.document import ActionType as ActionType
from cinder.models.options import Option
from cinder.models.redaction import is_secret_header, redact

DAY_MS = 86_400_000
MAX_TIMEOUT_MS = 300_000
MAX_AGE_MS = 36_500 * DAY_MS
MAX_WAIT_MS = 60_000
# The most that the setting limits.selectors may be.
MAX_SELECTORS = 1_000
MAX_PROMPT_CHARS = 10_000

# The caller of the command line, of MCP over stdio, and of the token of the settings.
OWNER = "owner"


class Format(StrEnum):
    """A format in which a page's content can be requested."""

    MARKDOWN = "markdown"
    HTML = "html"
    RAW_HTML = "rawHtml"
    LINKS = "links"
    LINKS_DETAIL = "linksDetail"
    IMAGES = "images"
    SCREENSHOT = "screenshot"
    FULL_SCREENSHOT = "fullscreenshot"
    SUMMARY = "summary"
    BRANDING = "branding"
    CHANGE_TRACKING = "changeTracking"


class Mode(StrEnum):
    """Which engine may fetch: without a browser, with one, or as the page needs."""

    SMART = "smart"
    STATIC = "static"
    DYNAMIC = "dynamic"


ModeOption = Annotated[
    Mode,
    Option(
        "Which engine may fetch: `static` without a browser, `dynamic` with one, `smart` either.",
        hint="dynamic: in a browser",
        flag_help="static (no browser), dynamic (a browser) or smart (either).",
    ),
]


ProxyPoolOption = Annotated[
    str | None,
    Option(
        "The pool of upstream proxies to fetch through, by its name in `egress.proxy-pools`.",
        bounds={"min_length": 1, "max_length": 100},
        in_tools=False,
        flag_help="Fetch through this pool of egress.proxy-pools.",
    ),
]


ONLY_MAIN_CONTENT = Option(
    "Leave out everything around the main content; else navigation, headers and footers alone.",
    hint="Drop what surrounds the content",
    flags=("--whole-page",),
    flag_help="Keep more than the main content; navigation, headers and footers stay out unless "
    "scrape.strip-chrome-tags is off.",
)


class ResultHandling(StrEnum):
    """Whether a result is saved, returned, or both."""

    SAVE_ONLY = "saveOnly"
    SAVE_AND_RETURN = "saveAndReturn"
    RETURN_ONLY = "returnOnly"


class ProxyTier(StrEnum):
    """How closely requests imitate an ordinary browser."""

    BASIC = "basic"
    STEALTH = "stealth"
    AUTO = "auto"


class Profile(StrEnum):
    """The browser profile: a fresh isolated one, or the one that a person logged in with."""

    DEFAULT = "default"
    MASTER = "master"


# All others leave the page as any visitor sees it.
_CHANGING_ACTIONS = frozenset(
    (ActionType.CLICK, ActionType.WRITE, ActionType.PRESS, ActionType.EXECUTE_JAVASCRIPT)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One browser action; its type determines which fields it needs."""

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
    """When a saved result may be returned instead of a new fetch."""

    max_age_ms: Annotated[
        int,
        Option(
            "The oldest cached answer to take, in milliseconds.",
            name="maxAge",
            bounds={"ge": 0, "le": MAX_AGE_MS},
            hint="Oldest cached copy, ms",
        ),
    ] = 2 * DAY_MS
    force_rescrape: Annotated[
        bool,
        Option(
            "Fetch the page again, whatever is cached.", hint="Skip the cache", flags=("--fresh",)
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentOptions:
    """Which part of a page is its content, and whether it is converted to markdown."""

    only_main_content: Annotated[bool, ONLY_MAIN_CONTENT] = True
    include_tags: Annotated[
        tuple[str, ...],
        Option(
            "CSS selectors of what to keep; nothing else is content then.",
            bounds={"max_length": MAX_SELECTORS},
            hint="CSS selectors to keep",
            flags=("--include",),
            flag_help="CSS selector of what to keep; repeatable.",
        ),
    ] = ()
    exclude_tags: Annotated[
        tuple[str, ...],
        Option(
            "CSS selectors of what to leave out.",
            bounds={"max_length": MAX_SELECTORS},
            hint="… to drop",
            flags=("--exclude",),
            flag_help="CSS selector of what to leave out; repeatable.",
        ),
    ] = ()
    clean: Annotated[
        bool,
        Option(
            "Turn HTML into markdown; without it, `content` is the page as it came.",
            name="cleanScrape",
            hint="false: unconverted",
            flags=None,
        ),
    ] = True
    pdf_parser: Annotated[
        PdfParser | None,
        Option(
            'How to read documents: `{"type": "pdf"}` parses a PDF to text, up to `maxPages`.',
            name="parsers",
            hint="PDF as markdown",
            flags=None,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderOptions:
    """How a page is fetched, and what a browser does on it."""

    mode: ModeOption = Mode.SMART
    wait_for_ms: Annotated[
        int,
        Option(
            "Milliseconds to wait on the page in a browser, instead of until it stops changing.",
            name="waitFor",
            bounds={"ge": 0, "le": MAX_WAIT_MS},
            hint="ms in the browser",
        ),
    ] = 0
    actions: Annotated[
        tuple[Action, ...],
        Option(
            "What to do on the page in a browser, in order, before it is read.",
            hint="In order; selector is for click, write, scrape",
            flags=("--action",),
            flag_help='What to do on the page, as JSON: \'{"type": "click", "selector": "#more"}\''
            "; repeatable.",
        ),
    ] = ()
    block_ads: Annotated[
        bool,
        Option(
            "Keep a browser from loading ads, trackers and cookie pop-ups.",
            hint="No ads and pop-ups",
            flag_help="Let a browser load ads and pop-ups.",
        ),
    ] = True
    mobile: bool = False
    proxy: Annotated[
        ProxyTier,
        Option(
            "How much effort goes into looking like an ordinary visitor; `stealth` takes a "
            "browser.",
            hint="stealth: past bot walls",
            flag_help="basic, stealth or auto.",
        ),
    ] = ProxyTier.AUTO
    proxy_pool: ProxyPoolOption = None
    profile: Annotated[
        Profile,
        Option(
            "Whose browser profile renders: a fresh one, or `master`, in which a person logged in.",
            hint="master: owner's logged-in browser",
            flag_help="default (a fresh browser) or master (the one you logged in with).",
        ),
    ] = Profile.DEFAULT


def option_for_browser(render: RenderOptions, screenshot: Format | None) -> str | None:
    """Return the option that only a browser can serve, if there is one."""
    needs = {
        "waitFor": render.wait_for_ms > 0,
        "actions": bool(render.actions),
        "proxy 'stealth'": render.proxy is ProxyTier.STEALTH,
        "profile 'master'": render.profile is Profile.MASTER,
        "mobile": render.mobile,
        "a screenshot": screenshot is not None,
    }
    return next((option for option, is_asked in needs.items() if is_asked), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeRequest:
    """One URL to scrape, with every option that shapes the response.

    `url` is canonical (see `cinder.models.url`), `headers` are validated and in the order given.
    """

    url: str
    formats: Annotated[
        tuple[Format, ...],
        Option(
            "What to return, at most one of the two screenshots; markdown and html by default.",
            hint="Several, instead of format",
            flags=("--format", "-f"),
            flag_help=f"{', '.join(tuple(Format)[:-1])} or {tuple(Format)[-1]}; repeatable.",
        ),
    ] = (Format.MARKDOWN,)
    content: ContentOptions = field(default_factory=ContentOptions)
    render: RenderOptions = field(default_factory=RenderOptions)
    extract: Annotated[
        str | None,
        Option(
            "What to take from the page as data, in words, such as: the author name and the date.",
            bounds={"min_length": 1, "max_length": MAX_PROMPT_CHARS},
            hint="Data wanted: the author name",
            flags=None,
        ),
    ] = None
    # As JSON text, since requests are compared and used as keys.
    extract_schema: Annotated[
        str | None,
        Option(
            "What to take from the page as data, as JSON Schema; `extract` may add words to it.",
            in_tools=False,
            flag_help="A file with a JSON Schema of the data to take from each page.",
        ),
    ] = None
    result_handling: Annotated[
        ResultHandling,
        Option(
            "Whether the result is saved, returned, or both.",
            hint="saveOnly: a link",
            flags=None,
        ),
    ] = ResultHandling.SAVE_AND_RETURN
    cache: CachePolicy = field(default_factory=CachePolicy)
    headers: Annotated[
        tuple[tuple[str, str], ...],
        Option(
            "HTTP headers to send along.",
            hint="Others too",
            flags=("--header", "-H"),
            flag_help="'Name: value' to send; repeatable.",
        ),
    ] = ()
    timeout_ms: Annotated[
        int,
        Option(
            "Milliseconds that the whole request may take.",
            name="timeout",
            bounds={"ge": 1, "le": MAX_TIMEOUT_MS},
        ),
    ] = 60_000
    caller: str = OWNER
    keep_http_errors: bool = False
    """Whether a page with an HTTP error status is a result rather than a failure."""

    @property
    def screenshot(self) -> Format | None:
        """The requested kind of screenshot; a request has at most one."""
        kinds = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)
        return next((kind for kind in self.formats if kind in kinds), None)

    @property
    def runs_script(self) -> bool:
        """Whether a script of the caller runs in the page."""
        return any(action.type is ActionType.EXECUTE_JAVASCRIPT for action in self.render.actions)

    @property
    def is_customized(self) -> bool:
        """Whether headers, selectors, actions, a prompt or a schema shape the response.

        Any of them can add or remove words of the caller's choice: a page may echo its
        `User-Agent`. The way it is fetched (`mode`, `waitFor`, `proxy`, `mobile`, `blockAds`) and
        the choice of formats cannot.
        """
        content = self.content
        return bool(
            self.headers
            or self.render.actions
            or content.include_tags
            or content.exclude_tags
            or self.wants_data
        )

    @property
    def wants_data(self) -> bool:
        """Whether data is extracted from the page, by a prompt or a schema."""
        return self.extract is not None or self.extract_schema is not None

    @property
    def is_private(self) -> bool:
        """Whether the response may be meant for this caller alone, or be shaped by them.

        After actions such as a login or a script, a page is not what other visitors see. A secret
        in the URL grants access as a header does.
        """
        return (
            self.render.profile is Profile.MASTER
            or any(is_secret_header(name) for name, _ in self.headers)
            or any(action.type in _CHANGING_ACTIONS for action in self.render.actions)
            or redact(self.url) != self.url
        )


# The values of the Chrome DevTools Protocol for `Input.dispatchKeyEvent`.
MODIFIER_BITS = {"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}


@dataclass(frozen=True, slots=True)
class KeyPress:
    """A key on a US keyboard, pressed while modifiers are held."""

    key: str
    code: str
    virtual_key_code: int
    text: str = ""
    """The text it types; may be empty."""
    held: tuple["KeyPress", ...] = ()
    """The modifiers to hold down, in the order of the request."""

    @property
    def modifiers(self) -> int:
        """The held modifiers as the protocol's bit field."""
        return sum(MODIFIER_BITS[modifier.key] for modifier in self.held)


def parse_key_combination(text: str) -> KeyPress:
    """Return the key press of a name such as `Enter`, `a` or `Control+Shift+Tab`.

    Raises:
        ValueError: the key is unknown; the message suggests the closest match.
    """
    if text in ("+", " "):
        modifiers, name = [], text
    elif text.endswith("++"):  # the plus sign is a key as well
        modifiers, name = [part.strip() for part in text[:-2].split("+")], "+"
    else:
        *modifiers, name = (part.strip() for part in text.split("+"))
    held: dict[KeyPress, None] = {}
    for modifier in modifiers:
        found = _NAMED.get(modifier.lower())
        if found is None or found.key not in MODIFIER_BITS:
            known = ", ".join(MODIFIER_BITS)
            raise ValueError(f"{modifier[:50]!r} is not a modifier. Known are: {known}")
        held[found] = None
    names = {press.key for press in held}
    is_letter_of_shortcut = names and "Shift" not in names and len(name) == 1
    pressed = _find_key(name.lower() if is_letter_of_shortcut else name)
    if "Shift" in names:
        pressed = _SHIFTED.get(pressed.key, pressed)
    if names - {"Shift"}:
        # A shortcut types nothing.
        pressed = replace(pressed, text="")
    return replace(pressed, held=tuple(held))


def _find_key(name: str) -> KeyPress:
    if len(name) == 1 and name.isprintable():
        return _CHARACTERS.get(name) or KeyPress(name, "", 0, name)
    if found := _NAMED.get(name.lower()):
        return found
    nearest = difflib.get_close_matches(name[:50].lower(), _NAMED, n=1, cutoff=0.4)
    hint = f" Did you mean '{_SPELLINGS[nearest[0]]}'?" if nearest else ""
    raise ValueError(
        f"Unknown key {name[:50]!r}.{hint} A key is a single character or a name such as Enter, "
        "Tab or ArrowDown, with modifiers as in Control+A"
    )


_NAMED_KEYS = (
    KeyPress("Enter", "Enter", 13, "\r"),
    KeyPress("Tab", "Tab", 9),
    KeyPress("Escape", "Escape", 27),
    KeyPress("Backspace", "Backspace", 8),
    KeyPress("Delete", "Delete", 46),
    KeyPress("Insert", "Insert", 45),
    KeyPress("ArrowLeft", "ArrowLeft", 37),
    KeyPress("ArrowUp", "ArrowUp", 38),
    KeyPress("ArrowRight", "ArrowRight", 39),
    KeyPress("ArrowDown", "ArrowDown", 40),
    KeyPress("Home", "Home", 36),
    KeyPress("End", "End", 35),
    KeyPress("PageUp", "PageUp", 33),
    KeyPress("PageDown", "PageDown", 34),
    KeyPress("Alt", "AltLeft", 18),
    KeyPress("Control", "ControlLeft", 17),
    KeyPress("Meta", "MetaLeft", 91),
    KeyPress("Shift", "ShiftLeft", 16),
    *(KeyPress(f"F{number}", f"F{number}", 111 + number) for number in range(1, 13)),
)
_SPACE = KeyPress(" ", "Space", 32, " ")

_ALIASES = {
    "Return": "Enter",
    "Esc": "Escape",
    "Del": "Delete",
    "Left": "ArrowLeft",
    "Up": "ArrowUp",
    "Right": "ArrowRight",
    "Down": "ArrowDown",
    "PgUp": "PageUp",
    "PgDn": "PageDown",
    "Option": "Alt",
    "Ctrl": "Control",
    "Cmd": "Meta",
    "Command": "Meta",
    "Spacebar": "Space",
}

# The code, number, character and Shift character of each key that types one.
_CHARACTER_KEYS = (
    *((f"Key{c.upper()}", ord(c.upper()), c, c.upper()) for c in ascii_lowercase),
    *((f"Digit{n}", ord(f"{n}"), f"{n}", shifted) for n, shifted in enumerate(")!@#$%^&*(")),
    ("Backquote", 192, "`", "~"),
    ("Minus", 189, "-", "_"),
    ("Equal", 187, "=", "+"),
    ("BracketLeft", 219, "[", "{"),
    ("BracketRight", 221, "]", "}"),
    ("Backslash", 220, "\\", "|"),
    ("Semicolon", 186, ";", ":"),
    ("Quote", 222, "'", '"'),
    ("Comma", 188, ",", "<"),
    ("Period", 190, ".", ">"),
    ("Slash", 191, "/", "?"),
)


# Each key that types a character, without and with Shift.
_TYPING = [
    (KeyPress(plain, code, number, plain), KeyPress(shifted, code, number, shifted))
    for code, number, plain, shifted in _CHARACTER_KEYS
]
_CHARACTERS = {" ": _SPACE} | {press.key: press for pair in _TYPING for press in pair}
_SHIFTED = {plain.key: shifted for plain, shifted in _TYPING}

_BY_NAME = {press.key: press for press in _NAMED_KEYS} | {"Space": _SPACE}
_BY_NAME |= {alias: _BY_NAME[name] for alias, name in _ALIASES.items()}
_NAMED = {name.lower(): press for name, press in _BY_NAME.items()}
_SPELLINGS = {name.lower(): name for name in _BY_NAME}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractOptions:
    """Which formats to produce, and which part of the page is its content."""

    formats: tuple[Format, ...] = (Format.MARKDOWN,)
    content: ContentOptions = field(default_factory=ContentOptions)
    strip_chrome_tags: bool = True
    remove_base64_images: bool = True

    @property
    def wants_markdown(self) -> bool:
        """Whether markdown is produced: requested or needed, and not disabled by `clean`."""
        needed_by = (Format.MARKDOWN, Format.CHANGE_TRACKING, Format.SUMMARY)
        return self.content.clean and any(kind in self.formats for kind in needed_by)

"""The arguments of a scrape, as POST /api/v2/scrape and the MCP tool `scrape` both take them."""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from cinder.errors import FieldProblem, Unsupported
from cinder.model.headers import check_headers
from cinder.model.request import (
    DAY_MS,
    Action,
    CachePolicy,
    ContentOptions,
    Format,
    Mode,
    PdfParser,
    Profile,
    ProxyTier,
    RenderOptions,
    ResultHandling,
    ScrapeRequest,
)
from cinder.model.url import parse_web_url
from cinder.services.excerpt import Window
from cinder.services.text_tools import is_valid_selector
from cinder.surfaces.action_arguments import MAX_WAIT_MS, Actions, check_actions
from cinder.surfaces.answers import MAX_KEY_CHARS
from cinder.surfaces.arguments import Arguments, Flag, Whole
from cinder.surfaces.job_answer import DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, Part
from cinder.surfaces.reading_answer import Query, SectionName, check_reading

MAX_TIMEOUT_MS = 300_000
MAX_AGE_MS = 36_500 * DAY_MS
# The most that the setting limits.selectors may be.
MAX_SELECTORS = 1_000
MAX_PROMPT_CHARS = 10_000


class Command(StrEnum):
    """What is to be done."""

    START = "start"
    STATUS = "status"
    CANCEL = "cancel"
    ERRORS = "errors"


Selectors = Annotated[list[str], Field(max_length=MAX_SELECTORS)]
IdempotencyKey = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARS, pattern="^[ -~]+$")]
WebUrl = Annotated[str, BeforeValidator(lambda v: parse_web_url(v) if isinstance(v, str) else v)]


class ParserArguments(Arguments):
    """One document parser."""

    type: Literal["pdf"]
    max_pages: Annotated[Whole, Field(ge=1)] | None = None


class ScrapeArguments(Arguments):
    """One URL to scrape, or a batch command."""

    command: Command = Command.START
    """What to do. All but `start` are about a batch, which `jobId` names."""
    url: WebUrl | None = None
    """The page; https:// is added where the scheme is missing."""
    urls: list[str] | None = None
    """The pages of a batch, which is worked on in the background, instead of `url`."""
    job_id: Annotated[str, Field(max_length=200)] | None = None
    """The batch that a command is about."""
    offset: Annotated[Whole, Field(ge=0, le=MAX_OFFSET)] = 0
    """Of `status` and `errors`: how many entries to skip."""
    limit: Annotated[Whole, Field(ge=1, le=MAX_LIMIT)] = DEFAULT_LIMIT
    """Of `status` and `errors`: how many entries to list."""
    include_content: Flag = False
    """Of `status`: list the pages with what was saved of them, as far as `maxChars` allows."""
    idempotency_key: IdempotencyKey | None = None
    """A name for a batch's start: a second one of the same name answers with the first's batch."""
    timeout: Annotated[Whole, Field(ge=1, le=MAX_TIMEOUT_MS)] = 60_000
    """Milliseconds that the whole request may take."""
    max_chars: Annotated[Whole, Field(ge=1)] | None = None
    """Most characters of each text format in the answer."""
    start_index: Annotated[Whole, Field(ge=0)] = 0
    """The character to begin at, for reading a long page in parts; within `section`, if given."""
    section: SectionName | None = None
    """Return this section alone, by the id in `metadata.outline` or by its title."""
    query: Query | None = None
    """Return the passages of the markdown that match these words, instead of all of it."""
    result_handling: ResultHandling = ResultHandling.SAVE_AND_RETURN
    """Whether the result is kept, returned, or both."""
    force_rescrape: Flag = False
    """Fetch anew, whatever is kept."""
    clean_scrape: Flag = True
    """Turn HTML into markdown; without it, `content` is the page as it came."""
    max_age: Annotated[Whole, Field(ge=0, le=MAX_AGE_MS)] = 2 * DAY_MS
    """The oldest kept answer to take, in milliseconds."""
    proxy: ProxyTier = ProxyTier.AUTO
    """How much effort goes into looking like an ordinary visitor; `stealth` takes a browser."""
    block_ads: Flag = True
    """Keep a browser from loading ads, trackers and cookie pop-ups."""
    headers: dict[str, str] = Field(default_factory=dict)
    """HTTP headers to send along."""
    wait_for: Annotated[Whole, Field(ge=0, le=MAX_WAIT_MS)] = 0
    """Milliseconds to wait on the page in a browser, instead of until it stands still."""
    include_tags: Selectors = Field(default_factory=list)
    """CSS selectors of what to keep; nothing else is content then."""
    exclude_tags: Selectors = Field(default_factory=list)
    """CSS selectors of what to leave out."""
    formats: list[Format] = Field(default_factory=list)
    """What to return, at most one of the two screenshots; markdown and html by default."""
    parsers: Annotated[list[ParserArguments], Field(max_length=1)] = Field(default_factory=list)
    """How to read documents: `{"type": "pdf"}` parses a PDF to text, up to `maxPages`."""
    only_main_content: Flag = True
    """Leave out everything around the main content; else navigation, headers and footers alone."""
    actions: Actions = Field(default_factory=list)
    """What to do on the page in a browser, in order, before it is read."""
    extract: Annotated[str, Field(min_length=1, max_length=MAX_PROMPT_CHARS)] | None = None
    """What to take from the page as data, in words, such as: the author name and the date."""
    profile: Profile = Profile.DEFAULT
    """Whose browser profile renders: a fresh one, or `master`, in which a person logged in."""
    mode: Mode = Mode.SMART
    """Which engine may fetch: `static` without a browser, `dynamic` with one, `smart` either."""

    def to_request(self, *, caller: str, default_formats: tuple[Format, ...]) -> ScrapeRequest:
        """Return the request that these arguments make.

        Raises:
            Unsupported: it is about a batch.
        """
        if self.url is None:
            raise Unsupported(
                "Batches (`urls`, and the commands status, cancel and errors) are not offered "
                "here. Send one `url` at a time."
            )
        return self._request_for(self.url, caller, default_formats)

    def to_batch_request(
        self, *, caller: str, default_formats: tuple[Format, ...]
    ) -> ScrapeRequest:
        """Return what is asked of every page of a batch: the request for its first."""
        return self._request_for((self.urls or [""])[0], caller, default_formats)

    def part(self, default_chars: int, ceiling: int) -> Part:
        """Return which entries of a batch's list the answer may hold."""
        return Part(self.offset, self.limit, min(self.max_chars or default_chars, ceiling))

    def _request_for(
        self, url: str, caller: str, default_formats: tuple[Format, ...]
    ) -> ScrapeRequest:
        return ScrapeRequest(
            url=url,
            formats=tuple(dict.fromkeys(self.formats)) or default_formats,
            result_handling=self.result_handling,
            timeout_ms=self.timeout,
            headers=tuple(self.headers.items()),
            cache=CachePolicy(max_age_ms=self.max_age, force_rescrape=self.force_rescrape),
            content=self._content_options(),
            render=self._render_options(),
            extract=self.extract,
            caller=caller,
        )

    def window(self, default_chars: int, ceiling: int) -> Window:
        """Return which part of each text the answer may hold."""
        size = min(self.max_chars or default_chars, ceiling)
        return Window(self.start_index, size, self.section, self.query)

    def _content_options(self) -> ContentOptions:
        return ContentOptions(
            clean=self.clean_scrape,
            only_main_content=self.only_main_content,
            include_tags=tuple(self.include_tags),
            exclude_tags=tuple(self.exclude_tags),
            pdf_parser=PdfParser(max_pages=self.parsers[0].max_pages) if self.parsers else None,
        )

    def _render_options(self) -> RenderOptions:
        return RenderOptions(
            mode=self.mode,
            wait_for_ms=self.wait_for,
            actions=tuple(Action(**dict(action)) for action in self.actions),
            block_ads=self.block_ads,
            proxy=self.proxy,
            profile=self.profile,
        )


def taken_by(command: object) -> Collection[str]:
    """Return the arguments that a command takes: all where it starts something or is unknown."""
    return next((taken for each, taken in _TAKEN_BY.items() if each == command), _DEFAULTS)


def check_target(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what a command lacks: a start needs a URL, the others a job."""
    command = given.get("command", Command.START)
    if command not in list(Command):
        return
    has_urls = bool(given.get("urls"))
    if command == Command.START:
        if "url" in given and has_urls:
            yield FieldProblem("urls", "Give either url or urls, not both")
        elif "url" not in given and not has_urls:
            yield FieldProblem("url", "Required")
    elif "jobId" not in given:
        yield FieldProblem("jobId", "Required")


def check_command(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what a command has no use for, rather than ignore it."""
    command = given.get("command", Command.START)
    if command not in list(Command):
        return
    if command != Command.START:
        taken = _TAKEN_BY[Command(command)]
        foreign = [name for name in _DEFAULTS if name not in taken]
        message = f"The command '{command}' takes only {', '.join(taken[1:])}"
    elif given.get("urls"):
        foreign = [*_OF_JOBS, *_OF_ONE_PAGE]
        message = "Not for starting a batch, which keeps whole pages: see the command status"
    else:
        foreign = [*_OF_JOBS, "idempotencyKey"]
        message = "Only for batches: leave it out"
    for name in foreign:
        if name in given and given[name] != _DEFAULTS[name]:
            yield FieldProblem(name, message)


def check_sent_headers(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name the headers that may not be sent."""
    headers = given.get("headers")
    if isinstance(headers, Mapping) and all(isinstance(v, str) for v in headers.values()):
        yield from check_headers(headers)


def check_selectors(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name the selectors that are not valid CSS."""
    for name in ("includeTags", "excludeTags"):
        selectors = given.get(name)
        for index, selector in enumerate(selectors if isinstance(selectors, list) else ()):
            if isinstance(selector, str) and not is_valid_selector(selector):
                message = f"Not a valid CSS selector: {selector[:200]!r}"
                yield FieldProblem(f"{name}[{index}]", message)


def check_formats(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name the clash where both kinds of screenshot are asked for."""
    formats = given.get("formats")
    both = (Format.SCREENSHOT, Format.FULL_SCREENSHOT)
    if isinstance(formats, list) and all(kind in formats for kind in both):
        yield FieldProblem("formats", f"Give one of the two: {' or '.join(both)}")


_DEFAULTS = {
    field.alias or name: field.get_default(call_default_factory=True)
    for name, field in ScrapeArguments.model_fields.items()
}
_OF_JOBS = ("jobId", "offset", "limit", "includeContent")
_OF_ONE_PAGE = ("maxChars", "startIndex", "section", "query")
_TAKEN_BY = {
    Command.STATUS: ("command", *_OF_JOBS, "maxChars"),
    Command.CANCEL: ("command", "jobId"),
    Command.ERRORS: ("command", "jobId", "offset", "limit"),
}

SCRAPE_CHECKS = (
    *(check_target, check_command, check_formats, check_reading),
    *(check_actions, check_sent_headers, check_selectors),
)

"""The answer to a scrape of one page, as bytes; requests that come again are prepared for.

A request that is repeated to the letter is read once. A cached answer is written once as well: as
long as the store returns the very same content, only the answer's age changes. Who may ask, and
which document is the newest, is checked for each request, before anything kept here is used.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from weakref import ref

from pydantic_core import to_json

from cinder.app import App
from cinder.model.document import Extraction, Json
from cinder.model.request import Format, ScrapeRequest
from cinder.recent import Recent
from cinder.services.excerpt import Window
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.page_facts import with_page_facts
from cinder.surfaces.scrape_answer import answer_outcome
from cinder.surfaces.scrape_arguments import Command, ScrapeArguments

DEFAULT_FORMATS = (Format.MARKDOWN, Format.HTML)

_AGE = "cacheAge"
# Longer bodies are not kept: they list actions, selectors or text.
_MAX_BODY_BYTES = 4 * 1024
# What a request takes in memory once it is read, beside its body.
_REQUEST_BYTES = 4 * 1024
# Requests take this part of the room that answers have.
_REQUESTS_SHARE = 8

# A caller's id and the body that they sent.
_Key: TypeAlias = tuple[str, bytes]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One page to scrape, and which part of it the answer may hold."""

    request: ScrapeRequest
    window: Window


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """A cached answer, in the two pieces that its age stands between."""

    content: "ref[Extraction]"
    scraped_at: datetime
    before: bytes
    after: bytes

    @classmethod
    def of(cls, outcome: ScrapeOutcome, data: Mapping[str, Json]) -> "PreparedAnswer":
        """Write an answer that tells its age."""
        members = list(data.items())
        place = list(data).index(_AGE)
        # Neither piece is empty: an answer begins with its URL and ends with its verdict.
        head, tail = dict(members[:place]), dict(members[place + 1 :])
        before = to_json(_envelope(head)).removesuffix(b"}}") + b',"cacheAge":'
        after = b"," + to_json(tail).removeprefix(b"{") + b"}"
        document = outcome.document
        return cls(ref(document.content), document.scraped_at, before, after)

    def is_of(self, outcome: ScrapeOutcome) -> bool:
        """Whether the outcome is the one that this was made of, but for its age."""
        document = outcome.document
        return (
            self.content() is document.content
            and self.scraped_at == document.scraped_at
            and _is_repeatable(outcome)
        )

    def at_age(self, age_ms: int) -> bytes:
        """Return the whole answer."""
        return b"%b%d%b" % (self.before, age_ms, self.after)


class PageAnswers:
    """Scrapes single pages and answers with bytes."""

    def __init__(self, app: App) -> None:
        self._app = app
        limits = app.settings.server
        self._max_chars = (limits.result_max_chars, limits.result_max_chars_ceiling)
        room = limits.answer_memory_bytes
        self._requests: Recent[_Key, PageRequest] = Recent(room // _REQUESTS_SHARE)
        self._answers: Recent[_Key, PreparedAnswer] = Recent(room)

    def recall(self, caller: str, body: bytes) -> PageRequest | None:
        """Return what was read of the same body when this caller last sent it, if it is kept."""
        return self._requests.get((caller, body))

    def read(self, arguments: ScrapeArguments, caller: str, body: bytes) -> PageRequest:
        """Return the page that valid arguments ask for, and keep that for when it comes again.

        What may hold secrets is not kept.
        """
        request = arguments.to_request(caller=caller, default_formats=DEFAULT_FORMATS)
        page = PageRequest(request, arguments.window(*self._max_chars))
        has_secrets = request.is_private or request.headers or request.render.actions
        if not has_secrets and len(body) <= _MAX_BODY_BYTES:
            self._requests.put((caller, body), page, len(body) + _REQUEST_BYTES)
        return page

    async def answer(self, page: PageRequest, body: bytes) -> bytes:
        """Scrape the page and return the answer to the body that asked for it.

        Raises:
            CinderError: it could not be had.
        """
        outcome = await self._app.scrape.scrape(page.request)
        key = (page.request.caller, body)
        prepared = self._answers.get(key)
        if prepared is None or not prepared.is_of(outcome):
            described = await answer_outcome(outcome, page.request, page.window)
            data = with_page_facts(described, outcome.document)
            if not _is_repeatable(outcome) or self._requests.get(key) is not page:
                return to_json(_envelope(data))
            prepared = PreparedAnswer.of(outcome, data)
            size = sys.getsizeof(prepared.before) + sys.getsizeof(prepared.after) + len(body)
            self._answers.put(key, prepared, size)
        return prepared.at_age(outcome.age_ms)


def _envelope(data: Mapping[str, Json]) -> dict[str, Json]:
    return {"success": True, "command": Command.START.value, "data": data}


def _is_repeatable(outcome: ScrapeOutcome) -> bool:
    """Whether nothing but the age sets the outcome apart from the next of the same content."""
    is_plain = outcome.change is None and outcome.summary is None
    return outcome.cached and is_plain and not outcome.diagnostics.attempts

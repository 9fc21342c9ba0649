"""Branding: reads a page's look from its rendered styles, or fetches its style sheets for it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from cinder.errors import CinderError, Overloaded, ParseLimitExceeded
from cinder.fetch.base import Fetcher, FetchTask
from cinder.model.document import FetchedPage, Json
from cinder.model.request import ScrapeRequest
from cinder.model.url import origin_of
from cinder.services.sandbox.sandbox import ExtractionSandbox

MAX_SHEETS = 20
MAX_SHEET_BYTES = 1_500_000
_MAX_AT_ONCE = 4
_MAX_SECONDS = 10.0
# Of a request's time: a page whose style sheets do not come is still to be answered.
_SHARE_OF_TIME = 0.25
_ADVICE = "Mode 'dynamic' reads computed styles in a browser instead."

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brand:
    """A page's branding, and what the reader should know of how it was read."""

    branding: Mapping[str, Json] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


class BrandReader:
    """Reads the branding of fetched pages."""

    def __init__(self, fetcher: Fetcher, sandbox: ExtractionSandbox) -> None:
        self._fetcher = fetcher
        self._sandbox = sandbox

    async def read(self, page: FetchedPage, request: ScrapeRequest) -> Brand:
        """Return a page's branding; one that cannot be read is empty, with a warning."""
        try:
            sheets, warnings = await self._sheets(page, request)
            branding = await self._sandbox.read_branding(page, sheets)
        except (Overloaded, ParseLimitExceeded) as error:
            return Brand(warnings=(f"The branding could not be read: {error.message}",))
        return Brand(branding=branding, warnings=warnings)

    async def _sheets(
        self, page: FetchedPage, request: ScrapeRequest
    ) -> tuple[list[str], tuple[str, ...]]:
        """Return the style sheets that the page links to, unless a browser has applied them."""
        if page.style_samples is not None:
            return [], ()
        addresses = await self._sandbox.find_stylesheets(page)
        seconds = min(_MAX_SECONDS, request.timeout_ms / 1000 * _SHARE_OF_TIME)
        deadline = asyncio.get_running_loop().time() + seconds
        turns = asyncio.Semaphore(_MAX_AT_ONCE)
        async with asyncio.TaskGroup() as fetches:
            tasks = [
                fetches.create_task(self._fetch_in_turn(turns, task, deadline))
                for task in self._tasks(addresses[:MAX_SHEETS], page, request)
            ]
        sheets = [sheet for task in tasks if (sheet := task.result()) is not None]
        unread = len(addresses) - len(sheets)
        warning = (
            f"{unread} of the page's {len(addresses)} style sheets could not be read: the "
            f"branding may lack what they say. {_ADVICE}"
        )
        return sheets, (warning,) if unread else ()

    def _tasks(
        self, addresses: Sequence[str], page: FetchedPage, request: ScrapeRequest
    ) -> list[FetchTask]:
        home = origin_of(request.url)
        is_home = origin_of(page.final_url) == home
        return [
            FetchTask(
                url=address,
                timeout_seconds=_MAX_SECONDS,
                # What the caller sends along is meant for the page's own site.
                headers=request.headers if is_home and origin_of(address) == home else (),
                caller=request.caller,
            )
            for address in addresses
        ]

    async def _fetch_in_turn(
        self, turns: asyncio.Semaphore, task: FetchTask, deadline: float
    ) -> str | None:
        try:
            async with asyncio.timeout_at(deadline), turns:
                sheet = await self._fetcher.fetch(task)
        except (CinderError, TimeoutError) as error:
            log.info("style sheet not read", url=task.url, reason=str(error) or "timeout")
            return None
        is_css = sheet.status_code == 200 and sheet.content_type in ("text/css", "")
        return sheet.body[:MAX_SHEET_BYTES].decode(errors="replace") if is_css else None

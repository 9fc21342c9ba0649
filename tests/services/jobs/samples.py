"""Websites, leases and outcomes for the tests of jobs."""

import asyncio
from collections import Counter
from dataclasses import replace

from cinder.errors import Attempt, CinderError, ConnectionFailed, Diagnostics
from cinder.fetch.base import FetchTask
from cinder.models.document import Extraction, FetchedPage, FetchSource, PageMetadata
from cinder.models.job import PageLease
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.store.samples import a_document

HOST = "https://site.test"
WORDS = "Cover the coals with a thick layer of ash before you go to bed tonight, and sleep well."


class TableFetcher:
    """Responds with the bodies of a table, or a status without a body; 404 for other URLs.

    None is a website that cannot be reached; an error is raised.
    """

    name = "table"

    def __init__(self, table: dict[str, bytes | int | CinderError | None]) -> None:
        self.table = table
        self.asked: Counter[str] = Counter()
        self.held: asyncio.Event | None = None
        """The event that sitemaps wait for, if any."""

    async def fetch(self, task: FetchTask) -> FetchedPage:
        self.asked[task.url] += 1
        await asyncio.sleep(0)
        if self.held is not None and "sitemap" in task.url:
            await self.held.wait()
        answer = self.table.get(task.url, 404)
        if answer is None:
            raise ConnectionFailed(f"{task.url} cannot be reached")
        if isinstance(answer, CinderError):
            raise answer
        status, body = (answer, b"") if isinstance(answer, int) else (200, answer)
        return FetchedPage(
            url=task.url,
            final_url=task.url,
            status_code=status,
            headers={},
            body=body,
            source=FetchSource.NATIVE,
            strategy=self.name,
        )


def a_lease(path: str = "/", *, depth: int = 1, tries: int = 0) -> PageLease:
    return PageLease(
        page_id=1, job_id="job", url=HOST + path, host=HOST, depth=depth, fence=1, tries=tries
    )


def an_outcome(
    path: str = "/",
    *,
    links: tuple[str, ...] = (),
    markdown: str = WORDS,
    metadata: PageMetadata | None = None,
    status_code: int = 200,
    spent_ms: int = 10,
) -> ScrapeOutcome:
    content = Extraction(
        markdown=markdown,
        links=tuple(HOST + link if link.startswith("/") else link for link in links),
        metadata=metadata or PageMetadata(title="Embers"),
    )
    document = replace(a_document(url=HOST + path), content=content, status_code=status_code)
    diagnostics = Diagnostics((Attempt("static", spent_ms),))
    return ScrapeOutcome(document=document, diagnostics=diagnostics)

"""What is wrong with a crawl that is over, as a list of sentences: none for a good one."""

import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

from cinder.models.job import JobStatus, LedgerPage, PageStatus
from cinder.models.saved import SavedListing, parse_saved_uri
from cinder.store.documents import Store
from tests.crawled_site import SITE, CrawledSite
from tests.crawled_site import Fate as Right
from tests.crawls.watching import CALLER, Part, Watch

_RIGHT = {
    PageStatus.FETCHED: {Right.FETCHED},
    PageStatus.DISALLOWED: {Right.DISALLOWED},
    PageStatus.OUTSIDE: {Right.OUTSIDE},
    # The ledger does not tell a copy from a redirect to the page.
    PageStatus.DUPLICATE: {Right.DUPLICATE, Right.REDIRECT},
    PageStatus.TRAP: {Right.TRAP},
    PageStatus.FAILED: {Right.FAILED},
}


async def judge_crawl(watch: Watch, site: CrawledSite, part: Part, at_once: int) -> list[str]:
    """Return what is wrong with the pages of a crawl, where they are kept, and its manners."""
    rows = await watch.pages()
    status = await watch.status()
    return [
        *([] if status is JobStatus.COMPLETED else [f"the crawl ended as {status}"]),
        *_judge_pages(rows, site, part),
        *_judge_others(rows, site, part),
        *await judge_saved(watch, rows),
        *judge_manners(site, at_once),
    ]


async def judge_saved(watch: Watch, rows: Iterable[LedgerPage]) -> list[str]:
    """Return which fetched pages cannot be read, or have been saved more than once."""
    fetched = [row for row in rows if row.fate is PageStatus.FETCHED]
    unread = [row for row in fetched if not await _is_readable(watch.store, row)]
    saved = Counter([version.url async for version in _saved(watch.store)])
    return [
        *(f"{row.url} cannot be read at {row.uris}" for row in unread),
        *(f"{url} was saved {n} times" for url, n in saved.items() if n > 1),
    ]


def judge_manners(site: CrawledSite, at_once: int) -> list[str]:
    """Return whether the website was asked for more at once than it may be."""
    most = site.visits().max_at_once()
    return [f"{most} requests at once"] if most > at_once else []


def judge_file(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a database."""
    with sqlite3.connect(path) as connection:
        (said,) = connection.execute("PRAGMA integrity_check").fetchone()
    connection.close()
    return [] if said == "ok" else [f"the database is damaged: {said}"]


def lost_pages(before: Iterable[LedgerPage], after: Iterable[LedgerPage]) -> list[str]:
    """Return which pages were there once and are not any more as they were."""
    kept = {(page.id, page.url, page.uris) for page in after}
    return [f"{page.url} was lost" for page in before if (page.id, page.url, page.uris) not in kept]


def _judge_pages(rows: list[LedgerPage], site: CrawledSite, part: Part) -> Iterator[str]:
    fetched = Counter(site.name(row.url) for row in rows if row.fate is PageStatus.FETCHED)
    yield from (f"{path} is missing" for path in sorted(part.pages - fetched.keys()))
    yield from (f"{path} is no page" for path in sorted(fetched.keys() - part.pages))
    yield from (f"{path} has {n} rows" for path, n in fetched.items() if n > 1)


def _judge_others(rows: list[LedgerPage], site: CrawledSite, part: Part) -> Iterator[str]:
    for row in rows:
        name = site.name(row.url)
        is_beyond = row.fate is PageStatus.OUTSIDE and (
            not name.startswith(f"/{part.section}") or _is_deep_in_trap(row, name)
        )
        right = _RIGHT.get(row.fate, set()) if row.fate else set()
        if not is_beyond and not any(SITE.accepts(name, fate) for fate in right):
            yield f"{name} is {row.state} {row.fate or ''} ({row.reason}), not {SITE.fate_of(name)}"


def _is_deep_in_trap(row: LedgerPage, name: str) -> bool:
    """Whether a page of an endless part was left out for its depth.

    Where one way into it stands still, as one does whose worker is away, the other leads deeper
    before the trap has had its number of pages.
    """
    return SITE.fate_of(name) is Right.TRAP and "maxDepth" in (row.reason or "")


async def _is_readable(store: Store, row: LedgerPage) -> bool:
    if not row.uris:
        return False
    body = await store.read(*parse_saved_uri(row.uris[0]), CALLER)
    return body is not None and bool(body.text)


async def _saved(store: Store) -> AsyncIterator[SavedListing]:
    below: int | None = None
    while versions := await store.list_saved(CALLER, before_id=below, limit=1000):
        for version in versions:
            yield version
        below = versions[-1].id

"""The pages of a job with all that is kept of them, in the order in which they were settled."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from cinder.errors import CacheFailed
from cinder.model.document import Document, Json, Source
from cinder.model.job import ERROR_FATES, Fate, Job, LedgerPage
from cinder.model.saved import SavedDocument, format_timestamp, parse_saved_uri
from cinder.services.page_json import describe_metadata
from cinder.store.base import Store

LISTED_AT_ONCE = 200
# A trip to the database for each would cost more than what is read; many would take memory.
_READ_AT_ONCE = 8

_GONE = "The saved page is gone: it has expired or was deleted"


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """A URL of a job's ledger, with the document that was saved of it."""

    entry: LedgerPage
    saved: SavedDocument | None

    @property
    def document(self) -> Document | None:
        """What was saved."""
        return None if self.saved is None else self.saved.document

    @property
    def final_url(self) -> str | None:
        """Where the page was found."""
        return None if self.document is None else self.document.final_url

    @property
    def title(self) -> str | None:
        """The page's title."""
        found = None if self.document is None else self.document.content.metadata.title
        return self.entry.title or found

    @property
    def status_code(self) -> int | None:
        """The HTTP status."""
        found = None if self.document is None else self.document.status_code
        return found if self.entry.status_code is None else self.entry.status_code

    @property
    def verdict(self) -> str | None:
        """What the fetch really got."""
        found = None if self.document is None else str(self.document.verdict.kind)
        return self.entry.verdict or found

    @property
    def fetched_at(self) -> datetime | None:
        """When the page was saved; where it was not, when its URL got its fate.

        Not when it was scraped: a page that its origin confirms counts as scraped anew.
        """
        return self.entry.finished_at if self.saved is None else self.saved.version.saved_at

    @property
    def reason(self) -> str | None:
        """Why there is no page, where there is none."""
        if self.saved is None and self.entry.fate is Fate.FETCHED:
            return _GONE
        return self.entry.reason or None

    @property
    def raw(self) -> str | bytes | None:
        """What the server sent, if it was read: the file itself, or the page decoded to text."""
        document = self.document
        if document is None:
            return None
        file = document.media or document.original
        return document.content.text if file is None else file.data

    @property
    def markdown(self) -> str | None:
        """The page as markdown."""
        return None if self.document is None else self.document.content.markdown

    @property
    def html(self) -> str | None:
        """The page's cleaned HTML, where the job was asked for it."""
        return None if self.document is None else self.document.content.html

    @property
    def size(self) -> int:
        """About how much memory the page takes."""
        bodies = (self.raw, self.markdown, self.html)
        return sum(len(body) for body in bodies if body) + 1_000


def describe_page(page: ExportedPage) -> dict[str, Json]:
    """Return all that is known of a page but its bodies."""
    document, fetched_at = page.document, page.fetched_at
    return {
        "url": page.entry.url,
        "finalUrl": page.final_url,
        "title": page.title,
        "statusCode": page.status_code,
        "verdict": page.verdict,
        "depth": page.entry.depth,
        "fetchedAt": None if fetched_at is None else format_timestamp(fetched_at),
        "contentType": None if document is None else document.content_type,
        "fate": page.entry.fate,
        "reason": page.reason,
        "metadata": None if document is None else describe_document(document),
        "savedUris": {str(parse_saved_uri(uri)[1]): uri for uri in page.entry.uris},
    }


def describe_document(document: Document) -> dict[str, Json]:
    """Return what a page says about itself, and how it was got."""
    content = document.content
    more: dict[str, Json] = {
        "jsonLd": list(content.metadata.json_ld),
        "pageCount": content.metadata.page_count,
        "wordCount": content.word_count,
        "tokenCount": content.token_count,
        "source": document.source,
        "strategy": document.strategy,
        "rawIs": tell_raw(document),
        "verdictEvidence": document.verdict.evidence,
        "isCut": document.is_cut,
        "etag": document.validators.etag,
        "lastModified": document.validators.last_modified,
        "warnings": list(content.warnings),
    }
    return describe_metadata(content.metadata) | {n: v for n, v in more.items() if v}


def tell_raw(document: Document) -> str | None:
    """Return what the raw body is to what the server sent; None where there is none."""
    if document.media or document.original:
        return "the bytes as they came"
    if document.content.text is None:
        return None
    if document.source is Source.BROWSER:
        return "the page as a browser had it after its scripts had run, as UTF-8"
    return "the text as it came, decoded and written again as UTF-8"


async def count_wanted(store: Store, job: Job, fates: Collection[Fate]) -> int:
    """Return how many URLs of a job have one of these fates."""
    counts = await store.ledger.count_pages(job.id)
    return sum(counts.fates.get(fate, 0) for fate in fates)


async def read_pages(
    store: Store, job: Job, fates: Collection[Fate], total: int, *, with_raw: bool
) -> AsyncIterator[ExportedPage]:
    """Yield the first pages of a job that have one of these fates, each once.

    Raises:
        CacheFailed: they could not be read, or were deleted meanwhile.
    """
    entries: list[LedgerPage] = []
    left = total
    async for entry in _list_entries(store, job, fates):
        if not left:
            return
        entries.append(entry)
        left -= 1
        if len(entries) == _READ_AT_ONCE or not left:
            for page in await _read(store, job, entries, with_raw=with_raw):
                yield page
            entries = []
    if left:
        raise CacheFailed(
            f"The pages of job {job.id} were deleted while they were exported: it has expired"
        )


async def _list_entries(
    store: Store, job: Job, fates: Collection[Fate]
) -> AsyncIterator[LedgerPage]:
    """Yield a job's URLs with these fates, the lists that the ledger has of them made one."""
    errors = [ERROR_FATES] if set(ERROR_FATES) <= set(fates) else []
    others = [(fate,) for fate in fates if not errors or fate not in ERROR_FATES]
    lists = [_read_list(store, job, each) for each in (*others, *errors)]
    heads = {each: head for each in lists if (head := await anext(each, None))}
    while heads:
        first = min(heads, key=lambda each: (str(heads[each].finished_at), heads[each].id))
        yield heads.pop(first)
        if head := await anext(first, None):
            heads[first] = head


async def _read_list(store: Store, job: Job, fates: Collection[Fate]) -> AsyncIterator[LedgerPage]:
    offset = 0
    while listed := await store.ledger.list_pages(
        job.id, fates, offset=offset, limit=LISTED_AT_ONCE
    ):
        for entry in listed:
            yield entry
        offset += len(listed)


async def _read(
    store: Store, job: Job, entries: Sequence[LedgerPage], *, with_raw: bool
) -> list[ExportedPage]:
    versions = {entry.id: parse_saved_uri(entry.uris[0])[0] for entry in entries if entry.uris}
    found = await store.find_versions(list(versions.values()), job.owner, with_raw=with_raw)
    saved = dict(zip(versions, found, strict=True))
    return [ExportedPage(entry, _without_pictures(saved.get(entry.id))) for entry in entries]


def _without_pictures(saved: SavedDocument | None) -> SavedDocument | None:
    """Leave out what is not exported, and takes much memory."""
    if saved is None:
        return None
    return replace(saved, document=replace(saved.document, screenshot=None, actions=()))

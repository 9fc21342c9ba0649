"""Export requests, the page records they select, and the protocol of a format's encoder."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeVar

from cinder.errors import CacheFailed, FieldProblem, InvalidRequest
from cinder.models.document import Document, FetchSource, Json
from cinder.models.job import ERROR_STATUSES, Job, LedgerPage, PageStatus
from cinder.models.saved import SavedDocument, format_timestamp, parse_saved_uri
from cinder.services.reading import describe_metadata
from cinder.store import Store

T = TypeVar("T", bound=StrEnum)


class ExportFormat(StrEnum):
    """How pages are written."""

    JSONL = "jsonl"
    WARC = "warc"
    PARQUET = "parquet"

    @property
    def media_type(self) -> str:
        """The MIME type of the whole."""
        return _MEDIA_TYPES[self]

    @property
    def suffix(self) -> str:
        """How the name of a file in this format ends."""
        return ".warc.gz" if self is ExportFormat.WARC else f".{self}"


_MEDIA_TYPES = {
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.WARC: "application/gzip",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
}


class ExportExtra(StrEnum):
    """What of a page is exported only where it is asked for."""

    HTML = "html"
    RAW = "raw"
    """What the server sent; a WARC has it anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Which format, with what in it."""

    format: ExportFormat
    include: frozenset[ExportExtra] = frozenset()
    include_errors: bool = False
    """Whether URLs that could not or must not be fetched are told, too."""

    @property
    def has_raw(self) -> bool:
        """Whether what the server sent goes into it."""
        return self.format is ExportFormat.WARC or ExportExtra.RAW in self.include


def read_request(
    format_name: str, include: Collection[str] = (), *, include_errors: bool = False
) -> ExportRequest:
    """Return what a caller asks for in words.

    Raises:
        InvalidRequest: a word is not known; the message names those that are.
    """
    problems: list[FieldProblem] = []
    formats = _read_words("format", [format_name], ExportFormat, problems)
    extras = _read_words("include", include, ExportExtra, problems)
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    return ExportRequest(
        format=formats[0], include=frozenset(extras), include_errors=include_errors
    )


def _read_words(
    field: str, words: Iterable[str], kind: type[T], problems: list[FieldProblem]
) -> list[T]:
    known = {member.value: member for member in kind}
    found: list[T] = []
    for word in words:
        if word in known:
            found.append(known[word])
        else:
            message = f"unknown value {word[:50]!r}: use {' or '.join(known)}"
            problems.append(FieldProblem(field, message))
    return found


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
        if self.saved is None and self.entry.fate is PageStatus.FETCHED:
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
        "rawIs": describe_raw(document),
        "verdictEvidence": document.verdict.evidence,
        "isCut": document.is_cut,
        "etag": document.validators.etag,
        "lastModified": document.validators.last_modified,
        "warnings": list(content.warnings),
    }
    return describe_metadata(content.metadata) | {n: v for n, v in more.items() if v}


def describe_raw(document: Document) -> str | None:
    """Return what the raw body is to what the server sent; None where there is none."""
    if document.media or document.original:
        return "the bytes as they came"
    if document.content.text is None:
        return None
    if document.source is FetchSource.BROWSER:
        return "the page as a browser had it after its scripts had run, as UTF-8"
    return "the text as it came, decoded and written again as UTF-8"


async def count_pages(store: Store, job: Job, fates: Collection[PageStatus]) -> int:
    """Return how many URLs of a job have one of these fates."""
    counts = await store.ledger.count_pages(job.id)
    return sum(counts.fates.get(fate, 0) for fate in fates)


async def read_pages(
    store: Store, job: Job, fates: Collection[PageStatus], total: int, *, with_raw: bool
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
    store: Store, job: Job, fates: Collection[PageStatus]
) -> AsyncIterator[LedgerPage]:
    """Yield a job's URLs with these fates, the lists that the ledger has of them made one."""
    errors = [ERROR_STATUSES] if set(ERROR_STATUSES) <= set(fates) else []
    others = [(fate,) for fate in fates if not errors or fate not in ERROR_STATUSES]
    lists = [_read_list(store, job, each) for each in (*others, *errors)]
    heads = {each: head for each in lists if (head := await anext(each, None))}
    while heads:
        first = min(heads, key=lambda each: (str(heads[each].finished_at), heads[each].id))
        yield heads.pop(first)
        if head := await anext(first, None):
            heads[first] = head


async def _read_list(
    store: Store, job: Job, fates: Collection[PageStatus]
) -> AsyncIterator[LedgerPage]:
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


class Encoder(Protocol):
    """Writes pages in one format; what it returns, put together in order, is the export.

    Its work takes time and belongs off the event loop.
    """

    def begin(self) -> bytes:
        """Return what stands before all pages."""
        ...

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return what is to be written now that these pages have come; it may be nothing yet."""
        ...

    def end(self) -> bytes:
        """Return what stands after all pages."""
        ...

"""Export requests, the page records they select, and the protocol of a format's encoder."""

from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol, Self, TypeVar

from cinder.errors import CacheFailed, FieldProblem, InvalidRequest
from cinder.models.document import Document, FetchSource, Json
from cinder.models.job import ERROR_STATUSES, Job, LedgerPage, PageStatus
from cinder.models.saved import SavedDocument, SavedKind, format_timestamp, parse_saved_uri
from cinder.services.reading import describe_links, describe_metadata
from cinder.services.summary import summarize_document
from cinder.store.documents import Store

T = TypeVar("T", bound=StrEnum)


class ExportFormat(StrEnum):
    """The file format of an export."""

    JSONL = "jsonl"
    WARC = "warc"
    PARQUET = "parquet"
    ZIP = "zip"
    """One Markdown file a page, in the site's own tree."""
    LLMS_FULL = "llms-full"
    """The Markdown of all pages in one text."""

    @property
    def media_type(self) -> str:
        """The MIME type of the export."""
        return _MEDIA_TYPES[self]

    @property
    def suffix(self) -> str:
        """The extension of a file in this format."""
        return _SUFFIXES.get(self, f".{self}")


_SUFFIXES = {ExportFormat.WARC: ".warc.gz", ExportFormat.LLMS_FULL: "-llms-full.txt"}
_MEDIA_TYPES = {
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.WARC: "application/gzip",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.ZIP: "application/zip",
    ExportFormat.LLMS_FULL: "text/markdown",
}


class ExportExtra(StrEnum):
    """The parts of a page that are exported only on request."""

    HTML = "html"
    RAW = "raw"
    """The server's response; a WARC always has it."""
    LINKS = "links"
    LINKS_DETAIL = "linksDetail"
    SUMMARY = "summary"
    """Sentences of the page."""
    EXTRACTED = "extracted"
    """What the job's `extract` found."""
    SCREENSHOT = "screenshot"
    """Files and ZIP always have it."""


_COLUMNS = frozenset((ExportExtra.HTML, ExportExtra.RAW))
# The formats that have a place for these alone.
_TABLES = (ExportFormat.WARC, ExportFormat.PARQUET)
# By the options with which a page is scraped.
_EXTRA_OF_FORMAT = {
    "html": ExportExtra.HTML,
    "rawHtml": ExportExtra.RAW,
    "links": ExportExtra.LINKS,
    "linksDetail": ExportExtra.LINKS_DETAIL,
    "summary": ExportExtra.SUMMARY,
    "extractSchema": ExportExtra.EXTRACTED,
    "screenshot": ExportExtra.SCREENSHOT,
    "fullscreenshot": ExportExtra.SCREENSHOT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """The format of an export, and the parts of pages in it."""

    format: ExportFormat
    include: frozenset[ExportExtra] = frozenset()
    include_errors: bool = False
    """Whether URLs are included that failed or were not allowed."""
    images: bool = False
    """Whether the images in the pages are downloaded and exported as files."""

    def with_formats(self, names: Collection[str]) -> Self:
        """Return the request with these formats of pages, as far as the export has a place."""
        extras = {extra for name, extra in _EXTRA_OF_FORMAT.items() if name in names}
        if self.format is ExportFormat.LLMS_FULL:
            extras = set()
        elif self.format in _TABLES:
            extras &= _COLUMNS
        return replace(self, include=self.include | extras)

    @property
    def has_screenshots(self) -> bool:
        """Whether it includes screenshots."""
        return self.format is ExportFormat.ZIP or ExportExtra.SCREENSHOT in self.include

    @property
    def has_raw(self) -> bool:
        """Whether it includes the server's responses."""
        return self.format is ExportFormat.WARC or ExportExtra.RAW in self.include


def read_request(
    format_name: str,
    include: Collection[str] = (),
    *,
    include_errors: bool = False,
    images: bool = False,
) -> ExportRequest:
    """Parse a caller's export request.

    Raises:
        InvalidRequest: a value is unknown, or not for this format; the message says which are.
    """
    problems: list[FieldProblem] = []
    formats = _read_words("format", [format_name], ExportFormat, problems)
    extras = _read_words("include", include, ExportExtra, problems)
    if formats == [ExportFormat.LLMS_FULL] and include:
        problems.append(FieldProblem("include", "llms-full has only the Markdown of each page"))
    if formats and formats[0] in _TABLES:
        problems += (
            FieldProblem("include", f"{formats[0]} has no place for {extra}: use jsonl or zip")
            for extra in sorted(set(extras) - _COLUMNS)
        )
    if images and formats and formats != [ExportFormat.ZIP]:
        problems.append(FieldProblem("images", f"{formats[0]} has no image files: use zip"))
    if problems:
        raise InvalidRequest(problems=tuple(problems))
    return ExportRequest(
        format=formats[0],
        include=frozenset(extras),
        include_errors=include_errors,
        images=images,
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
# One query for each page would be slow; many pages at once would need memory.
_READ_AT_ONCE = 8

_GONE = "The saved page is gone: it has expired or was deleted"


@dataclass(frozen=True, slots=True)
class ExportedPage:
    """A URL of a job's ledger, with its saved document."""

    entry: LedgerPage
    saved: SavedDocument | None

    @property
    def document(self) -> Document | None:
        """The saved document."""
        return None if self.saved is None else self.saved.document

    @property
    def final_url(self) -> str | None:
        """The page's URL after redirects."""
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
        """The kind of the page's verdict."""
        found = None if self.document is None else str(self.document.verdict.kind)
        return self.entry.verdict or found

    @property
    def fetched_at(self) -> datetime | None:
        """When the page was saved, or when its URL got its status if it was not.

        The time of the scrape is not used: revalidation updates it.
        """
        return self.entry.finished_at if self.saved is None else self.saved.version.saved_at

    @property
    def reason(self) -> str | None:
        """Why there is no page; None if there is one."""
        if self.saved is None and self.entry.fate is PageStatus.FETCHED:
            return _GONE
        return self.entry.reason or None

    @property
    def raw(self) -> str | bytes | None:
        """The server's response, if it was read: the file itself, or the page decoded to text."""
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
        """The page's cleaned HTML, if the job requested it."""
        return None if self.document is None else self.document.content.html

    @property
    def size(self) -> int:
        """The approximate memory of the page."""
        shot = None if self.document is None else self.document.screenshot
        bodies = (self.raw, self.markdown, self.html, None if shot is None else shot.data)
        return sum(len(body) for body in bodies if body) + 1_000


def describe_page(page: ExportedPage) -> dict[str, Json]:
    """Return all data of a page except its bodies."""
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


def describe_extras(page: ExportedPage, include: Collection[ExportExtra]) -> dict[str, Json]:
    """Return the links, the summary and the extracted data of a page, as far as requested."""
    document = page.document
    extras: dict[str, Json] = {}
    if ExportExtra.LINKS in include:
        links = None if document is None else document.content.links
        extras["links"] = None if links is None else list(links)
    if ExportExtra.LINKS_DETAIL in include:
        details = None if document is None else document.content.links_detail
        extras["linksDetail"] = None if details is None else describe_links(details)
    if ExportExtra.SUMMARY in include:
        summary = None if document is None else summarize_document(document)
        extras["summary"] = None if summary is None else summary.text
    if ExportExtra.EXTRACTED in include:
        extras["extracted"] = None if document is None else document.extracted
    return extras


def describe_document(document: Document) -> dict[str, Json]:
    """Return a page's metadata, and how it was fetched."""
    content = document.content
    more: dict[str, Json] = {
        "jsonLd": list(content.metadata.json_ld),
        "pageCount": content.metadata.page_count,
        "keptShare": content.metadata.kept_share,
        "wordCount": content.word_count,
        "tokenCount": content.token_count,
        "source": document.source,
        "strategy": document.strategy,
        "proxyPool": document.proxy_pool,
        "rawIs": describe_raw(document),
        "verdictEvidence": document.verdict.evidence,
        "isCut": document.is_cut,
        "etag": document.validators.etag,
        "lastModified": document.validators.last_modified,
        "warnings": list(content.warnings),
    }
    return describe_metadata(content.metadata) | {n: v for n, v in more.items() if v}


def describe_raw(document: Document) -> str | None:
    """Return how the raw body relates to the server's response; None if there is none."""
    if document.media or document.original:
        return "the bytes as they came"
    if document.content.text is None:
        return None
    if document.source is FetchSource.BROWSER:
        return "the page as a browser had it after its scripts had run, as UTF-8"
    return "the text as it came, decoded and written again as UTF-8"


async def count_pages(store: Store, job: Job, fates: Collection[PageStatus]) -> int:
    """Return how many URLs of a job have one of these statuses."""
    counts = await store.ledger.count_pages(job.id)
    return sum(counts.fates.get(fate, 0) for fate in fates)


async def list_urls(
    store: Store, job: Job, fates: Collection[PageStatus], total: int
) -> AsyncIterator[str]:
    """Yield the URLs of the pages that `read_pages` yields."""
    async for entry in _list_entries(store, job, fates):
        if not total:
            return
        total -= 1
        yield entry.url


async def list_duplicates(store: Store, job: Job) -> AsyncIterator[tuple[str, str]]:
    """Yield the URLs of a job that are duplicates, each with the URL of the other page."""
    async for entry in _list_entries(store, job, (PageStatus.DUPLICATE,)):
        # The reason is the URL, which has no space, and in brackets why it is the same page.
        yield entry.url, entry.reason.partition(" (")[0]


async def read_pages(
    store: Store,
    job: Job,
    fates: Collection[PageStatus],
    total: int,
    *,
    with_raw: bool,
    with_screenshots: bool = False,
) -> AsyncIterator[ExportedPage]:
    """Yield the first pages of a job that have one of these statuses, each once.

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
            versions = {it.id: parse_saved_uri(it.uris[0])[0] for it in entries if it.uris}
            # The store keeps screenshots with the raw bodies.
            reads_raw = with_raw or (with_screenshots and any(map(_has_screenshot, entries)))
            found = await store.find_versions(
                list(versions.values()), job.owner, with_raw=reads_raw
            )
            # Action results are not exported, and need much memory, as screenshots do.
            saved = {
                page_id: replace(
                    it,
                    document=replace(
                        it.document,
                        screenshot=it.document.screenshot if with_screenshots else None,
                        actions=(),
                    ),
                )
                for page_id, it in zip(versions, found, strict=True)
                if it is not None
            }
            for listed in entries:
                yield ExportedPage(listed, saved.get(listed.id))
            entries = []
    if left:
        raise CacheFailed(
            f"The pages of job {job.id} were deleted while they were exported: it has expired"
        )


def _has_screenshot(entry: LedgerPage) -> bool:
    return any(parse_saved_uri(uri)[1] is SavedKind.SCREENSHOT for uri in entry.uris)


async def _list_entries(
    store: Store, job: Job, fates: Collection[PageStatus]
) -> AsyncIterator[LedgerPage]:
    """Yield a job's URLs with these statuses, merged from the ledger's lists in order."""

    async def list_entries(statuses: Collection[PageStatus]) -> AsyncIterator[LedgerPage]:
        offset = 0
        while listed := await store.ledger.list_pages(
            job.id, statuses, offset=offset, limit=LISTED_AT_ONCE
        ):
            for entry in listed:
                yield entry
            offset += len(listed)

    errors = [ERROR_STATUSES] if set(ERROR_STATUSES) <= set(fates) else []
    others = [(fate,) for fate in fates if not errors or fate not in ERROR_STATUSES]
    lists = [list_entries(statuses) for statuses in (*others, *errors)]
    heads = {entries: head for entries in lists if (head := await anext(entries, None))}
    while heads:
        first = min(heads, key=lambda it: (str(heads[it].finished_at), heads[it].id))
        yield heads.pop(first)
        if head := await anext(first, None):
            heads[first] = head


class Encoder(Protocol):
    """Encodes pages in one format; the concatenated return values are the export.

    Its methods are slow, and are called in threads.
    """

    def begin(self) -> bytes:
        """Return the bytes before all pages: none by default."""
        return b""

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return the next bytes for these pages; none while they are buffered."""
        ...

    def end(self) -> bytes:
        """Return the bytes after all pages: none by default."""
        return b""

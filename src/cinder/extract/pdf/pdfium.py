"""The seam to pdfium: opens a PDF and tells what it says of itself."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import pypdfium2_raw as raw

from cinder.errors import Unsupported

# pdfium's handles are pointers that only pdfium looks behind.
Handle: TypeAlias = Any

_PASSWORD = 4
_SECURITY = 5
_MAX_TEXT_BYTES = 20_000
_MAX_BOOKMARKS = 5_000
_MAX_BOOKMARK_DEPTH = 6

_HOW_TO_GET_THE_FILE = (
    "`scrape` and POST /api/v2/scrape without `parsers` hand the file itself through."
)


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a document's own table of contents; the outermost are of level 1."""

    level: int
    title: str
    page_index: int


@contextmanager
def open_document(body: bytes) -> Iterator[Handle]:
    """Open a PDF for as long as the context lasts.

    Raises:
        Unsupported: it is encrypted, broken, or no PDF at all.
    """
    raw.FPDF_InitLibrary()
    document = raw.FPDF_LoadMemDocument64(body, len(body), None)
    if not document:
        raise Unsupported(_describe_failure(body, raw.FPDF_GetLastError()))
    try:
        yield document
    finally:
        raw.FPDF_CloseDocument(document)


def count_pages(document: Handle) -> int:
    """Return how many pages a document says it has."""
    return int(max(0, raw.FPDF_GetPageCount(document)))


def read_info(document: Handle, name: str) -> str:
    """Return an entry of a document's information, such as `Title`; empty where it has none."""
    return read_utf16(
        lambda buffer, size: raw.FPDF_GetMetaText(document, name.encode(), buffer, size)
    )


def read_language(document: Handle) -> str:
    """Return the language that a document says it is in; empty where it names none."""
    wide = ctypes.POINTER(raw.FPDF_WCHAR)
    return read_utf16(
        lambda buffer, size: raw.FPDFCatalog_GetLanguage(
            document, ctypes.cast(buffer, wide) if buffer else None, size
        )
    )


def read_bookmarks(document: Handle) -> list[Bookmark]:
    """Return a document's table of contents, as much of it as a reader would look at."""
    found: list[Bookmark] = []
    waiting: list[tuple[Handle, int]] = [(raw.FPDFBookmark_GetFirstChild(document, None), 1)]
    # A broken table leads round in circles; what was looked at counts, not what was found.
    for _ in range(_MAX_BOOKMARKS):
        if not waiting:
            break
        bookmark, level = waiting.pop()
        if not bookmark:
            continue
        waiting.append((raw.FPDFBookmark_GetNextSibling(document, bookmark), level))
        if level < _MAX_BOOKMARK_DEPTH:
            waiting.append((raw.FPDFBookmark_GetFirstChild(document, bookmark), level + 1))
        destination = raw.FPDFBookmark_GetDest(document, bookmark)
        index = raw.FPDFDest_GetDestPageIndex(document, destination) if destination else -1
        found.append(Bookmark(level, _bookmark_title(bookmark), int(index)))
    return found


def _bookmark_title(bookmark: Handle) -> str:
    return read_utf16(lambda buffer, size: raw.FPDFBookmark_GetTitle(bookmark, buffer, size))


def read_utf16(ask: Callable[[Any, int], int]) -> str:
    """Return a text of pdfium's; `ask` is called for its size first, and then for itself."""
    size = min(int(ask(None, 0)), _MAX_TEXT_BYTES)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    # One that is longer than the buffer is not written at all.
    ask(buffer, size)
    return buffer.raw.decode("utf-16-le", "replace").partition("\0")[0]


def _describe_failure(body: bytes, error: int) -> str:
    if error == _PASSWORD:
        return (
            "The PDF is encrypted and opens only with a password, which cinder cannot be given. "
            f"{_HOW_TO_GET_THE_FILE}"
        )
    if error == _SECURITY:
        return f"The PDF is encrypted in a way that cinder does not know. {_HOW_TO_GET_THE_FILE}"
    if b"%PDF-" not in body[:1024]:
        return f"The file calls itself a PDF but is none. {_HOW_TO_GET_THE_FILE}"
    return f"The PDF is broken and cannot be opened. {_HOW_TO_GET_THE_FILE}"

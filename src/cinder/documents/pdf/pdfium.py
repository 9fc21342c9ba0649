"""The binding to pdfium: opens documents, reads bookmarks, page rotation and drawn lines."""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import pypdfium2_raw as raw

from cinder.documents.pdf.layout import Box, DrawnLine
from cinder.errors import Unsupported

# pdfium's handles are opaque pointers.
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
    """An entry of a document's own table of contents."""

    title: str
    page_index: int


@contextmanager
def open_document(body: bytes) -> Iterator[Handle]:
    """Open a PDF for the duration of the context.

    Raises:
        Unsupported: it is encrypted, broken, or no PDF at all.
    """
    raw.FPDF_InitLibrary()
    document = raw.FPDF_LoadMemDocument64(body, len(body), None)
    if not document:
        error, problem = raw.FPDF_GetLastError(), "The PDF is broken and cannot be opened."
        if error == _PASSWORD:
            problem = "The PDF is encrypted and opens only with a password, which cinder lacks."
        elif error == _SECURITY:
            problem = "The PDF is encrypted in a way that cinder does not know."
        elif b"%PDF-" not in body[:1024]:
            problem = "The file is declared as a PDF but is not one."
        raise Unsupported(f"{problem} {_HOW_TO_GET_THE_FILE}")
    try:
        yield document
    finally:
        raw.FPDF_CloseDocument(document)


def count_pages(document: Handle) -> int:
    """Return how many pages a document declares."""
    return int(max(0, raw.FPDF_GetPageCount(document)))


def read_info(document: Handle, name: str) -> str:
    """Return an entry of a document's metadata, such as `Title`; empty where it has none."""
    return read_utf16(partial(raw.FPDF_GetMetaText, document, name.encode()))


def read_language(document: Handle) -> str:
    """Return the language that a document declares; empty where it declares none."""
    wide = ctypes.POINTER(raw.FPDF_WCHAR)
    return read_utf16(
        lambda buffer, size: raw.FPDFCatalog_GetLanguage(
            document, ctypes.cast(buffer, wide) if buffer else None, size
        )
    )


def read_bookmarks(document: Handle) -> list[Bookmark]:
    """Return a document's table of contents, up to a limit of entries and depth."""
    found: list[Bookmark] = []
    waiting: list[tuple[Handle, int]] = [(raw.FPDFBookmark_GetFirstChild(document, None), 1)]
    # A broken table may have cycles: the limit counts the entries visited, not those found.
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
        title = read_utf16(partial(raw.FPDFBookmark_GetTitle, bookmark))
        found.append(Bookmark(title, int(index)))
    return found


def read_utf16(ask: Callable[[Any, int], int]) -> str:
    """Return a text from pdfium; `ask` is called for its size first, and then for the text."""
    size = min(int(ask(None, 0)), _MAX_TEXT_BYTES)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    # pdfium does not write a text that is longer than the buffer.
    ask(buffer, size)
    return buffer.raw.decode("utf-16-le", "replace").partition("\0")[0]


@dataclass(frozen=True, slots=True)
class PageRotation:
    """A page's edges, y upwards, and its text's rotation to the left, in quarters."""

    quarters: int
    edges: Box

    @classmethod
    def of_page(cls, page: Handle, quarters: int) -> "PageRotation":
        """Return the rotation of a page whose text is rotated by so many quarters."""
        rectangle = raw.FS_RECTF()
        raw.FPDF_GetPageBoundingBox(page, rectangle)
        edges = Box(rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
        return cls(quarters % 4, edges)

    @property
    def width(self) -> float:
        """The width of the upright page."""
        sides = (self.edges.right - self.edges.left, self.edges.top - self.edges.bottom)
        return sides[self.quarters % 2]

    @property
    def height(self) -> float:
        """The height of the upright page."""
        sides = (self.edges.right - self.edges.left, self.edges.top - self.edges.bottom)
        return sides[1 - self.quarters % 2]

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point of the file to the coordinates of the upright page."""
        edges = self.edges
        return (
            (x - edges.left, edges.top - y),
            (y - edges.bottom, x - edges.left),
            (edges.right - x, y - edges.bottom),
            (edges.top - y, edges.right - x),
        )[self.quarters]

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Convert a rectangle of the file to the coordinates of the upright page."""
        xs, ys = zip(self.point(left, bottom), self.point(right, top), strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))


_MAX_OBJECTS = 20_000
_MAX_SEGMENTS = 20_000
_MAX_RULES = 4_000
_MAX_FORM_DEPTH = 3
# A filled shape this thin is a line drawn as a rectangle.
_MAX_LINE_WIDTH = 3.0
_MIN_LENGTH = 4.0
_SKEW = 0.7
_MIN_DOT = 1.5
_MAX_DOT = 7.0
_MAX_DOTS = 500


@dataclass(frozen=True, slots=True)
class Drawing:
    """A page's rules, horizontal and vertical, and the number of its images."""

    level: tuple[DrawnLine, ...]
    upright: tuple[DrawnLine, ...]
    image_count: int
    dots: tuple[Box, ...] = ()
    """Small shapes as wide as high, which may be drawn bullets."""


class _Matrix(NamedTuple):
    a: float = 1.0
    b: float = 0.0
    c: float = 0.0
    d: float = 1.0
    e: float = 0.0
    f: float = 0.0

    def apply(self, x: float, y: float) -> tuple[float, float]:
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    def after(self, inner: "_Matrix") -> "_Matrix":
        """Return the matrix that applies `inner` first."""
        origin = self.apply(inner.e, inner.f)
        return _Matrix(
            self.a * inner.a + self.c * inner.b,
            self.b * inner.a + self.d * inner.b,
            self.a * inner.c + self.c * inner.d,
            self.b * inner.c + self.d * inner.d,
            *origin,
        )


def read_drawing(page: Handle, turned: PageRotation) -> Drawing:
    """Return the rules of the upright page, its dots and the number of its images."""
    level: list[DrawnLine] = []
    upright: list[DrawnLine] = []
    images = 0
    dots: list[Box] = []
    budget = _MAX_SEGMENTS
    for handle, matrix in _objects(page):
        kind = raw.FPDFPageObj_GetType(handle)
        images += kind == raw.FPDF_PAGEOBJ_IMAGE
        if kind != raw.FPDF_PAGEOBJ_PATH or len(level) + len(upright) > _MAX_RULES:
            continue
        sides = [ctypes.c_float() for _ in range(4)]
        has_bounds = raw.FPDFPageObj_GetBounds(handle, *sides)
        bounds = [side.value for side in sides] if has_bounds else None
        if bounds is not None and len(dots) < _MAX_DOTS:
            box = turned.box(*bounds)
            width, height = box.right - box.left, box.bottom - box.top
            if _MIN_DOT <= width <= _MAX_DOT and abs(width - height) <= 1:
                dots.append(box)
                continue
        count = raw.FPDFPath_CountSegments(handle)
        budget -= count
        if budget < 0 or not _draws_lines(handle, bounds):
            continue
        for start, end in _strokes(handle, matrix, count):
            (x0, y0), (x1, y1) = turned.point(*start), turned.point(*end)
            if abs(y1 - y0) <= _SKEW and abs(x1 - x0) >= _MIN_LENGTH:
                level.append(DrawnLine((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
            elif abs(x1 - x0) <= _SKEW and abs(y1 - y0) >= _MIN_LENGTH:
                upright.append(DrawnLine((x0 + x1) / 2, min(y0, y1), max(y0, y1)))
    return Drawing(tuple(level), tuple(upright), images, tuple(dots))


def _objects(page: Handle) -> Iterator[tuple[Handle, _Matrix]]:
    """Yield the objects of a page and of its forms, each with its transformation."""
    handles = (
        raw.FPDFPage_GetObject(page, index)
        for index in range(min(raw.FPDFPage_CountObjects(page), _MAX_OBJECTS))
    )
    waiting = [(handle, _Matrix(), 0) for handle in handles]
    waiting.reverse()
    seen = 0
    while waiting and seen < _MAX_OBJECTS:
        handle, outer, depth = waiting.pop()
        seen += 1
        if not handle:
            continue
        found = raw.FS_MATRIX()
        matrix = outer
        if raw.FPDFPageObj_GetMatrix(handle, found):
            inner = _Matrix(found.a, found.b, found.c, found.d, found.e, found.f)
            matrix = outer.after(inner)
        if raw.FPDFPageObj_GetType(handle) != raw.FPDF_PAGEOBJ_FORM:
            yield handle, matrix
        elif depth < _MAX_FORM_DEPTH:
            count = min(raw.FPDFFormObj_CountObjects(handle), _MAX_OBJECTS - len(waiting))
            parts = (raw.FPDFFormObj_GetObject(handle, i) for i in range(count - 1, -1, -1))
            waiting += [(part, matrix, depth + 1) for part in parts]


def _draws_lines(handle: Handle, bounds: list[float] | None) -> bool:
    """Whether a path is stroked, or so thin that filling it draws a line."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if raw.FPDFPath_GetDrawMode(handle, fill, stroke) and stroke.value:
        return True
    if not fill.value or bounds is None:
        return False
    left, bottom, right, top = bounds
    return min(right - left, top - bottom) <= _MAX_LINE_WIDTH


def _strokes(
    handle: Handle, matrix: _Matrix, count: int
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    start = here = (0.0, 0.0)
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(count):
        segment = raw.FPDFPath_GetPathSegment(handle, index)
        if not raw.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        point = matrix.apply(x.value, y.value)
        kind = raw.FPDFPathSegment_GetType(segment)
        if kind == raw.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == raw.FPDF_SEGMENT_LINETO:
            yield here, point
        here = point
        if raw.FPDFPathSegment_GetClose(segment):
            yield here, start

"""The lines that a PDF's page is ruled with, and how many pictures stand on it."""

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pypdfium2_raw as raw

from cinder.extract.pdf.layout import Box, Rule
from cinder.extract.pdf.pdfium import Handle
from cinder.extract.pdf.turning import Turn

_MAX_OBJECTS = 20_000
_MAX_SEGMENTS = 20_000
_MAX_RULES = 4_000
_MAX_FORM_DEPTH = 3
# A filled shape this thin is a line that somebody drew as a rectangle.
_MAX_LINE_WIDTH = 3.0
_MIN_LENGTH = 4.0
_SKEW = 0.7
_MIN_DOT = 1.5
_MAX_DOT = 7.0
_MAX_DOTS = 500


@dataclass(frozen=True, slots=True)
class Drawing:
    """A page's rules, level and upright, and the number of its pictures."""

    level: tuple[Rule, ...]
    upright: tuple[Rule, ...]
    image_count: int
    dots: tuple[Box, ...] = ()
    """Small shapes as wide as high: what bullets are that are drawn, not written."""


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


def read_drawing(page: Handle, turned: Turn) -> Drawing:
    """Return the rules of a page, as it is read."""
    level: list[Rule] = []
    upright: list[Rule] = []
    images = 0
    dots: list[Box] = []
    budget = _MAX_SEGMENTS
    for handle, matrix in _objects(page):
        kind = raw.FPDFPageObj_GetType(handle)
        images += kind == raw.FPDF_PAGEOBJ_IMAGE
        if kind != raw.FPDF_PAGEOBJ_PATH or len(level) + len(upright) > _MAX_RULES:
            continue
        box = _bounds(handle, turned)
        if box is not None and _is_dot(box) and len(dots) < _MAX_DOTS:
            dots.append(box)
            continue
        count = raw.FPDFPath_CountSegments(handle)
        budget -= count
        if budget < 0 or not _draws_lines(handle):
            continue
        for start, end in _strokes(handle, matrix, count):
            _add_rule(turned.point(*start), turned.point(*end), level, upright)
    return Drawing(tuple(level), tuple(upright), images, tuple(dots))


def _objects(page: Handle) -> Iterator[tuple[Handle, _Matrix]]:
    """Yield the objects of a page and of the forms it is put together from."""
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
        matrix = outer.after(_matrix_of(handle))
        if raw.FPDFPageObj_GetType(handle) != raw.FPDF_PAGEOBJ_FORM:
            yield handle, matrix
        elif depth < _MAX_FORM_DEPTH:
            count = min(raw.FPDFFormObj_CountObjects(handle), _MAX_OBJECTS - len(waiting))
            inner = (raw.FPDFFormObj_GetObject(handle, i) for i in range(count - 1, -1, -1))
            waiting += [(found, matrix, depth + 1) for found in inner]


def _matrix_of(handle: Handle) -> _Matrix:
    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(handle, matrix):
        return _Matrix()
    return _Matrix(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _bounds(handle: Handle, turned: Turn) -> Box | None:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not raw.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
        return None
    return turned.box(left.value, bottom.value, right.value, top.value)


def _is_dot(box: Box) -> bool:
    width, height = box.right - box.left, box.bottom - box.top
    return _MIN_DOT <= width <= _MAX_DOT and abs(width - height) <= 1


def _draws_lines(handle: Handle) -> bool:
    """Whether a path is stroked, or so thin that filling it draws a line."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    if raw.FPDFPath_GetDrawMode(handle, fill, stroke) and stroke.value:
        return True
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not fill.value or not raw.FPDFPageObj_GetBounds(handle, left, bottom, right, top):
        return False
    return min(right.value - left.value, top.value - bottom.value) <= _MAX_LINE_WIDTH


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


def _add_rule(
    start: tuple[float, float],
    end: tuple[float, float],
    level: list[Rule],
    upright: list[Rule],
) -> None:
    (x0, y0), (x1, y1) = start, end
    if abs(y1 - y0) <= _SKEW and abs(x1 - x0) >= _MIN_LENGTH:
        level.append(Rule((y0 + y1) / 2, min(x0, x1), max(x0, x1)))
    elif abs(x1 - x0) <= _SKEW and abs(y1 - y0) >= _MIN_LENGTH:
        upright.append(Rule((x0 + x1) / 2, min(y0, y1), max(y0, y1)))

"""Turns a page so that its text runs from left to right, and its top is at zero."""

from dataclasses import dataclass

import pypdfium2_raw as raw

from cinder.extract.pdf.layout import Box
from cinder.extract.pdf.pdfium import Handle


@dataclass(frozen=True, slots=True)
class Turn:
    """A page's edges, y upwards, and the quarters by which its text is turned to the left."""

    quarters: int
    edges: Box

    @classmethod
    def of_page(cls, page: Handle, quarters: int) -> "Turn":
        """Return the turn of a page whose text runs in the direction of so many quarters."""
        rectangle = raw.FS_RECTF()
        raw.FPDF_GetPageBoundingBox(page, rectangle)
        edges = Box(rectangle.left, rectangle.top, rectangle.right, rectangle.bottom)
        return cls(quarters % 4, edges)

    @property
    def width(self) -> float:
        """The page's width as it is read."""
        sides = (self.edges.right - self.edges.left, self.edges.top - self.edges.bottom)
        return sides[self.quarters % 2]

    @property
    def height(self) -> float:
        """The page's height as it is read."""
        sides = (self.edges.right - self.edges.left, self.edges.top - self.edges.bottom)
        return sides[1 - self.quarters % 2]

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the file stands on the page as it is read."""
        edges = self.edges
        return (
            (x - edges.left, edges.top - y),
            (y - edges.bottom, x - edges.left),
            (edges.right - x, y - edges.bottom),
            (edges.top - y, edges.right - x),
        )[self.quarters]

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Return where a rectangle of the file stands on the page as it is read."""
        xs, ys = zip(self.point(left, bottom), self.point(right, top), strict=True)
        return Box(min(xs), min(ys), max(xs), max(ys))

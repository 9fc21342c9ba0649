"""The seam between the pages of an export and the format they are written in."""

from collections.abc import Sequence
from typing import Protocol

from cinder.services.export.pages import ExportedPage


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

"""The links of a PDF's page: where on it they lie, and which web addresses they lead to."""

import ctypes
from dataclasses import dataclass

import pypdfium2_raw as raw

from cinder.extract.pdf.layout import Box
from cinder.extract.pdf.pdfium import Handle
from cinder.extract.pdf.turning import Turn

_MAX_LINKS = 2_000
_MAX_ADDRESS_BYTES = 8_192


@dataclass(frozen=True, slots=True)
class PageLink:
    """A place on a page, and the address behind it as the file has it."""

    box: Box
    address: str


def read_links(document: Handle, page: Handle, turned: Turn) -> list[PageLink]:
    """Return a page's links to other documents."""
    found: list[PageLink] = []
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MAX_LINKS):
        if not raw.FPDFLink_Enumerate(page, position, link):
            break
        address = _address_of(document, link)
        rectangle = raw.FS_RECTF()
        if address and raw.FPDFLink_GetAnnotRect(link, rectangle):
            edges = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
            found.append(PageLink(turned.box(*edges), address))
    return found


def _address_of(document: Handle, link: Handle) -> str:
    action = raw.FPDFLink_GetAction(link)
    if not action or raw.FPDFAction_GetType(action) != raw.PDFACTION_URI:
        return ""
    buffer = ctypes.create_string_buffer(_MAX_ADDRESS_BYTES)
    size = raw.FPDFAction_GetURIPath(document, action, buffer, _MAX_ADDRESS_BYTES)
    return buffer.value.decode("utf-8", "replace") if size <= _MAX_ADDRESS_BYTES else ""

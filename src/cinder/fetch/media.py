"""Media types: which responses are files to pass through, PDFs, or pages."""

import re
from pathlib import PurePosixPath

import can_ada

from cinder.models.document import FetchedPage

_MEDIA_TYPES = ("image/", "video/", "audio/")
PDF_TYPE = "application/pdf"
_PDF_TYPES = (PDF_TYPE, "application/x-pdf")
_PDF_SIGNATURE = b"%PDF-"
UNNAMED_TYPE = "application/octet-stream"

# The type a file of unnamed type is handed on as, by the end of its URL's path.
_TYPE_BY_EXTENSION = {
    ".avi": "video/x-msvideo",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".flac": "audio/flac",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".ico": "image/x-icon",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".m4a": "audio/mp4",
    ".m4v": "video/mp4",
    ".mkv": "video/x-matroska",
    ".mov": "video/quicktime",
    ".mp3": "audio/mpeg",
    ".mp4": "video/mp4",
    ".mpeg": "video/mpeg",
    ".ogg": "audio/ogg",
    ".ogv": "video/ogg",
    ".opus": "audio/opus",
    ".pdf": PDF_TYPE,
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".wav": "audio/wav",
    ".weba": "audio/webm",
    ".webm": "video/webm",
    ".webp": "image/webp",
}


# A type ends up in data URIs and headers: one that is not written as a type counts as none.
_MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")


def media_type(page: FetchedPage) -> str | None:
    """Return the MIME type under which an answer is handed on as media; None for a page."""
    content_type = safe_type(page)
    is_unnamed = content_type in ("", UNNAMED_TYPE)
    by_extension = _TYPE_BY_EXTENSION.get(_extension(page.final_url))
    if "attachment" in page.headers.get("content-disposition", "").lower():
        return by_extension or UNNAMED_TYPE if is_unnamed else content_type
    if content_type.startswith(_MEDIA_TYPES) or content_type in _PDF_TYPES:
        return content_type
    return by_extension if content_type == UNNAMED_TYPE else None


def safe_type(page: FetchedPage) -> str:
    """Return a page's MIME type; empty where it has none that is written as one."""
    return page.content_type if _MIME.fullmatch(page.content_type) else ""


def is_pdf(page: FetchedPage) -> bool:
    """Whether an answer is a PDF document: by its type, or, without one, by how it begins."""
    if safe_type(page) in ("", UNNAMED_TYPE):
        return media_type(page) == PDF_TYPE or page.body.startswith(_PDF_SIGNATURE)
    return safe_type(page) in _PDF_TYPES


def _extension(url: str) -> str:
    return PurePosixPath(can_ada.parse(url).pathname).suffix.lower()

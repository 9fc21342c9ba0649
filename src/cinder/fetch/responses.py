"""Redirects with the headers of each hop, and media types: which responses are files or pages."""

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

import can_ada

from cinder.errors import EgressBlocked, ScrapeFailed
from cinder.models.document import FetchedPage
from cinder.models.http import is_sendable
from cinder.models.redaction import without_secret_headers
from cinder.models.url import ForeignScheme, join_web_url, origin_of

REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})


def redirect_target(url: str, status_code: int, location: str | None) -> str | None:
    """Return the URL that a response redirects to; None if it is not a redirect.

    Raises:
        EgressBlocked: the target is not a web URL.
        ScrapeFailed: the target is not a valid URL.
    """
    if status_code not in REDIRECT_STATUSES or not location:
        return None
    try:
        return join_web_url(url, location)
    except ForeignScheme as error:
        raise EgressBlocked(f"{url} redirects out of the web: {error}", url=url) from error
    except ValueError as error:
        raise ScrapeFailed(f"{url} redirects to no valid URL: {error}", url=url) from error


class HopHeaders:
    """The headers to send on each hop of one fetch.

    Credentials are sent only to the origin of the first URL, and cookies set by a response only
    to the origin that set them: enough for sites that check whether their cookie returns.
    """

    def __init__(self, url: str, headers: Iterable[tuple[str, str]]) -> None:
        self._home = origin_of(url)
        self._headers = tuple(headers)
        self._cookies: dict[str, dict[str, str]] = {}

    def keep_cookies(self, url: str, set_cookie: Iterable[str]) -> None:
        """Remember the cookies that a response from this URL set."""
        jar = self._cookies.setdefault(origin_of(url), {})
        for line in set_cookie:
            name, equals, value = line.partition(";")[0].partition("=")
            if equals and name.strip() and is_sendable(line):
                jar[name.strip()] = value.strip()

    def for_url(self, url: str) -> list[tuple[str, str]]:
        """Return the headers to send to this URL."""
        origin = origin_of(url)
        is_home = origin == self._home
        sent = [*(self._headers if is_home else without_secret_headers(self._headers))]
        if jar := self._cookies.get(origin):
            pairs = [value for name, value in sent if name.lower() == "cookie"]
            pairs += [f"{name}={value}" for name, value in jar.items()]
            sent = [(name, value) for name, value in sent if name.lower() != "cookie"]
            sent.append(("Cookie", "; ".join(pairs)))
        return sent


_MEDIA_TYPES = ("image/", "video/", "audio/")
PDF_TYPE = "application/pdf"
_PDF_TYPES = (PDF_TYPE, "application/x-pdf")
_PDF_SIGNATURE = b"%PDF-"
UNNAMED_TYPE = "application/octet-stream"

# The type of a file that the server gives no type, by the extension of its URL's path.
_TYPE_BY_EXTENSION = {
    **{f".{name}": f"image/{name}" for name in ("avif", "bmp", "gif", "heic", "jpeg", "png")},
    **{f".{name}": f"image/{name}" for name in ("tiff", "webp")},
    **{f".{name}": f"audio/{name}" for name in ("flac", "ogg", "opus", "wav")},
    **{f".{name}": f"video/{name}" for name in ("mp4", "mpeg", "webm")},
    ".avi": "video/x-msvideo",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".m4a": "audio/mp4",
    ".m4v": "video/mp4",
    ".mkv": "video/x-matroska",
    ".mov": "video/quicktime",
    ".mp3": "audio/mpeg",
    ".ogv": "video/ogg",
    ".pdf": PDF_TYPE,
    ".svg": "image/svg+xml",
    ".tif": "image/tiff",
    ".weba": "audio/webm",
}


# Types are copied into data URIs and headers, so malformed ones are ignored.
_MIME = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")


def media_type(page: FetchedPage) -> str | None:
    """Return the MIME type of a response that is media; None for a page."""
    content_type = safe_type(page)
    is_unnamed = content_type in ("", UNNAMED_TYPE)
    extension = PurePosixPath(can_ada.parse(page.final_url).pathname).suffix.lower()
    by_extension = _TYPE_BY_EXTENSION.get(extension)
    if "attachment" in page.headers.get("content-disposition", "").lower():
        return by_extension or UNNAMED_TYPE if is_unnamed else content_type
    if content_type.startswith(_MEDIA_TYPES) or content_type in _PDF_TYPES:
        return content_type
    return by_extension if content_type == UNNAMED_TYPE else None


def safe_type(page: FetchedPage) -> str:
    """Return a page's MIME type; empty if it has none or a malformed one."""
    return page.content_type if _MIME.fullmatch(page.content_type) else ""


def is_pdf(page: FetchedPage) -> bool:
    """Whether a response is a PDF document: by its type, or by its signature without a type."""
    if safe_type(page) in ("", UNNAMED_TYPE):
        return media_type(page) == PDF_TYPE or page.body.startswith(_PDF_SIGNATURE)
    return safe_type(page) in _PDF_TYPES

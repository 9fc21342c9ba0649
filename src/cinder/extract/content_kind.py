"""What kind of text a page is, by its MIME type or, where that says nothing, by how it begins."""

from dataclasses import dataclass
from enum import Enum, auto

_SNIFFED_CHARS = 1_024
_GENERIC = frozenset(
    (
        *("", "*/*", "application/octet-stream", "binary/octet-stream", "unknown/unknown"),
        *("application/unknown", "application/force-download", "application/download"),
    )
)
_FENCED = {
    "text/css": "css",
    "text/javascript": "javascript",
    "application/javascript": "javascript",
    "application/x-javascript": "javascript",
    "application/ecmascript": "javascript",
    "application/yaml": "yaml",
    "application/x-yaml": "yaml",
    "text/yaml": "yaml",
    "text/x-yaml": "yaml",
    "application/toml": "toml",
    "application/sql": "sql",
    "application/x-sh": "sh",
    "text/calendar": "ics",
    "text/vcard": "vcard",
}
_DELIMITED = {
    "text/csv": "csv",
    "application/csv": "csv",
    "text/x-csv": "csv",
    "text/comma-separated-values": "csv",
    "text/tab-separated-values": "tsv",
}
# What an XML document that is no page begins with, where nothing else tells.
_XML_STARTS = ("<rss", "<feed", "<rdf:rdf", "<urlset", "<sitemapindex")
_JSON_LINES = frozenset(("application/x-ndjson", "application/jsonl", "application/json-seq"))


class Shape(Enum):
    """How a kind of text is turned into content."""

    HTML = auto()
    PROSE = auto()
    JSON = auto()
    FENCED = auto()
    TABLE = auto()
    BINARY = auto()


@dataclass(frozen=True, slots=True)
class ContentKind:
    """A shape and, for text that goes into a fence, the fence's language."""

    shape: Shape
    language: str = ""


HTML = ContentKind(Shape.HTML)
PROSE = ContentKind(Shape.PROSE)
JSON = ContentKind(Shape.JSON, "json")
XML = ContentKind(Shape.FENCED, "xml")
BINARY = ContentKind(Shape.BINARY)


def content_kind(content_type: str, text: str) -> ContentKind:
    """Return the kind of a decoded page, given its whole Content-Type header."""
    mime = content_type.partition(";")[0].strip().lower()
    return _sniff(text[:_SNIFFED_CHARS]) if mime in _GENERIC else _by_mime(mime)


def _by_mime(mime: str) -> ContentKind:
    if mime in ("text/html", "application/xhtml+xml"):
        return HTML
    if mime in _FENCED:
        return ContentKind(Shape.FENCED, _FENCED[mime])
    if mime in _DELIMITED:
        return ContentKind(Shape.TABLE, _DELIMITED[mime])
    if mime in _JSON_LINES or mime.endswith(("/json", "+json")):
        return JSON
    if mime.endswith(("/xml", "+xml")):
        return XML
    return PROSE if mime.startswith("text/") else BINARY


def _sniff(start: str) -> ContentKind:
    # Decoding has made each NUL a replacement character; text has hardly any of those.
    if start.count("\ufffd") * 10 > len(start):
        return BINARY
    start = start.lstrip("\ufeff \t\r\n").lower()
    if start.startswith("<?xml"):
        return HTML if "<html" in start else XML
    if start.startswith(_XML_STARTS):
        return XML
    if (
        start.startswith("<")
        and start[1:2].isascii()
        and (start[1:2].isalpha() or start[1:2] == "!")
    ):
        return HTML
    return JSON if start.startswith(("{", "[")) else PROSE

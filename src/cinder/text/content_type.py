"""The content type of a body: its charset and its kind of text, declared or detected."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from dataclasses import dataclass
from enum import Enum, auto

_PRESCAN_BYTES = 4_096
_DETECTION_BYTES = 16_384
_FALLBACK_CODEC = "cp1252"

_BOMS = ((BOM_UTF8, "utf-8"), (BOM_UTF16_LE, "utf-16-le"), (BOM_UTF16_BE, "utf-16-be"))

# The labels of the WHATWG Encoding Standard that pages use, by the codec that reads them. Labels
# that are not here (utf-7, rot13, idna…) name no encoding of a web page and are ignored.
_LABELS_BY_CODEC = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16 utf-16le csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff",
    "utf-16-be": "utf-16be unicodefffe",
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 "
    "iso_8859-1:1987 latin1 latin-1 l1 ascii us-ascii ansi_x3.4-1968 cp819 ibm819 iso-ir-100",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "cp874": "windows-874 dos-874 tis-620 iso-8859-11 iso8859-11 iso885911",
    "cp866": "ibm866 cp866 866 csibm866",
    "iso8859-2": "iso-8859-2 iso8859-2 iso88592 iso_8859-2 latin2 latin-2 l2",
    "iso8859-3": "iso-8859-3 iso8859-3 latin3 l3",
    "iso8859-4": "iso-8859-4 iso8859-4 latin4 l4",
    "iso8859-5": "iso-8859-5 iso8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 arabic asmo-708",
    "iso8859-7": "iso-8859-7 iso8859-7 greek greek8",
    "iso8859-8": "iso-8859-8 iso8859-8 iso-8859-8-i iso-8859-8-e hebrew visual logical",
    "iso8859-10": "iso-8859-10 iso8859-10 latin6 l6",
    "iso8859-13": "iso-8859-13 iso8859-13",
    "iso8859-14": "iso-8859-14 iso8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 iso_8859-15 latin-9 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi koi8_r cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese csgb2312 iso-ir-58",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5 csbig5",
    "cp932": "shift_jis shift-jis sjis x-sjis ms932 ms_kanji windows-31j csshiftjis",
    "euc-jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022-jp": "iso-2022-jp csiso2022jp",
    "cp949": "euc-kr windows-949 ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean cseuckr",
}
_CODECS = {label: codec for codec, labels in _LABELS_BY_CODEC.items() for label in labels.split()}

# The encodings of undeclared pages; the fewer the detector tries, the faster it is.
_DETECTABLE = [
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5hkscs", "cp949", "utf_16_le", "utf_16_be"),
]

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_META_CHARSET = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)
_XML_DECLARATION = re.compile(rb"\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]+)", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)


def decode_body(body: bytes, content_type: str) -> str:
    """Return a page's text; bytes that its encoding cannot decode, and NULs, become U+FFFD.

    Args:
        body: the page as received.
        content_type: the whole Content-Type header, empty when there was none.
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return _decode(body[len(bom) :], codec)
    in_header = _HEADER_CHARSET.search(content_type)
    declared = _CODECS.get(in_header[1].lower()) if in_header else None
    if declared is None:
        head = body[:_PRESCAN_BYTES]
        found = _XML_DECLARATION.match(head) or _META_CHARSET.search(_COMMENT.sub(b"", head))
        label = found[1].decode("ascii", "replace").strip().lower() if found else ""
        declared = _CODECS.get(label)
        # A declaration that can be read as ASCII is not in UTF-16.
        declared = "utf-8" if declared in ("utf-16-le", "utf-16-be") else declared
    if declared is not None:
        return _decode(body, declared)
    try:
        return body.decode("utf-8").replace("\0", "\ufffd")
    except UnicodeDecodeError as exc:
        return _decode(body, _detect_codec(body, exc.start))


def _decode(body: bytes, codec: str) -> str:
    return body.decode(codec, "replace").replace("\0", "\ufffd")


def _detect_codec(body: bytes, offset: int) -> str:
    """Detect the encoding from a sample around the first byte that is not UTF-8."""
    offset = max(offset - _DETECTION_BYTES // 2, 0)
    # The sample begins and ends at ASCII, so that no character is cut in two.
    start = max(body.rfind(b">", 0, offset), body.rfind(b"\n", 0, offset), 0)
    sample = body[start : start + _DETECTION_BYTES]
    end = max(sample.rfind(b"<"), sample.rfind(b"\n"))
    sample = sample[:end] if end > _DETECTION_BYTES // 2 else sample
    text = sample.decode("utf-8", "replace")
    # It is damaged UTF-8 if that decodes far more of the characters beyond ASCII than it does not.
    if sum(character > "\x7f" for character in text) > 5 * text.count("\ufffd"):
        return "utf-8"
    # Loading the detector takes longer than extracting most pages, and few of them need it.
    from charset_normalizer import from_bytes  # noqa: PLC0415

    matches = from_bytes(sample, cp_isolation=_DETECTABLE)
    codecs = [match.encoding for match in matches]
    # The detector confuses short Western texts with Central European ones, which are rarer.
    if codecs[:1] == ["cp1250"] and _FALLBACK_CODEC in codecs:
        return _FALLBACK_CODEC
    return codecs[0] if codecs else _FALLBACK_CODEC


_SNIFFED_CHARS = 1_024
_GENERIC_TYPES = frozenset(
    (
        *("", "*/*", "application/octet-stream", "binary/octet-stream", "unknown/unknown"),
        *("application/unknown", "application/force-download", "application/download"),
    )
)
_TYPES_BY_LANGUAGE = {
    "css": "text/css",
    "javascript": "text/javascript application/javascript application/x-javascript "
    "application/ecmascript",
    "yaml": "application/yaml application/x-yaml text/yaml text/x-yaml",
    "toml": "application/toml",
    "sql": "application/sql",
    "sh": "application/x-sh",
    "ics": "text/calendar",
    "vcard": "text/vcard",
}
_FENCED = {mime: name for name, types in _TYPES_BY_LANGUAGE.items() for mime in types.split()}
_DELIMITED = {
    "text/csv": "csv",
    "application/csv": "csv",
    "text/x-csv": "csv",
    "text/comma-separated-values": "csv",
    "text/tab-separated-values": "tsv",
}
_TAG_START = re.compile(r"<[a-z!]")
# How XML documents begin that are not pages.
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
    """A shape and, for text that is shown in a code fence, the fence's language."""

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
    if mime in _GENERIC_TYPES:
        return _sniff_kind(text[:_SNIFFED_CHARS])
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


def _sniff_kind(start: str) -> ContentKind:
    # Decoding has made each NUL a replacement character; text has hardly any of those.
    if start.count("\ufffd") * 10 > len(start):
        return BINARY
    start = start.lstrip("\ufeff \t\r\n").lower()
    if start.startswith("<?xml"):
        return HTML if "<html" in start else XML
    if start.startswith(_XML_STARTS):
        return XML
    if _TAG_START.match(start):
        return HTML
    return JSON if start.startswith(("{", "[")) else PROSE

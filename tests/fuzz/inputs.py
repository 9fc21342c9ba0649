"""Inputs made up of pieces that mean something to a parser, and of anything at all."""

import gzip
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

_ANY_TEXT = st.text(max_size=20)


def mixed(pieces: Sequence[str], *, most: int = 25) -> SearchStrategy[str]:
    """Texts of these pieces and others, in any order."""
    piece = st.one_of(st.sampled_from(pieces), st.sampled_from(pieces), _ANY_TEXT)
    return st.lists(piece, max_size=most).map("".join)


ADDRESSES = mixed(
    [
        *("http://", "https://", "//", "HTTP:", "http:", "javascript:", "file:///", "ftp://"),
        *("example.com", "127.0.0.1", "0x7f.1", "[::1]", "[::ffff:7f00:1]", "2130706433"),
        *("xn--bcher-kva", "\u3002", "\uff0e", "\u00ad", "\u200d", "\u2488", "ﬀ", "ß", "İ"),
        *(":", ":80", ":443", ":0", ":65536", "@", "user:pass@", "%40", "%2e%2e", "%00", "%"),
        *("/", "\\", "/../", "/./", "?", "#", "&a=b", ";x", "\t", "\r\n", " ", "\0", "\ud800"),
        *("/index.html", "?utm_source=x", ";jsessionid=1A2B3C4D5E6F7A8B", "%7Euser", "%3f"),
    ]
)

HEADER_NAMES = mixed(
    ["X-", "Cookie", "Host", "Transfer-Encoding", ":", " ", "\r\n", "\0", "é", "_", "{"], most=4
)
HEADER_VALUES = mixed(
    ["a", "; ", "\r\nX-Slipped: 1", "\n", "\t", "\0", "\x7f", "é", '"', "\ud800", " "], most=8
)
HEADERS = st.dictionaries(HEADER_NAMES, HEADER_VALUES, max_size=5)

HTML = mixed(
    [
        *("<", ">", "</", "<!--", "-->", "<![CDATA[", "]]>", "<!doctype html>", "<?xml ?>"),
        *("<html>", "<head>", "<body>", "<p>", "<div ", "<table><tr><td>", "<option>", "<svg>"),
        *("<script>", "</script>", "<style>", "<title>", "</title>", "<plaintext>", "<textarea>"),
        *("<meta charset=", "utf-8", "utf-7", "'", '"', "=", "/", "shift_jis", "\0", "\ufeff"),
        *("&amp;", "&#x110000;", "&#0;", "&nLt;", "&#99999999999;", "a" * 300, "<p" * 200),
        *("<base href=//", "<a href='", "<img srcset=", "<ul>" * 150, " a=b" * 200),
    ]
)
_ENCODINGS = ("utf-8", "utf-16", "utf-16-be", "cp1252", "cp932", "gb18030", "utf-32")
_ENCODED = st.builds(
    lambda text, encoding: text.encode(encoding, "replace"), HTML, st.sampled_from(_ENCODINGS)
)
PAGES: SearchStrategy[bytes] = st.one_of(st.binary(max_size=2_000), _ENCODED)
CONTENT_TYPES = mixed(
    ["text/html", "application/xml", "; ", "charset=", "utf-8", "utf-16", "rot13", "'", '"', "\0"],
    most=5,
)

XML = mixed(
    [
        *("<?xml version='1.0'?>", "<rss>", "</rss>", "<channel>", "</channel>", "<item>"),
        *("</item>", "<link>", "</link>", "<title>", "</title>", "<feed>", "</feed>", "<entry>"),
        *("</entry>", "<link href='", "'/>", "<urlset>", "</urlset>", "<url><loc>", "</loc></url>"),
        *(
            "<sitemapindex>",
            "<!DOCTYPE a [<!ENTITY b 'c'>]>",
            "&b;",
            "&amp;",
            "&nbsp;",
            "<![CDATA[",
        ),
        *(
            "]]>",
            "<!--",
            "-->",
            "http://example.com/",
            "<a xmlns='x y'>",
            "</a>",
            "<pubDate>",
            "\0",
        ),
    ]
)
SITEMAPS: SearchStrategy[bytes] = st.one_of(
    st.binary(max_size=500),
    st.builds(
        lambda text, encoding: text.encode(encoding, "replace"),
        XML,
        st.sampled_from(("utf-8", "utf-16", "latin-1")),
    ),
    st.builds(
        lambda text, cut: gzip.compress(text.encode("utf-8", "replace"), mtime=0)[: cut or None],
        XML,
        st.integers(-20, 0),
    ),
)

ROBOTS: SearchStrategy[bytes] = mixed(
    [
        *("User-agent: *\n", "user-agent: cinder/1.0\n", "User-agent:", "Disallow: /", "Allow: "),
        *("*", "$", "/*/*/*/*$", "%2e", "Crawl-delay: ", "1e400", "-5", "nan", "Request-rate: 1/5"),
        *(
            "Sitemap: ",
            "http://example.com/map.xml",
            "javascript:x",
            "\n",
            "\r",
            "\ufeff",
            "#",
            "\0",
        ),
    ]
).map(lambda text: text.encode("utf-8", "replace"))

# Any, here and below: JSON.
JSON: SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | _ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)


def arguments(names: Sequence[str]) -> SearchStrategy[dict[str, Any]]:
    """Arguments by these names and others: JSON, JSON in a text, or nearly that."""
    texts = mixed(["[", "]", "{", "}", '"', ",", ":", "null", "true", "1", "markdown", "wait"])
    return st.dictionaries(
        st.one_of(st.sampled_from(list(names)), _ANY_TEXT), st.one_of(JSON, texts), max_size=8
    )


_LINES = mixed(
    [
        *("GET ", "CONNECT ", "POST ", "http://", "inner.example", "127.0.0.1", ":80", ":", "/"),
        *(" HTTP/1.1", " HTTP/1.0", "\r\n", "\n", "\r\n\r\n", "Host: a\r\n", "\0", "\t", "#", "@"),
        *("Content-Length: 5\r\n", "Content-Length: -1\r\n", "Transfer-Encoding: chunked\r\n"),
        *("Upgrade: websocket\r\n", "Connection: upgrade\r\n", "5\r\nhello\r\n", "0\r\n\r\n"),
        *("Proxy-Authorization: Basic eDp5\r\n", "Expect: 100-continue\r\n", "\xff"),
    ]
).map(lambda text: text.encode("utf-8", "replace"))
PROXY_REQUESTS: SearchStrategy[list[bytes]] = st.lists(
    st.one_of(_LINES, _LINES, st.binary(max_size=200)), min_size=1, max_size=10
)

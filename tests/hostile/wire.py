"""Answers that break the rules of HTTP, never end, or unpack to more than anyone can hold."""

import gzip
import zlib
from collections.abc import Callable

from cinder.compression import compress
from tests.hostile.case import OK, Bounds, Case, cases_of

_PAGE = b"<!doctype html><title>t</title><p>Some words about embers and ash.</p>"
_ZEROS_MEBIBYTES = 128


def head(*lines: bytes, status: bytes = b"200 OK") -> bytes:
    """Return the head of an answer."""
    return b"\r\n".join([b"HTTP/1.1 " + status, *lines, b"Connection: close", b"", b""])


def answer(
    body: bytes, *lines: bytes, kind: bytes = b"text/html; charset=utf-8", status: bytes = b"200 OK"
) -> bytes:
    """Return a whole answer."""
    length = b"Content-Length: %d" % len(body)
    return head(b"Content-Type: " + kind, length, *lines, status=status) + body


def _packed(encoding: bytes, body: bytes) -> bytes:
    return answer(body, b"Content-Encoding: " + encoding)


def _zeros(wbits: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    block = bytes(1024 * 1024)
    return b"".join([*(packer.compress(block) for _ in range(_ZEROS_MEBIBYTES)), packer.flush()])


def _nested_gzip() -> bytes:
    body = _zeros(31)
    for _ in range(9):
        body = gzip.compress(body)
    return _packed(b", ".join([b"gzip"] * 10), body)


# 128 MiB of NUL bytes, packed with brotli.
_BROTLI_ZEROS = bytes.fromhex(
    "cbffff3f002400e2b14072effff8ffff078004401c1680eefd1fffffff00900088c302d0bdffe3ffff1f0012"
    "00715800baf77ffcffff034002200e0b40f7fe8fffff7f004800c46101e8defff1ffff0f000980382c00ddfb"
    "3ffeffff012001108705a07bffc7ffff3f002400e2b00074effff8ffff078004401c1680eefd1fffffff0090"
    "0088c302d0bdffe3ffff1f001200715800baf77ffcffff034002200e0b40f7fe8fffff7f004800c46101e8de"
    "fff1ffff0f000980382c00ddfb3ffeffff012001108705a07bff37"
)

BROKEN: dict[str, Callable[[], bytes]] = {
    "not-http": lambda: b"SSH-2.0-OpenSSH_9.0\r\n",
    "garbage": lambda: b"\x00\x01\x02\x03\r\n\r\n",
    "nothing": lambda: b"",
    "http-0.9": lambda: b"<p>old</p>",
    "http-9": lambda: b"HTTP/9.9 200 OK\r\n\r\nx",
    "negative-length": lambda: head(b"Content-Length: -5") + b"abc",
    "length-of-letters": lambda: head(b"Content-Length: many") + b"abc",
    "two-lengths": lambda: head(b"Content-Length: 3", b"Content-Length: 5") + b"abcde",
    "bad-chunk": lambda: head(b"Transfer-Encoding: chunked") + b"zz\r\nabc\r\n",
    "huge-chunk": lambda: head(b"Transfer-Encoding: chunked") + b"ffffffffffffffff\r\nabc",
    "negative-chunk": lambda: head(b"Transfer-Encoding: chunked") + b"-1\r\nabc\r\n0\r\n\r\n",
    "header-without-colon": lambda: head(b"nonsense") + b"x",
    "header-of-10-mb": lambda: answer(_PAGE, b"X-Long: " + b"a" * 10_000_000),
    "100000-headers": lambda: answer(_PAGE, *(b"X-%d: 1" % n for n in range(100_000))),
    "corrupt-gzip": lambda: _packed(b"gzip", b"\x1f\x8b\x08\x00" + b"garbage" * 50),
    "corrupt-brotli": lambda: _packed(b"br", b"\xff" * 100),
    "corrupt-zstd": lambda: _packed(b"zstd", bytes.fromhex("28b52ffd00a8") + b"\x01\x00\x00x"),
    "unknown-encoding": lambda: _packed(b"x-other", b"abc"),
    "10000-encodings": lambda: _packed(b", ".join([b"gzip"] * 10_000), b"abc"),
    "gzip-in-gzip-in-gzip": _nested_gzip,
    "early-hints-flood": lambda: b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100_000,
    "status-of-letters": lambda: head(status=b"abc OK") + b"x",
    "status-without-end": lambda: b"HTTP/1.1 200 " + b"O" * 5_000_000,
    "head-without-end": lambda: b"HTTP/1.1 200 OK\r\n" + b"X-A: 1\r\n" * 500_000,
    "continues-for-ever": lambda: b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
    "length-of-digits": lambda: head(b"Content-Length: " + b"9" * 100_000) + b"abc",
    "hex-length": lambda: head(b"Content-Length: 0x10") + b"abc",
    "two-lengths-in-one": lambda: head(b"Content-Length: 3, 5") + b"abcde",
    "chunk-of-spaces": lambda: head(b"Transfer-Encoding: chunked") + b" " * 1_000_000,
    "gzip-chunks": lambda: head(b"Transfer-Encoding: gzip, chunked") + b"3\r\nabc\r\n0\r\n\r\n",
    "mixed-encodings": lambda: _packed(b"gzip, br, zstd, deflate", _zeros(31)),
    "http-2": lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "tls-instead": lambda: b"\x16\x03\x03\x00\x02\x02\x28",
    "nul-in-head": lambda: b"HTTP/1.1 200 OK\r\nX-A\0: 1\r\n\r\nx",
}

TOO_LARGE: dict[str, Callable[[], bytes]] = {
    "gzip-bomb": lambda: _packed(b"gzip", _zeros(31)),
    "deflate-bomb": lambda: _packed(b"deflate", _zeros(15)),
    "raw-deflate-bomb": lambda: _packed(b"deflate", _zeros(-15)),
    "zstd-bomb": lambda: _packed(b"zstd", compress(bytes(_ZEROS_MEBIBYTES * 1024 * 1024))),
    "brotli-bomb": lambda: _packed(b"br", _BROTLI_ZEROS),
    "shouted-encoding": lambda: _packed(b"GZIP", _zeros(31)),
    "100000-gzip-members": lambda: _packed(b"gzip", gzip.compress(b"a" * 1000) * 100_000),
    "a-terabyte-announced": lambda: head(b"Content-Length: 1000000000000") + b"a" * 1000,
    "30-mb": lambda: answer(b"a" * 30_000_000),
}

ODD: dict[str, Callable[[], bytes]] = {
    "only-a-line": lambda: b"HTTP/1.1 200 OK\r\n",
    "cut-short": lambda: head(b"Content-Length: 1000") + _PAGE,
    "cut-gzip": lambda: _packed(b"gzip", gzip.compress(_PAGE * 100)[:-20]),
    "length-and-chunks": lambda: (
        head(b"Transfer-Encoding: chunked", b"Content-Length: 3") + b"5\r\nabcde\r\n0\r\n\r\n"
    ),
    "long-chunk-extension": lambda: (
        head(b"Transfer-Encoding: chunked") + b"1;" + b"a" * 1_000_000 + b"\r\nx\r\n0\r\n\r\n"
    ),
    "10000-cookies": lambda: answer(_PAGE, *(b"Set-Cookie: c%d=1" % n for n in range(10_000))),
    "no-type": lambda: head(b"Content-Length: 2") + b"hi",
    "type-of-bytes": lambda: answer(_PAGE, kind=b"\xff;;charset=\x01"),
    "type-lies-pdf": lambda: answer(_PAGE, kind=b"application/pdf"),
    "type-lies-image": lambda: answer(_PAGE, kind=b"image/png"),
    "zip": lambda: answer(b"PK\x03\x04" + bytes(100), kind=b"application/zip"),
    "status-999": lambda: answer(_PAGE, status=b"999 X"),
    "status-0": lambda: answer(_PAGE, status=b"000 X"),
    "headers-with-lf": lambda: b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi",
    "folded-header": lambda: answer(_PAGE, b"X-A: 1\r\n folded"),
    "header-of-bytes": lambda: answer(_PAGE, b"X-\xff: \xfe\x80"),
    "strict-transport": lambda: answer(_PAGE, b"Strict-Transport-Security: max-age=99999999"),
    "empty": lambda: answer(b""),
    "trailers": lambda: (
        head(b"Transfer-Encoding: chunked", b"Trailer: X-A")
        + b"2\r\nhi\r\n0\r\n"
        + b"X-A: 1\r\n" * 10_000
        + b"\r\n"
    ),
    "switches-protocols": lambda: head(b"Upgrade: websocket", status=b"101 Switching") + b"x",
    "two-locations": lambda: answer(
        _PAGE, b"Location: /plain", b"Location: http://192.0.2.9/", status=b"302 Found"
    ),
    "many-choices": lambda: answer(_PAGE, b"Location: http://192.0.2.9/", status=b"300 Choices"),
    "not-modified": lambda: head(status=b"304 Not Modified"),
    "nothing-there": lambda: head(status=b"204 No Content"),
    "part-of-it": lambda: answer(_PAGE, b"Content-Range: bytes 0-9/9", status=b"206 Partial"),
    "named-by-path": lambda: answer(
        _PAGE, b'Content-Disposition: attachment; filename="../../../etc/cron.d/x"'
    ),
    "charset-of-code": lambda: answer(_PAGE, kind=b"text/html; charset=unicode_escape"),
    "charset-of-idna": lambda: answer(_PAGE, kind=b"text/html; charset=idna"),
    "huge-cookie": lambda: answer(_PAGE, b"Set-Cookie: a=" + b"b" * 100_000),
    "cookie-of-canary": lambda: answer(_PAGE, b"Set-Cookie: a=b; Domain=127.0.0.1; Path=/"),
    "many-links": lambda: answer(_PAGE, *[b"Link: </a>; rel=preload"] * 1_000),
    "empty-encoding": lambda: _packed(b"", _PAGE),
    "identity": lambda: _packed(b"identity, identity", _PAGE),
    "zero-length": lambda: head(b"Content-Length: 0") + _PAGE,
    "old-http": lambda: b"HTTP/1.0 200 OK\r\n\r\n" + _PAGE,
    "retry-after-forever": lambda: answer(_PAGE, b"Retry-After: 1e9", status=b"429 X"),
    "proxy-says-no": lambda: answer(_PAGE, b"Proxy-Authenticate: Basic", status=b"407 X"),
    "wants-a-login": lambda: answer(
        _PAGE, b'WWW-Authenticate: Digest realm="' + b"a" * 10_000 + b'"', status=b"401 X"
    ),
}

# Leads to the canary by a header or by markup alone; `%s` is its address.
LURES: dict[str, bytes] = {
    "refresh-header": answer(_PAGE, b"Refresh: 0;url=http://%s/"),
    "other-service": answer(_PAGE, b'Alt-Svc: h3="%s", h2="%s"; ma=99999'),
    "preload-header": answer(_PAGE, b"Link: <http://%s/x.css>; rel=preload; as=style"),
    "reporting": answer(
        _PAGE,
        b'Report-To: {"group":"g","max_age":9,"endpoints":[{"url":"http://%s/"}]}',
        b'NEL: {"report_to":"g","max_age":9,"success_fraction":1}',
        b"Content-Security-Policy: default-src 'none'; report-uri http://%s/",
    ),
    "early-hints": b"HTTP/1.1 103 Early Hints\r\nLink: <http://%s/x.css>; rel=preload; as=style"
    b"\r\n\r\n" + answer(_PAGE),
}

_LOCATIONS = (
    "http://{canary}/",
    "//{canary}/",
    "http:\\\\{canary}\\",
    "HTTP://{canary}",
    "http://[::1]:{canary_port}/",
    "http://[::ffff:7f00:1]:{canary_port}/",
    "http://2130706433:{canary_port}/",
    "http://localhost:{canary_port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/",
    "http://site.invalid:6379/",
    "file:///etc/passwd",
    "data:text/html,x",
    "javascript:alert(1)",
    "view-source:http://{canary}/",
    "ftp://{canary}/",
    "chrome://crash",
    "http://[",
    "http://user:pass@{canary}/",
    "http://a b/",
    "http://0x7f.1:{canary_port}/",
    "http://0177.0.0.1:{canary_port}/",
    "http://[::]:{canary_port}/",
    "http://[64:ff9b::7f00:1]/",
    "http://[fe80::1%25lo]/",
    "http://\u2460\u2461\u2466.0.0.1:{canary_port}/",
    "http://192.0.2.9\\@{canary}/",
    "http://192.0.2.9@{canary}/",
    "https://{canary}/",
    "mailto:a@b",
    "about:blank",
    "blob:http://{site}/x",
    "ws://{canary}/",
    "\thttp://{canary}/",
    "http://" + "a" * 9_000,
)
_STATUSES = (301, 302, 303, 307, 308)


def wire_cases() -> list[Case]:
    """Return every answer that is hostile on the wire, and every redirect that is."""
    failed = "SCRAPE_FAILED"
    refused = ("TARGET_HTTP_ERROR", "BLOCKED", "CONTENT_TOO_LARGE")
    quick = Bounds(memory_bytes=450 * 1024 * 1024)
    hops = [
        {"url": f"http://{{site}}/redirect/{status}/{number}"}
        for number in range(len(_LOCATIONS))
        for status in (_STATUSES if number == 0 else _STATUSES[number % 5 :][:1])
    ]
    return [
        *cases_of("wire", _pages("broken", BROKEN), failed, "CONTENT_TOO_LARGE", bounds=quick),
        *cases_of("wire", _pages("too-large", TOO_LARGE), "CONTENT_TOO_LARGE", bounds=quick),
        *cases_of("wire", _pages("odd", ODD), OK, failed, *refused, bounds=quick),
        *cases_of("lure", _pages("lure", LURES), OK),
        *cases_of("redirect", hops, "EGRESS_BLOCKED", failed),
        *cases_of("redirect", _pages("endless", ENDLESS), failed),
        *cases_of("redirect", [{"url": "http://{site}/redirect-nowhere"}], OK, failed),
        *cases_of(
            "slow", [{**page, "timeout": 3000} for page in _pages("slow", SLOW)], "SCRAPE_TIMEOUT"
        ),
        *cases_of("endless", _pages("endless-body", ("letters",)), "CONTENT_TOO_LARGE"),
    ]


ENDLESS = ("loop", "ping", "chain", "growing")
SLOW = ("silence", "drip", "slow-head", "slow-hints")


def location(number: int) -> str:
    """Return where a redirect of this number leads."""
    return _LOCATIONS[number]


def _pages(folder: str, names: object) -> list[dict[str, str]]:
    assert isinstance(names, dict | tuple)
    return [{"url": f"http://{{site}}/{folder}/{name}"} for name in names]

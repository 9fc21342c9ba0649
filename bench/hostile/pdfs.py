"""PDF files that are built to take a parser's time or memory, or that are broken."""

import hashlib
import random
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

GIBIBYTE = 1024 * 1024 * 1024
PASSWORD = b"secret"
PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
PERMISSIONS = 0xFFFFFFFC


def write_pdfs(folder: Path) -> None:
    """Write every file under the name that the fixture server looks for."""
    folder.mkdir()
    for name, data in _build().items():
        (folder / f"{name}.pdf").write_bytes(data)


def _build() -> Mapping[str, bytes]:
    plain = _page(b"BT /F1 12 Tf 72 700 Td (Plain words) Tj ET")
    bomb = _zeros()
    return {
        "deepcontent": _page(b"[" * 2_000_000),
        "encrypted": _encrypted(),
        "text3M": _packed(b"BT /F1 1 Tf " + b"(a)Tj " * 3_000_000 + b"ET"),
        "embedded": _with_catalog(
            b"/Names <</EmbeddedFiles <</Names [(a.exe) 6 0 R]>>>>",
            b"<</Type /Filespec /F (a.exe) /EF <</F 7 0 R>>>>",
            _stream(b"MZ" + b"\0" * 1_000),
        ),
        "trunc": plain[: len(plain) // 2],
        "garbage": b"%PDF-1.7\n" + random.Random(7).randbytes(100_000),
        "qqq": _page(b"q " * 2_000_000),
        "flate1g": _document(*_page_objects(_stream(bomb, b"/Filter /FlateDecode"))),
        "js": _with_catalog(b"/OpenAction <</S /JavaScript /JS (app.alert\\(1\\))>>"),
        "flate2x": _document(
            *_page_objects(_stream(zlib.compress(bomb, 9), b"/Filter [/FlateDecode /FlateDecode]"))
        ),
    }


def _zeros() -> bytes:
    packer = zlib.compressobj(9)
    chunk = bytes(GIBIBYTE // 1024)
    return b"".join(packer.compress(chunk) for _ in range(1024)) + packer.flush()


def _page(content: bytes) -> bytes:
    return _document(*_page_objects(_stream(content)))


def _packed(content: bytes) -> bytes:
    return _document(*_page_objects(_stream(zlib.compress(content, 9), b"/Filter /FlateDecode")))


def _with_catalog(entries: bytes, *further: bytes) -> bytes:
    catalog, *rest = _page_objects(_stream(b"BT /F1 12 Tf 72 700 Td (Plain words) Tj ET"))
    return _document(catalog[:-2] + entries + b">>", *rest, *further)


def _page_objects(content: bytes) -> Sequence[bytes]:
    return (
        b"<</Type /Catalog /Pages 2 0 R>>",
        b"<</Type /Pages /Kids [3 0 R] /Count 1>>",
        b"<</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources <</Font <</F1 5 0 R>>>>>>",
        content,
        b"<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>",
    )


def _stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d %b>>\nstream\n%b\nendstream" % (len(data), entries, data)


def _document(*objects: bytes, trailer: bytes = b"") -> bytes:
    out, offsets = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<</Size %d /Root 1 0 R %b>>\n" % (len(objects) + 1, trailer)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % start)


def _encrypted() -> bytes:
    """Return a file that only a password opens: the standard handler with 40 bits."""
    identity = bytes(16)
    owner = _rc4(hashlib.md5(_padded(PASSWORD)).digest()[:5], _padded(PASSWORD))
    basis = _padded(PASSWORD) + owner + PERMISSIONS.to_bytes(4, "little") + identity
    key = hashlib.md5(basis).digest()[:5]
    # The content is object 4, generation 0: its own key is made from that.
    own_key = hashlib.md5(key + b"\4\0\0\0\0").digest()[:10]
    content = _stream(_rc4(own_key, b"BT /F1 12 Tf 72 700 Td (Secret words) Tj ET"))
    lock = b"<</Filter /Standard /V 1 /R 2 /O <%b> /U <%b> /P %d>>" % (
        owner.hex().encode(),
        _rc4(key, PADDING).hex().encode(),
        PERMISSIONS - 2**32,
    )
    ids = identity.hex().encode()
    trailer = b"/Encrypt 6 0 R /ID [<%b> <%b>]" % (ids, ids)
    return _document(*_page_objects(content), lock, trailer=trailer)


def _padded(password: bytes) -> bytes:
    return (password + PADDING)[:32]


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    i = j = 0
    out = bytearray()
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)

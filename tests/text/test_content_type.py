"""What kind of text a page is."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.text.content_type import (
    BINARY,
    HTML,
    JSON,
    PROSE,
    XML,
    ContentKind,
    Shape,
    content_kind,
    decode_body,
)

RUSSIAN = "<p>Привет, как дела? Это обычный русский текст про погоду и природу.</p>"
JAPANESE = "<p>これは日本語の文章です。今日は天気がいいですね。</p>"
FRENCH = "<p>Le café était très agréable, déjà vu au cœur du marché, où ça ?</p>"


def test_a_byte_order_mark_wins_over_the_header() -> None:
    body = codecs.BOM_UTF16_LE + "žluť".encode("utf-16-le")
    assert decode_body(body, "text/html; charset=windows-1250") == "žluť"


def test_the_header_wins_over_the_meta_tag() -> None:
    body = "<meta charset=utf-8>Привет".encode("cp1251")
    assert decode_body(body, 'text/html; Charset="Windows-1251"') == "<meta charset=utf-8>Привет"


@pytest.mark.parametrize(
    "declaration",
    [
        '<meta charset="windows-1251">',
        "<META CHARSET=windows-1251/>",
        '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
        '<?xml version="1.0" encoding="windows-1251"?>',
    ],
)
def test_a_declaration_in_the_page_is_obeyed(declaration: str) -> None:
    assert decode_body(f"{declaration}ё".encode("cp1251"), "text/html").endswith("ё")


def test_a_declaration_in_a_comment_is_not_one() -> None:
    body = "<!-- <meta charset=windows-1251> -->é".encode()
    assert decode_body(body, "").endswith("é")


def test_a_declaration_far_down_is_not_looked_for() -> None:
    body = b" " * 5_000 + "<meta charset=windows-1251>é".encode()
    assert decode_body(body, "").endswith("é")


@pytest.mark.parametrize("label", ["iso-8859-1", "latin1", "us-ascii", "ISO_8859-1"])
def test_latin_1_means_windows_1252(label: str) -> None:
    assert decode_body(b"\x93quoted\x94", f"text/html; charset={label}") == "“quoted”"


def test_gb2312_means_its_superset() -> None:
    assert decode_body("镕".encode("gb18030"), "text/html; charset=gb2312") == "镕"


def test_utf_16_in_a_meta_tag_means_utf_8() -> None:
    assert decode_body("<meta charset=utf-16>é".encode(), "").endswith("é")


@pytest.mark.parametrize("label", ["utf-7", "rot13", "hex", "zzz", "idna", "unicode_escape", ""])
def test_labels_that_name_no_web_encoding_are_ignored(label: str) -> None:
    text = f"<meta charset={label}><p>+ADw- \\u0041 žluť"
    assert decode_body(text.encode(), f"text/html; charset={label}") == text


@pytest.mark.parametrize(
    ("codec", "text"), [("cp1251", RUSSIAN), ("cp932", JAPANESE), ("cp1252", FRENCH)]
)
def test_an_undeclared_encoding_is_detected(codec: str, text: str) -> None:
    assert decode_body((text * 5).encode(codec), "text/html") == text * 5


def test_undeclared_utf_8_with_a_broken_byte_stays_utf_8() -> None:
    assert decode_body((FRENCH * 5).encode() + b"\xff", "") == FRENCH * 5 + "\ufffd"


def test_what_cannot_be_decoded_is_replaced() -> None:
    assert decode_body(b"a\xffb\0c", "text/html; charset=utf-8") == "a\ufffdb\ufffdc"


LABELS = ["utf-8", "utf-16", "utf-16be", "latin1", "sjis", "euc-jp", "iso-2022-jp", "gbk", "big5"]


@given(body=st.binary(), label=st.sampled_from([*LABELS, "euc-kr", "koi8-u", "cp874"]))
def test_declared_bytes_always_become_valid_text(body: bytes, label: str) -> None:
    text = decode_body(body, f"text/html; charset={label}")
    assert "\0" not in text
    text.encode()


@given(body=st.binary(max_size=200), content_type=st.text(max_size=40))
def test_any_bytes_become_valid_text(body: bytes, content_type: str) -> None:
    text = decode_body(body, content_type)
    assert text == decode_body(body, content_type)
    text.encode()


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("text/html; charset=utf-8", HTML),
        ("Application/XHTML+XML", HTML),
        ("text/plain", PROSE),
        ("text/markdown", PROSE),
        ("application/ld+json", JSON),
        ("text/csv; header=present", ContentKind(Shape.TABLE, "csv")),
        ("text/tab-separated-values", ContentKind(Shape.TABLE, "tsv")),
        ("application/rss+xml", XML),
        ("image/svg+xml", XML),
        ("image/png", BINARY),
        ("application/pdf", BINARY),
    ],
)
def test_a_type_that_says_something_is_believed(content_type: str, kind: ContentKind) -> None:
    assert content_kind(content_type, "<html>") == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (" <!DOCTYPE html><p>", HTML),
        ("<h1>x", HTML),
        ('<?xml version="1.0"?><html xmlns="x">', HTML),
        ('<?xml version="1.0"?><rss>', XML),
        ("<rss version='2.0'>", XML),
        ('\ufeff{"a": 1}', JSON),
        ("Hello < world", PROSE),
        ("", PROSE),
        ("\ufffdPNG\ufffd\ufffd\ufffd", BINARY),
    ],
)
@pytest.mark.parametrize("content_type", ["", "application/octet-stream"])
def test_a_missing_or_generic_type_is_sniffed(
    content_type: str, text: str, kind: ContentKind
) -> None:
    assert content_kind(content_type, text) == kind

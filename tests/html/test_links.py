"""The srcset attribute."""

import pytest

from cinder.html.links import parse_srcset, resolve_lazy_images, resolve_urls, widest
from cinder.html.tree import Elements, parse_html, parse_http_url

BASE = "https://example.com/dir/page"


def resolved(html: str, base: str = BASE) -> str:
    body = parse_html(html).body
    assert body is not None
    resolve_lazy_images(body)
    resolve_urls(body, parse_http_url(base), Elements(body))
    return body.inner_html or ""


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<a href="x y">a</a>', '<a href="https://example.com/dir/x%20y">a</a>'),
        ('<a href="#top">a</a>', '<a href="https://example.com/dir/page#top">a</a>'),
        ('<a href="mailto:a@b.c">a</a>', '<a href="mailto:a@b.c">a</a>'),
        ('<a href=" JAVA\nscript:x()">a</a>', "<a>a</a>"),
        ('<a href="vbscript:x">a</a>', "<a>a</a>"),
        ('<a href="data:text/html,x">a</a>', "<a>a</a>"),
        ('<a href="http://[">a</a>', "<a>a</a>"),
        (
            '<video src="v.mp4" poster="/p.png"></video>',
            '<video src="https://example.com/dir/v.mp4" poster="https://example.com/p.png"></video>',
        ),
        ('<img src="data:image/png;base64,AA">', '<img src="data:image/png;base64,AA">'),
        (
            '<source srcset="a.png 1x, /b.png 2x">',
            '<source srcset="https://example.com/dir/a.png 1x, https://example.com/b.png 2x">',
        ),
    ],
)
def test_addresses_become_absolute_or_go(html: str, expected: str) -> None:
    assert resolved(html) == expected


@pytest.mark.parametrize(
    "html",
    [
        '<img data-src="/real.png">',
        '<img src="data:image/gif;base64,R0lG" data-src="/real.png">',
        '<img src="/assets/blank.gif" data-original="/real.png">',
        '<img data-srcset="/small.png 100w, /real.png 900w">',
        '<img srcset="/small.png 1x, /real.png 2x">',
    ],
)
def test_a_lazy_image_gets_its_source(html: str) -> None:
    assert 'src="https://example.com/real.png"' in resolved(html)


def test_an_image_that_has_its_source_keeps_it() -> None:
    html = '<img src="/real.png" data-src="/other.png">'
    assert 'src="https://example.com/real.png"' in resolved(html)


def test_without_a_base_relative_addresses_stay() -> None:
    html = '<a href="/x">a</a><a href="javascript:x">b</a>'
    assert resolved(html, base="") == '<a href="/x">a</a><a>b</a>'


@pytest.mark.parametrize(
    ("value", "candidates"),
    [
        ("a.png", [("a.png", "")]),
        ("a.png 1x, b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png 1x,b.png 2x", [("a.png", "1x"), ("b.png", "2x")]),
        ("a.png, b.png", [("a.png", ""), ("b.png", "")]),
        ("/w_1,h_2/a.png 300w", [("/w_1,h_2/a.png", "300w")]),
        (" , ,", []),
        ("", []),
    ],
)
def test_candidates_are_told_apart(value: str, candidates: list[tuple[str, str]]) -> None:
    assert parse_srcset(value) == candidates


def test_the_widest_candidate_is_found() -> None:
    assert widest([("a", "300w"), ("b", "1200w"), ("c", "600w")]) == "b"
    assert widest([]) is None

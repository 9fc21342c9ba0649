"""The srcset attribute."""

import pytest

from cinder.html.links import (
    collect_images,
    collect_links,
    describe_links,
    parse_srcset,
    resolve_lazy_images,
    resolve_urls,
    scan_feeds,
    widest,
)
from cinder.html.tree import Elements, content_root, parse_html, parse_http_url

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


BASE_URL = parse_http_url("https://example.com/dir/page")


def test_links_are_absolute_and_unique_in_document_order() -> None:
    tree = parse_html(
        "<a href=b>1</a><a href=/a>2</a><map><area href=/c></map><a href=./b>3</a>"
        "<a href=https://other.org>4</a>"
    )
    assert collect_links([Elements.of_page(tree)], BASE_URL) == (
        "https://example.com/dir/b",
        "https://example.com/a",
        "https://example.com/c",
        "https://other.org/",
    )


def test_links_that_lead_nowhere_else_are_left_out() -> None:
    tree = parse_html(
        "<a href=#x>1</a><a href=''>2</a><a href=mailto:a@b.c>3</a><a href=javascript:x>4</a>"
        "<a href=https://example.com/dir/page#y>5</a><a href=/a#z>6</a><a href='http://['>7</a>"
    )
    assert collect_links([Elements.of_page(tree)], BASE_URL) == ("https://example.com/a#z",)


def test_a_drawing_links_as_well() -> None:
    tree = parse_html("<svg><a xlink:href='/drawn'><text>1</text></a></svg>")
    assert collect_links([Elements.of_page(tree)], BASE_URL) == ("https://example.com/drawn",)


def images_of(html: str) -> tuple[str, ...]:
    body = content_root(parse_html(html))
    assert body is not None
    resolve_lazy_images(body)
    return collect_images([body], BASE_URL)


def test_images_are_web_addresses_each_once_in_order() -> None:
    html = "<img src=b.png><img src='data:image/png;base64,AA'><img><img src=/a.png><img src=b.png>"
    assert images_of(html) == ("https://example.com/dir/b.png", "https://example.com/a.png")


@pytest.mark.parametrize(
    "html",
    [
        "<img data-src=/i.png>",
        "<picture><source srcset='/s.png 1x, /i.png 2x'></picture>",
        "<picture><source data-srcset='/i.png 900w, /s.png 100w'></picture>",
        "<amp-img src=/i.png></amp-img>",
        "<video src=/film.mp4 poster=/i.png><source src=/film.webm></video>",
        "<input type=IMAGE src=/i.png>",
        "<svg><image href=/i.png /></svg>",
        "<svg><image xlink:href=/i.png /></svg>",
        "<div style=\"color: red; background: URL( '/i.png' ) no-repeat\">x</div>",
        "<noscript><img src=/i.png></noscript>",
    ],
)
def test_every_way_to_show_an_image_counts(html: str) -> None:
    assert images_of(html) == ("https://example.com/i.png",)


def test_an_image_of_several_sizes_is_its_source_and_its_largest() -> None:
    html = "<img src=/m.png srcset='/s.png 100w, /l.png 900w, /m.png 500w'>"
    assert images_of(html) == ("https://example.com/m.png", "https://example.com/l.png")


def test_a_link_with_a_background_is_no_image() -> None:
    html = "<a href=/page style='background: url(/i.png)'>x</a>"
    assert images_of(html) == ("https://example.com/i.png",)


def test_a_sound_is_no_image() -> None:
    assert images_of("<audio src=/a.mp3><source src=/b.mp3></audio><iframe src=/c></iframe>") == ()


def details(html: str) -> list[tuple[str, str, str, str]]:
    body = parse_html(html).body
    assert body is not None
    found = describe_links([body], parse_http_url(BASE))
    prefix = "https://example.com"
    return [(link.url.removeprefix(prefix), link.text, link.rel, link.section) for link in found]


def test_links_are_told_with_their_words_relation_and_section() -> None:
    html = (
        '<header><a href="/"><img src="l.png" alt="Home"></a><nav><a href="/docs">Docs</a></nav>'
        '</header><main><a href="/skip">Skip</a><article><header><h1>Guide</h1>'
        '<a href="/by" rel="Author">Ann</a></header><p><a href="/a" rel="nofollow  noopener">First '
        '<b>step</b></a></p><h2>Next <i>steps</i></h2><a href="/b">B</a></article></main>'
        '<aside><h3>Related</h3><a href="/ad">Ad</a></aside><div role="contentinfo">'
        '<a href="/imprint" aria-label="Imprint"></a><a href="#top">Up</a>'
        '<a href="mailto:a@b.c">Mail</a></div>'
    )
    assert details(html) == [
        ("/", "Home", "", "header"),
        ("/docs", "Docs", "", "nav"),
        ("/skip", "Skip", "", "main"),
        ("/by", "Ann", "author", "Guide"),
        ("/a", "First step", "nofollow noopener", "Guide"),
        ("/b", "B", "", "Next steps"),
        ("/ad", "Ad", "", "aside"),
        ("/imprint", "Imprint", "", "footer"),
    ]


def test_a_link_without_words_takes_those_of_the_next_to_the_same_url() -> None:
    html = '<a href="/a"><img src="x.png"></a><h2>Pans</h2><a href="/a">Iron pan</a>'
    assert details(html) == [("/a", "Iron pan", "", "main")]


def test_long_words_are_cut_and_invisible_characters_removed() -> None:
    html = f'<a href="/a">{"x" * 1_000}</a><a href="/b">a\u200bb\U000e0041</a>'
    (_, long, *_), (_, plain, *_) = details(html)
    assert (len(long), plain) == (300, "ab")


def test_the_feeds_of_a_page_are_found_without_a_tree() -> None:
    markup = (
        '<link rel="alternate" type="application/rss+xml" href="/feed.xml">'
        "<LINK TYPE='application/atom+xml' HREF=news.atom rel=alternate>"
        '<link rel="stylesheet" type="text/css" href="/a.css"><link href="/none">'
    )
    assert scan_feeds(markup, BASE) == (
        "https://example.com/feed.xml",
        "https://example.com/dir/news.atom",
    )

"""The URLs in sitemaps."""

import gzip
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.sitemaps import (
    MAX_UNPACKED_BYTES,
    MAX_URLS,
    EntryNote,
    Sitemap,
    read_sitemap,
)
from cinder.models.url import join_web_urls

URL = "https://e.com/sitemap.xml"
URLSET = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'


def read(text: str) -> Sitemap:
    return read_sitemap(text.encode(), URL)


def test_pages_come_once_in_their_order() -> None:
    found = read(
        f"{URLSET}<url><loc> https://e.com/b?x=1&amp;y=2\n</loc><lastmod>2024</lastmod></url>"
        "<url><loc><![CDATA[https://e.com/a]]></loc></url><url><loc>/c?d[]=1</loc></url>"
        "<url><loc>https://e.com/a</loc></url></urlset>"
    )
    pages = ("https://e.com/b?x=1&y=2", "https://e.com/a", "https://e.com/c?d[]=1")
    assert found == Sitemap(pages=pages)


def test_an_index_names_sitemaps() -> None:
    found = read("<sitemapindex><sitemap><loc>https://e.com/1.xml.gz</loc></sitemap>")
    assert found == Sitemap(sitemaps=("https://e.com/1.xml.gz",))


def test_other_vocabularies_and_comments_name_no_pages() -> None:
    found = read(
        '<sm:urlset xmlns:sm="x"><sm:url><sm:loc>/a</sm:loc>'
        "<image:image><image:loc>/a.png</image:loc></image:image></sm:url>"
        "<!-- <sm:loc>/old</sm:loc> --><sm:loc>mailto:a@e.com</sm:loc><sm:loc> </sm:loc><!-- <"
    )
    assert found.pages == ("https://e.com/a",)


def test_broken_xml_gives_what_it_has() -> None:
    found = read(f"{URLSET}<url><loc>/a&b</loc></oops><url><loc>/c<url><loc>/d")
    assert found.pages == ("https://e.com/a&b", "https://e.com/c", "https://e.com/d")


def test_entities_of_its_own_are_never_expanded() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    found = read(f"{bomb}<urlset><loc>https://e.com/&b;</loc></urlset>")
    assert found.pages == ("https://e.com/&b;",)


def test_packed_sitemaps_are_unpacked_by_their_content() -> None:
    packed = gzip.compress(f"{URLSET}<loc>/a</loc></urlset>".encode())
    assert read_sitemap(packed, URL) == Sitemap(pages=("https://e.com/a",))


def test_what_is_broken_off_is_told() -> None:
    text = URLSET + "".join(f"<loc>/{number * 7919 % 10_007}</loc>" for number in range(10_000))
    packed = gzip.compress(text.encode())
    found = read_sitemap(packed[: len(packed) // 2], URL)
    assert found.is_cut
    assert 0 < len(found.pages) < 10_000
    assert read_sitemap(b"\x1f\x8b broken", URL) == Sitemap(is_cut=True)


def test_unpacking_ends_at_the_limit() -> None:
    packed = gzip.compress(b"<urlset><loc>/a</loc>" + b" " * MAX_UNPACKED_BYTES + b"<loc>/b</loc>")
    assert read_sitemap(packed, URL) == Sitemap(pages=("https://e.com/a",), is_cut=True)


def test_no_more_addresses_than_the_limit_are_read() -> None:
    text = "<urlset>" + "".join(f"<loc>/{number}</loc>" for number in range(MAX_URLS + 5))
    found = read(text)
    assert (len(found.pages), found.is_cut) == (MAX_URLS, True)


def test_a_list_of_lines_is_a_sitemap() -> None:
    assert read("https://e.com/a\r\n\nnot one\n http://e.com/b\n").pages == (
        "https://e.com/a",
        "http://e.com/b",
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_tells_the_encoding(encoding: str) -> None:
    body = "<urlset><loc>https://e.com/é</loc>".encode(encoding)
    assert read_sitemap(body, URL).pages == ("https://e.com/%C3%A9",)


def test_feeds_are_sitemaps_too() -> None:
    rss = read("<rss><channel><link>/</link><item><link>/a</link><guid>/g</guid></item>")
    assert rss.pages == ("https://e.com/", "https://e.com/a")
    atom = read(
        '<feed xmlns="http://www.w3.org/2005/Atom"><link rel="self" href="/feed"/>'
        '<entry><link href=\'/a?b&amp;c\'/><link rel="enclosure" href="/x.mp3"/></entry>'
        '<entry><link href="/d" rel="alternate"/></entry></feed>'
    )
    assert atom.pages == ("https://e.com/a?b&c", "https://e.com/d")


def test_a_page_is_no_sitemap() -> None:
    assert read("<!DOCTYPE html><html><a href=https://e.com/>x</a>") == Sitemap()


@given(st.binary(max_size=300))
def test_any_body_is_read(body: bytes) -> None:
    for prefix in (b"", b"<urlset><loc>", b"<feed><link href='", b"\x1f\x8b"):
        found = read_sitemap(prefix + body, URL)
        assert all(page.startswith("http") for page in found.pages)


def test_a_sitemap_says_when_its_pages_changed() -> None:
    body = (
        f"{URLSET}<url><lastmod>2026-02-03</lastmod><loc>/a</loc></url><url><loc>/b</loc></url>"
        "<url><loc>/c</loc><lastmod>Tue, 10 Jun 2025 04:00:00 GMT</lastmod></url>"
        "<url><loc>/d</loc><lastmod>soon</lastmod></url>"
        f"<url><loc>/e</loc><lastmod>Mon, 1 Jan {'9' * 20} 04:00:00 GMT</lastmod></url>"
    )
    found = read_sitemap(body.encode(), URL, with_notes=True)
    assert found.notes == {
        "https://e.com/a": EntryNote(modified="2026-02-03"),
        "https://e.com/c": EntryNote(modified="2025-06-10T04:00:00+00:00"),
    }
    assert not found.is_feed


@pytest.mark.parametrize(
    "feed",
    [
        "<rss><channel><title>T</title><link>/</link><item><title><![CDATA[A <b>&</b> B]]></title>"
        "<link>/1</link><pubDate>Tue, 10 Jun 2025 04:00:00 GMT</pubDate></item></channel></rss>",
        '<feed><title>All</title><link href="/"/><entry><title type="html">A &amp;amp; B</title>'
        '<link href="/1"/><updated>2025-06-10T04:00:00+00:00</updated></entry></feed>',
    ],
)
def test_a_feed_has_the_titles_of_its_entries(feed: str) -> None:
    found = read_sitemap(feed.encode(), URL, with_notes=True)
    (note,) = found.notes.items()
    assert note == ("https://e.com/1", EntryNote("A & B", "2025-06-10T04:00:00+00:00"))
    assert found.is_feed


@given(st.text(alphabet="abz09./:-_~%?#&A", max_size=30))
def test_plain_urls_are_read_as_all_others(rest: str) -> None:
    reference = f"https://e.com/{rest}"
    found = read_sitemap(f"{URLSET}<url><loc>{reference}</loc></url>".encode(), URL)
    assert found.pages == tuple(join_web_urls(URL, [unescape(reference)]))


@pytest.mark.parametrize("origin", ["https://e.com:443", "https://127.1", "https://E.com"])
def test_origins_are_normalized(origin: str) -> None:
    found = read_sitemap(f"{URLSET}<url><loc>{origin}/a</loc></url>".encode(), URL)
    assert found.pages == tuple(join_web_urls(URL, [f"{origin}/a"]))

"""The URLs in a page that tell a crawler where to go."""

import pytest

from cinder.html.crawl_hints import read_crawl_hints, scan_crawl_hints
from cinder.html.links import scan_base
from cinder.html.tree import Elements, document_base, parse_html
from cinder.models.document import CrawlHints

URL = "https://e.com/a/"


def hints_of(html: str) -> CrawlHints:
    tree = parse_html(html)
    return read_crawl_hints(Elements.of_page(tree), document_base(tree, URL))


@pytest.mark.parametrize(
    ("content", "pages"),
    [
        ("0;url=/b", ("https://e.com/b",)),
        ("5; URL='c.html'", ("https://e.com/a/c.html",)),
        ("0, http://f.com/", ("http://f.com/",)),
        ("3 url = /d", ("https://e.com/d",)),
        ("30", ()),
        ("", ()),
        ("0;url=mailto:a@e.com", ()),
        # Giving back what was taken would try the blanks in ever more ways.
        (" " * 3_000 + "a'a'a", ()),
    ],
)
def test_a_refresh_leads_on(content: str, pages: tuple[str, ...]) -> None:
    tag = f'<meta http-equiv="Refresh" content="{content}">'
    assert hints_of(tag).pages == pages
    assert scan_crawl_hints(tag, scan_base(tag, URL)).pages == pages


def test_frames_are_pages() -> None:
    html = '<base href="/x/"><iframe src="in.html"></iframe><iframe srcdoc="y"></iframe>'
    assert hints_of(html).pages == ("https://e.com/x/in.html",)
    assert scan_crawl_hints(html, scan_base(html, URL)).pages == ("https://e.com/x/in.html",)
    assert hints_of('<frameset><frame src="/f"></frameset>').pages == ("https://e.com/f",)


def test_declared_links_lead_to_neighbours_translations_and_feeds() -> None:
    found = hints_of(
        '<link rel="next" href="/2"><link rel="PREV" href="/0"><link rel="stylesheet" href="/s">'
        '<link rel="alternate" hreflang="de" href="/de/">'
        '<link rel="alternate" type="application/rss+xml" href="/feed">'
        '<link rel="alternate" media="print" href="/print">'
    )
    assert found == CrawlHints(
        pages=("https://e.com/2", "https://e.com/0"),
        languages=("https://e.com/de/",),
        feeds=("https://e.com/feed",),
    )


def test_a_link_is_marked_where_no_other_leads_to_the_same_page() -> None:
    found = hints_of(
        '<a rel="nofollow noopener" href="/b">b</a><a rel="NoFollow" href="/c">c</a>'
        '<a href="/b">b</a><a rel="external" href="/d">d</a>'
    )
    assert found.nofollow == ("https://e.com/c",)

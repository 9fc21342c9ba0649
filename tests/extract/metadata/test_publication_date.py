"""When a page was published, and when it last changed."""

import json

import pytest

from cinder.extract.html_tree import document_base, parse_html
from cinder.extract.metadata.page_metadata import read_metadata
from cinder.model.document import Json


def dates_of(html: str, json_ld: Json = None, url: str = "https://ember.example/fires") -> Json:
    script = f'<script type="application/ld+json">{json.dumps(json_ld)}</script>'
    tree = parse_html(script + html)
    found = read_metadata(tree, document_base(tree, url))
    return [found.published, found.modified]


@pytest.mark.parametrize(
    "html",
    [
        '<meta itemprop="dateCreated datePublished" content="2025-05-03">',
        "<meta name=citation_publication_date content='2025 May 3'>",
        "<h1>Fires</h1><time>May 3rd, 2025</time>",
        "<h1>Fires</h1><span itemprop=datePublished content=2025-05-03>today</span>",
        "<h1>Fires</h1><p class=entry-date>Samedi 3 mai 2025</p>",
        "<h1>Fires</h1><p class=entry-date>3 May 2025. Updated 9 June 2025</p>",
        "<h1>Fires</h1><p>Ada Oak</p><p>3. Mai 2025</p>",
        "<p>3 May 2025</p><h1>Fires</h1>",
        "<h1>Fires</h1><p>Updated</p><p>9 June 2025</p><p>Published on</p><p>3 May 2025</p>",
        "<h1>Fires</h1><p class=author>by Ada » Sat May 3, 2025 1:47 am</p>",
    ],
)
def test_each_way_of_dating_a_page_is_read(html: str) -> None:
    assert dates_of(html) == ["2025-05-03", None]


def test_the_date_of_publication_is_told_from_that_of_a_change() -> None:
    both = (
        "<h1>Fires</h1><time class=updated datetime=2025-06-09>June</time>"
        "<time class=published datetime=2025-05-03>May</time>"
    )
    assert dates_of(both) == ["2025-05-03", "2025-06-09"]


def test_a_page_that_shows_only_its_last_change_is_dated_by_it() -> None:
    assert dates_of("<h1>Fires</h1><p>Last updated on 9 June 2025</p>") == ["2025-06-09", None]
    marked = "<h1>Fires</h1><time class=updated datetime=2025-06-09>June</time>"
    assert dates_of(marked) == ["2025-06-09", "2025-06-09"]


def test_the_dates_of_comments_and_of_other_pages_are_passed_over() -> None:
    others = (
        "<h1>Fires</h1><h2>Comments</h2><div class=comment><time datetime=2025-06-09></time></div>"
        "<h2>More</h2><div class=related-posts><time datetime=2025-06-10></time></div>"
    )
    assert dates_of(others) == [None, None]


def test_the_address_may_tell_the_date() -> None:
    assert dates_of("", url="https://ember.example/2025/5/3/fires") == ["2025-05-03", None]
    assert dates_of("", url="https://ember.example/2025/55/3/fires") == [None, None]


def test_an_earlier_date_shown_corrects_one_that_is_only_that_of_the_last_change() -> None:
    generated: Json = {
        "@type": "Article",
        "datePublished": "Jun 09, 2025",
        "dateModified": "Jun 09, 2025",
    }
    shown = "<h1>Fires</h1><div class=post-date>May 3, 2025</div>"
    assert dates_of(shown, generated) == ["2025-05-03", "2025-06-09"]
    assert dates_of("", generated) == ["2025-06-09", "2025-06-09"]


def test_the_dates_of_what_is_sold_are_not_those_of_the_page() -> None:
    product: Json = {"@type": "Product", "name": "Log"}
    assert dates_of("<h1>Log</h1><p class=release-date>3 May 2025</p>", product) == [None, None]

"""Dates as pages write them."""

import json

import pytest

from cinder.html.metadata.dates import find_date, normalise_date, parse_date
from cinder.html.metadata.page_metadata import read_metadata
from cinder.html.tree import Elements, document_base, parse_html
from cinder.models.document import Json

FAR = "<p>Fire is hot.</p>" * 200
"""So much text that what stands behind it is not near the heading."""


def dates_of(html: str, json_ld: Json = None, url: str = "https://ember.example/fires") -> Json:
    script = f'<script type="application/ld+json">{json.dumps(json_ld)}</script>'
    tree = parse_html(script + html)
    found = read_metadata(Elements.of_page(tree), document_base(tree, url), url)
    return [found.published, found.modified]


def published(html: str, json_ld: Json = None) -> Json:
    tree = parse_html(f'<script type="application/ld+json">{json.dumps(json_ld)}</script>{html}')
    url = "https://ember.example/fires"
    return read_metadata(Elements.of_page(tree), document_base(tree, url), url).published


@pytest.mark.parametrize(
    "html",
    [
        '<meta itemprop="dateCreated datePublished" content="2025-05-03">',
        "<meta name=citation_publication_date content='2025 May 3'>",
        "<meta name=published content='May 3, 2025'>",
        "<meta name=ember-published-date content='2025-05-03'>",
        "<h1>Fires</h1><time>May 3rd, 2025</time>",
        "<h1>Fires</h1><span itemprop=datePublished content=2025-05-03>today</span>",
        "<h1>Fires</h1><p class=entry-date>Samedi 3 mai 2025</p>",
        "<h1>Fires</h1><p class=entry-date>3 May 2025. Updated 9 June 2025</p>",
        "<h1>Fires</h1><p>Ada Oak</p><p>3. Mai 2025</p>",
        "<p>3 May 2025</p><h1>Fires</h1>",
        "<h1>Fires</h1><p>Updated</p><p>9 June 2025</p><p>Published on</p><p>3 May 2025</p>",
        "<h1>Fires</h1><p class=author>by Ada » Sat May 3, 2025 1:47 am</p>",
        "<h1>Fires</h1><relative-time datetime=2025-05-03>long ago</relative-time>",
        "<title>Fires</title><h1>Ember</h1><p>1 May 2025</p><h2>Fires</h2><p>3 May 2025</p>",
        "<title>How to light fires</title><h3>Light fires: how to</h3><p>3 May 2025</p>",
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
    assert dates_of("", url="https://ember.example/2025/may/03/fires") == ["2025-05-03", None]
    assert dates_of("", url="https://ember.example/2025-05-03+fires") == ["2025-05-03", None]
    assert dates_of("", url="https://ember.example/2025/55/3/fires") == [None, None]
    assert dates_of("", url="https://ember.example/2025/fires/3/") == [None, None]
    assert dates_of("", url="https://ember.example/2025/5/3.1/fires") == [None, None]


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


@pytest.mark.parametrize(
    "generated",
    [
        {"@type": "Article", "datePublished": "2025-06-09", "dateModified": "2025-06-08"},
        {"@type": "Article", "datePublished": "2025-06-09", "dateModified": "2025-06-09"},
    ],
)
def test_a_date_that_stands_alone_corrects_that_of_the_last_change(generated: Json) -> None:
    assert published("<h1>Fires</h1><p>May 3, 2025</p>", generated) == "2025-05-03"
    in_a_sentence = "<h1>Fires</h1><p>We were asked on May 3, 2025 how one lights a fire.</p>"
    assert published(in_a_sentence, generated) == "2025-06-09"


def test_the_day_shown_corrects_that_of_another_time_zone() -> None:
    declared = (
        "<meta property=article:published_time content=2025-05-04T02:00:00Z>"
        "<meta property=article:modified_time content=2025-05-04T02:00:00Z>"
    )
    assert published(f"{declared}<h1>Fires</h1><time>May 3, 2025</time>") == "2025-05-03"


def test_an_earlier_date_shown_counts_less_than_one_declared_before_the_last_change() -> None:
    article: Json = {
        "@type": "Article",
        "datePublished": "2025-06-09",
        "dateModified": "2025-06-10",
    }
    assert published("<h1>Fires</h1><p>May 3, 2025</p>", article) == "2025-06-09"


def test_the_record_of_a_page_dates_it_only_where_readers_see_a_date() -> None:
    record: Json = {"@type": "WebPage", "datePublished": "2025-05-03"}
    assert published("<h1>Fires</h1><p>We light them for you.</p>", record) is None
    assert published("<h1>Fires</h1><p>Updated 9 June 2025</p>", record) == "2025-05-03"


def test_the_record_of_a_page_that_sells_something_does_not_date_it() -> None:
    offer: Json = [
        {"@type": "WebPage", "datePublished": "2025-05-03"},
        {"@type": "Product", "name": "Log"},
    ]
    assert published("<h1>Log</h1><p>In stock since 9 June 2025</p>", offer) is None


def test_a_page_that_lists_others_has_no_date() -> None:
    collection: Json = {"@type": "CollectionPage", "datePublished": "2025-05-03"}
    assert published("<h1>Fires</h1><time>3 May 2025</time>", collection) is None


def test_a_front_page_has_no_date_but_the_one_it_declares() -> None:
    front, shown = "https://ember.example/", "<h1>Ember</h1><time>3 May 2025</time>"
    declared = f"<meta name=date content=2025-05-03>{shown}"
    assert dates_of(shown, url=front) == [None, None]
    assert dates_of(declared, url=front) == ["2025-05-03", None]
    # The addresses of this one are relative to the front page, which it is not.
    assert published(f"<base href=/>{shown}") == "2025-05-03"


def test_dates_of_a_list_far_from_the_heading_are_those_of_other_pages() -> None:
    listed = "".join(f"<h2>Fire</h2><time>{day} May 2025</time>" for day in (3, 4, 5))
    assert published(f"<h1>Fires</h1>{FAR}{listed}") is None
    assert published(f"<h1>Fires</h1><p>1 May 2025</p>{FAR}{listed}") == "2025-05-01"
    same = "<h2>Fire</h2><time>3 May 2025</time><h2>Ash</h2><time>3 May 2025</time>"
    assert published(f"<h1>Fires</h1>{FAR}{same}") == "2025-05-03"


def test_answers_below_a_question_do_not_make_it_a_list() -> None:
    thread = "".join(f"<p>Answer</p><time>{day} May 2025</time>" for day in (3, 4, 5))
    assert published(f"<h1>Fires?</h1>{thread}") == "2025-05-03"


def test_a_date_far_above_the_heading_is_not_the_pages() -> None:
    clock = f"<time>9 June 2025</time><h2>Menu</h2>{FAR}"
    assert published(f"{clock}<h1>Fires</h1><p>3 May 2025</p>") == "2025-05-03"
    assert published(f"{clock}<h1>Fires</h1>") is None


def test_the_line_that_names_the_author_may_tell_the_date_anywhere() -> None:
    line = "<div><p><a href=/author/ada>Ada Oak</a></p><p>3 May 2025</p></div>"
    assert published(f"<h1>Fires</h1>{FAR}{line}") == "2025-05-03"
    about = f"<div><p><a href=/author/ada>Ada Oak</a></p><p>{'Ash. ' * 30}3 May 2025</p></div>"
    assert published(f"<h1>Fires</h1>{FAR}{about}") is None


def test_the_date_in_the_byline_counts_more_than_others_near_the_heading() -> None:
    joined, byline = "<p>Joined 1 May 2020</p>", "<p class=author>by Ada » 3 May 2025</p>"
    assert published(f"<h1>Fires</h1>{joined}{byline}") == "2025-05-03"


@pytest.mark.parametrize(
    ("written", "normalised"),
    [
        ("2025-11-15", "2025-11-15"),
        ("2025-11-15T18:30:00Z", "2025-11-15T18:30:00+00:00"),
        ("2025-11-15 18:30:00+0100", "2025-11-15T18:30:00+01:00"),
        ("Sat, 15 Nov 2025 18:30:00 GMT", "2025-11-15T18:30:00+00:00"),
        ("November 15, 2025", "2025-11-15"),
        (" 15 Nov 2025 ", "2025-11-15"),
        ("15.11.2025", "2025-11-15"),
        ("2025", "2025"),
        ("last week", "last week"),
        ("2025-13-45", "2025-13-45"),
    ],
)
def test_dates_become_iso_8601_where_they_can_be_read(written: str, normalised: str) -> None:
    assert normalise_date(written) == normalised


@pytest.mark.parametrize(
    "written",
    [
        "Posted on Saturday, November 15th, 2025 at 6 pm",
        "15 November 2025 | 4 min read",
        "Am 15. November 2025 um 18 Uhr",
        "Publié le 15 novembre 2025",
        "15 de noviembre de 2025",
        "15 ноября 2025",
        "15 listopada 2025",
        "15-Nov-2025",
        "2025 Nov 15",
        "2025年11月15日",
        "2025년 11월 15일",
        "2025/11/15 and then 2025/11/16",
        "11/15/2025",
        "15/11/2025",
        "15. 11. 2025",
    ],
)
def test_a_date_is_found_in_what_surrounds_it(written: str) -> None:
    assert find_date(written) == "2025-11-15"


@pytest.mark.parametrize(
    "written",
    ["", "November 2025", "03/04/2025", "31 June 2025", "15 Brumaire 2025", "call 2025-11-151"],
)
def test_what_is_no_date_or_could_be_two_is_not_found(written: str) -> None:
    assert find_date(written) is None


def test_only_dates_of_the_webs_time_are_read() -> None:
    assert parse_date("2025-11-15T18:30:00Z") == "2025-11-15T18:30:00+00:00"
    assert parse_date("1970-01-01") is None
    assert parse_date("0001-01-01T00:00:00") is None
    assert parse_date("last week") is None

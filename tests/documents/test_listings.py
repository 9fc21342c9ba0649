"""Tables as text."""

import json

import pytest

from cinder.documents.feeds import MAX_FEED_ITEMS
from cinder.documents.listings import MAX_TABLE_ROWS, DelimitedTable, read_delimited
from cinder.documents.page_content import extract_content
from cinder.models.document import Extraction
from cinder.models.request import ContentOptions, ExtractOptions, Format
from tests.site.plain import PLAIN, RSS

URL = "https://here.example/feeds/all"


def extract(body: str, kind: str, *, clean: bool = True) -> Extraction:
    formats = (Format.MARKDOWN, Format.HTML, Format.LINKS, Format.IMAGES)
    options = ExtractOptions(formats=formats, content=ContentOptions(clean=clean))
    return extract_content(body.encode(), content_type=kind, url=URL, options=options)


def test_an_rss_feed_is_its_items_with_links_dates_and_text() -> None:
    found = extract(RSS, "application/rss+xml")
    assert found.markdown == (
        "# [Ember news](https://embers.example/)\n\nAll about embers & ash too\n\n"
        "## [Ash \\<fine>](https://embers.example/ash)\n\n"
        "2025-11-14T08:00:00+00:00 · Ada Stoker\n\n"
        "Sift **it**, says [Sift](https://embers.example/sift).\n\n"
        "![Ash](https://embers.example/ash.png)\n\n"
        "## [Coals](https://embers.example/coals)\n\nPlain words"
    )
    assert found.links == (
        "https://embers.example/",
        "https://embers.example/ash",
        "https://embers.example/sift",
        "https://embers.example/coals",
    )
    assert found.images == ("https://embers.example/ash.png",)
    assert found.text == RSS
    assert "script" not in (found.html or "")
    metadata = found.metadata
    assert (metadata.title, metadata.language) == ("Ember news", "en")
    assert metadata.modified == "2025-11-15T18:30:00+00:00"


@pytest.mark.parametrize("name", ["feed.atom", "feed.json", "sitemap.xml", "table.csv"])
def test_the_other_lists_are_no_fenced_text(name: str) -> None:
    kind, body = PLAIN[name]
    found = extract(body, kind)
    assert "```" not in (found.markdown or "```")
    assert found.text == body
    assert found.warnings == ()


def test_uncleaned_a_feed_is_left_as_it_came() -> None:
    assert extract(RSS, "application/rss+xml", clean=False).markdown is None


def test_an_item_cannot_take_in_the_next() -> None:
    for opened in ("<script>", "<!--", "<textarea>", "<plaintext>", "<table><tr><td>"):
        item = json.dumps({"title": "First", "content_html": f"<p>One</p>{opened}"})
        body = (
            f'{{"version": "https://jsonfeed.org/version/1", "items": [{item}, '
            '{"title": "Second", "content_text": "Two"}]}'
        )
        markdown = extract(body, "application/json").markdown or ""
        assert markdown.endswith("## Second\n\nTwo"), opened


def test_entities_are_never_expanded_and_the_text_is_shown_as_it_came() -> None:
    kind, body = PLAIN["laughs.xml"]
    found = extract(body, kind)
    assert (found.markdown or "").startswith("```xml\n<?xml")
    assert "entities" in found.warnings[0]


def test_items_beyond_the_limit_are_counted() -> None:
    items = "<item><title>x</title></item>" * (MAX_FEED_ITEMS + 3)
    found = extract(f"<rss><channel>{items}</channel></rss>", "text/xml")
    assert (found.markdown or "").count("## x") == MAX_FEED_ITEMS
    assert f"Of {MAX_FEED_ITEMS + 3} items the first {MAX_FEED_ITEMS}" in found.warnings[0]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<note><to>me</to></note>", "application/xml"),
        ("<rss><channel><title>cut", "application/rss+xml"),
        ("a,b\nno table here", "text/csv"),
        ('{"version": "1", "items": []}', "application/json"),
    ],
)
def test_what_is_no_list_is_fenced(body: str, kind: str) -> None:
    assert (extract(body, kind).markdown or "").startswith("```")


def test_headings_of_an_item_stand_below_its_title() -> None:
    feed = RSS.replace("Plain words", "&lt;h1&gt;Coal&lt;/h1&gt;&lt;h5 id=a&gt;Size&lt;/h5&gt;")
    markdown = extract(feed, "application/rss+xml").markdown or ""
    assert markdown.endswith("## [Coals](https://embers.example/coals)\n\n### Coal\n\n###### Size")


def test_titles_are_shown_without_their_tags() -> None:
    title = "&lt;b&gt;Hot&lt;/b&gt; ash &amp;amp; &lt;em class=x&gt;coal&lt;/em&gt;"
    atom = (
        '<feed xmlns="http://www.w3.org/2005/Atom"><title>a &lt;b&gt; b</title>'
        f'<entry><title type="html">{title}</title></entry></feed>'
    )
    found = extract(atom, "application/atom+xml")
    assert "## Hot ash & coal" in (found.markdown or "")
    assert found.metadata.title == "a <b> b"
    rss = f"<rss><channel><title>News</title><item><title>{title}</title></item></channel></rss>"
    assert "## Hot ash & coal" in (extract(rss, "application/rss+xml").markdown or "")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("a,b\n1,2\n", "csv"),
        ("\ufeffa;b\r\n1;2\r\n\r\n", "csv"),
        ("a\tb\n1\t2", "tsv"),
        ("a|b\n1|2", "csv"),
    ],
)
def test_the_delimiter_is_found(text: str, language: str) -> None:
    assert read_delimited(text, language) == DelimitedTable(["a", "b"], [["1", "2"]], 1)


def test_quoted_cells_keep_their_lines_and_marks() -> None:
    table = read_delimited('a,b\n"x,\ny",<i>\n', "csv")
    assert table is not None
    assert "<td>x,<br>y</td><td>&lt;i&gt;</td>" in table.to_html()


def test_rows_beyond_the_limit_are_counted() -> None:
    table = read_delimited("a,b\n" + "1,2\n" * (MAX_TABLE_ROWS + 5), "csv")
    assert table is not None
    assert (len(table.rows), table.row_count) == (MAX_TABLE_ROWS, MAX_TABLE_ROWS + 5)


@pytest.mark.parametrize(
    "text",
    ["", "a,b\n", "just words\nin lines\n", "a,b\n1\n1,2,3\n", "a,b\n" + "x" * 200_000 + ",1"],
)
def test_what_is_no_table_is_none(text: str) -> None:
    assert read_delimited(text, "csv") is None

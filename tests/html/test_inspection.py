"""Facts about an HTML string."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from cinder.documents.page_content import inspect_html
from cinder.models.document import HtmlFacts, HtmlHeading


def test_a_small_page_gives_exactly_its_facts() -> None:
    html = "<html><head><title>Test</title></head><body><h1>Hello</h1><p>World</p></body></html>"
    assert inspect_html(html, "https://example.com") == HtmlFacts(
        title="Test",
        headings=(HtmlHeading(1, "Hello"),),
        paragraph_count=1,
        link_count=0,
        image_count=0,
        word_count=2,
        content_hash=hashlib.sha256(b"Hello\nWorld").hexdigest(),
    )


def test_the_first_h1_is_the_title_of_a_page_without_one() -> None:
    assert inspect_html("<h2>Two</h2><h1>One <b>and</b>\n only</h1>").title == "One and only"


def test_a_drawings_title_is_not_the_pages() -> None:
    assert inspect_html("<svg><title>icon</title></svg><h1>Real</h1>").title == "Real"


def test_headings_come_in_document_order() -> None:
    html = "<h2>a</h2><h1>b</h1><h6>c</h6>"
    assert inspect_html(html).headings == (
        HtmlHeading(2, "a"),
        HtmlHeading(1, "b"),
        HtmlHeading(6, "c"),
    )


def test_words_in_one_block_join_and_blocks_part() -> None:
    assert inspect_html("<div>one<b>word</b></div><div>two<br>three</div>x").word_count == 4


def test_scripts_styles_and_the_title_are_not_text() -> None:
    html = "<title>t</title><style>a{}</style><script>var x = 1</script><template>t</template>word"
    assert inspect_html(html).word_count == 1


def test_links_and_images_are_counted_and_made_absolute() -> None:
    html = "<a href=/a>a</a><a href=/a>b</a><a name=x>c</a><img src=b.png><img alt=none>"
    facts = inspect_html(html, "https://example.com/dir/")
    assert (facts.link_count, facts.image_count) == (2, 2)
    assert facts.links == ("https://example.com/a",)
    assert facts.images == ("https://example.com/dir/b.png",)


def test_without_a_base_relative_addresses_stay_as_written() -> None:
    html = "<a href=/a>a</a><a href=https://Example.com>b</a><a href=javascript:x()>c</a>"
    facts = inspect_html(html)
    assert facts.link_count == 3
    assert facts.links == ("/a", "https://example.com/")


def test_meta_tags_are_read_by_name_property_and_http_equiv() -> None:
    html = (
        '<meta charset="utf-8"><meta name="Description" content="d"><meta name="empty" content="">'
        '<meta property="og:title" content="o"><meta http-equiv="refresh" content="5">'
    )
    assert inspect_html(html).meta == {
        "description": "d",
        "og:title": "o",
        "refresh": "5",
        "charset": "utf-8",
    }


@given(html=st.text(), base_url=st.text(max_size=20))
def test_any_text_gives_the_same_facts_twice(html: str, base_url: str) -> None:
    assert inspect_html(html, base_url) == inspect_html(html, base_url)


MARKUP = st.sampled_from(
    ["<p>", "</p>", "<a href=", "<b>", "<table>", "<td>", "<!--", "-->", "&#0;"]
)


@given(pieces=st.lists(st.one_of(MARKUP, st.text(max_size=5))))
def test_any_markup_has_facts(pieces: list[str]) -> None:
    assert len(inspect_html("".join(pieces)).content_hash) == 64


def test_a_lone_surrogate_does_no_harm() -> None:
    assert inspect_html("<a href='\ud800'>a\ud800b</a>").link_count == 1

"""tests.html.test_bombs"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.html.bombs import (
    MAX_ATTRIBUTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    MAX_INDENTED_DEPTH,
    UnparsedFormats,
    bare_title,
    extract_unparsed,
    find_bomb,
    strip_tags,
)
from cinder.models.document import Extraction

DEEP = MAX_DEPTH + 1


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * DEEP,
        "<ul><li>t" * DEEP,
        "<blockquote>t" * DEEP,
        "<b><p>x" * DEEP,
        "<font color=red>" * DEEP,
        "<svg>" + "<g>" * DEEP,
        "<DIV\nclass=x>" * DEEP,
        "<div/>" * DEEP,
        "<svg>" + "<g></g>" * DEEP + "</svg>" + "<g/>" * DEEP,
        "<ul><li>t" * (MAX_INDENTED_DEPTH + 1),
        "<OL><li>t" * (MAX_INDENTED_DEPTH + 1),
        "<dl><dd>t" * (MAX_INDENTED_DEPTH + 1),
        "<Menu><li>t" * (MAX_INDENTED_DEPTH + 1),
        "<BlockQuote>t" * (MAX_INDENTED_DEPTH + 1),
        "<div " + " ".join(f"a{n}=1" for n in range(MAX_ATTRIBUTES + 1)) + ">",
        "<div " + "/".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + ">",
        "<div " + "".join(f'a{n}=">"' for n in range(MAX_ATTRIBUTES + 1)) + ">",
        "<div ' " + " ".join(f"a{n}" for n in range(MAX_ATTRIBUTES + 1)) + " '>",
        ("<div " + " ".join(f"a{n}=1" for n in range(1_000)) + ">") * 101,
        "<br>" * (MAX_ELEMENTS + 1),
        ("<div>" * 4_900 + "</div>" * 4_900) * 10,
        "<div>" * 4_000 + "</p>" * 100_000,
        "<select>" + "<option>x" * 10_000,
        "".join(f"<body a{n}=1>" for n in range(10_000)),
    ],
)
def test_a_bomb_is_found(html: str) -> None:
    assert find_bomb(html) is not None


@pytest.mark.parametrize(
    "html",
    [
        "<p>x" * 100_000,
        "<br>" * 100_000,
        "<div><span>x</span></div>" * 100_000,
        "<table>" + "<tr><td>x" * 50_000,
        "<a href=x>y" * 50_000,
        "<svg>" + "<g/>" * 100_000 + "</svg>",
        "<select>" + "<option>x</option>" * 5_000 + "</select>",
        "<blockquote>t</blockquote>" * 1_000,
        f'<div title="{"a b " * 100_000}">x</div>',
        f'<img src="data:image/png;base64,{"A" * 1_000_000}">',
        "<" * 1_000_000,
        "<p>" + "<" * 1_000_000 + "<div>x</div>" * 1_000,
        "<div" * 1_000,
        f"<p>{'x' * 3_000}<p>" * 10 + "x" * 3_000,
        "<script>" + "i < n; " * 50_000 + "</script>",
    ],
)
def test_a_page_that_is_only_large_is_none(html: str) -> None:
    assert find_bomb(html) is None


@given(st.text(alphabet="<>/ adiv="))
def test_any_text_can_be_looked_at(html: str) -> None:
    assert find_bomb(html) is None


def test_what_looks_like_a_tag_in_a_script_is_none() -> None:
    script = "<script>if (i <n " + "a b c d e f " * 3_000 + ") {}</script>"

    assert find_bomb(f"<p>text{script * 5}") is None
    assert find_bomb(f"<p>text{script}<p {'a b c d e f ' * 3_000}>") is not None


def test_blocks_stand_apart_and_words_of_inline_elements_together() -> None:
    html = "<h1>On <b>f</b>ire</h1><p>One\ntwo<br>three</p><ul><li>a<li>b</ul><td>c</td><td>d"
    assert strip_tags(html) == "On fire\n\nOne two\nthree\n\na\nb\n\nc d"


def test_what_browsers_show_no_text_of_is_left_out() -> None:
    html = "<TITLE>t</TITLE>a<script x='>'>1<2</script>b<STYLE>c{}</STYLE>d<!-- e -->f<script>g"
    assert strip_tags(html) == "a b d f"


def test_an_attribute_may_hold_what_ends_tags_elsewhere() -> None:
    assert strip_tags('<a title="1 > 0" alt=\'<b>\' href=x?a="b>c>d') == "c>d"


def test_a_sign_that_begins_no_tag_is_text() -> None:
    assert strip_tags("1 < 2 <3 <> </ &lt;b&gt; a<") == "1 < 2 <3 <> </ <b> a<"


def test_references_are_resolved_however_long() -> None:
    assert strip_tags(f"&eacute;&#x41;&#0;&#{'9' * 5_000};") == "éA\ufffd\ufffd;"


def test_the_title_is_found() -> None:
    assert bare_title("<head><title>A &amp; B</title>") == "A & B"
    assert bare_title("<title></title>") is None
    assert bare_title("<p>") is None


@given(st.text(alphabet="<>/!-= \n\"'&#;ascriptylx1"))
def test_any_text_can_be_stripped(html: str) -> None:
    assert "<script>" not in strip_tags(html)


@given(st.lists(st.text(alphabet="abc", min_size=1), min_size=1))
def test_no_word_is_lost(words: list[str]) -> None:
    html = "<p title='>'>".join(f"{word}<br/>" for word in words)
    assert strip_tags(html).split() == words


def read(body: bytes, content_type: str = "text/html", *, links: bool = False) -> Extraction:
    return extract_unparsed(
        body,
        content_type=content_type,
        url="https://example.com/d/p",
        formats=UnparsedFormats(markdown=not links, links=links),
        reason="It hurts.",
    )


def test_a_page_gives_its_bare_text_and_says_that_this_is_not_all() -> None:
    found = read("<title>Ž</title><p>two <b>words</b>".encode(), "text/html; charset=utf-8")
    assert found.text == "<title>Ž</title><p>two <b>words</b>"
    assert (found.markdown, found.word_count, found.token_count) == ("two words", 2, 3)
    assert found.metadata.title == "Ž"
    assert found.is_partial
    (warning,) = found.warnings
    assert "could not be cleaned: It hurts. Its bare text" in warning


def test_markdown_comes_only_where_it_is_wanted() -> None:
    found = read(b"<p>word", links=True)
    assert (found.markdown, found.word_count) == (None, 1)


def test_links_are_found_without_a_tree() -> None:
    html = b"""<base href=/b/><a href="one?a=1&amp;b=2">1</a><A class=x HREF='../two'>2</a>
    <area href=three><!-- <a href=no> --><script>"<a href=no>"</script><a href=#here>x</a>
    <a name=no>x</a><a href="javascript:no()">x</a><a data-href=no>x</a><a href=three>3</a>"""
    found = read(html, links=True)
    paths = ("b/one?a=1&b=2", "two", "b/three")
    assert found.links == tuple(f"https://example.com/{path}" for path in paths)


@given(st.text(alphabet="<a href='\"=>&#;9"))
def test_any_text_can_be_scanned_for_links(html: str) -> None:
    assert read(html.encode(), links=True).links is not None


def test_text_that_is_no_html_stays_as_it_is() -> None:
    assert read(b" <b>, they say\n", "text/plain").markdown == "<b>, they say"


def test_what_is_no_text_has_none() -> None:
    found = read(b"\0\1\2", "application/pdf")
    assert (found.text, found.markdown, found.is_partial) == (None, None, True)

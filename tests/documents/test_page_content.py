"""Text that is not HTML."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.documents.page_content import extract_content, plain_to_markdown
from cinder.errors import InvalidRequest
from cinder.models.document import Extraction, PageMetadata
from cinder.models.request import ContentOptions, ExtractOptions, Format
from cinder.text.content_type import JSON, PROSE, XML, ContentKind

STORY = "<p>" + "A sentence of the story, long enough to count. " * 10 + "</p>"
PAGE = (
    "<!doctype html><title>T</title><nav><a href=/menu>Menu</a></nav>"
    f"<article class=post><h1>Title</h1>{STORY}<a href=next>Next</a><img src=a.png alt=A></article>"
    "<div id=ad><a href=/buy>Buy</a></div><footer>Imprint</footer>"
)


def extract(
    page: str = PAGE,
    *formats: Format,
    content_type: str = "text/html; charset=utf-8",
    content: ContentOptions | None = None,
    strip_chrome_tags: bool = True,
    remove_base64_images: bool = True,
) -> Extraction:
    options = ExtractOptions(
        formats=formats or (Format.MARKDOWN,),
        content=content or ContentOptions(),
        strip_chrome_tags=strip_chrome_tags,
        remove_base64_images=remove_base64_images,
    )
    return extract_content(
        page.encode(), content_type=content_type, url="https://example.com/d/p", options=options
    )


def test_a_page_gives_every_format_asked_for() -> None:
    html = "<title>T</title><article><h1>One</h1><p>two <a href=x>three</a><img src=i></article>"
    formats = (Format.MARKDOWN, Format.HTML, Format.LINKS, Format.IMAGES)
    markdown = "# One\n\ntwo [three](https://example.com/d/x)![](https://example.com/d/i)"
    assert extract(html, *formats) == Extraction(
        text=html,
        markdown=markdown,
        html='<article><div><h1>One</h1></div><p>two <a href="https://example.com/d/x">three</a>'
        '<img src="https://example.com/d/i"></p></article>',
        links=("https://example.com/d/x",),
        images=("https://example.com/d/i",),
        metadata=PageMetadata(title="T", kept_share=1.0),
        word_count=3,
        token_count=(len(markdown) + 3) // 4,
    )


def test_only_what_was_asked_for_is_produced() -> None:
    found = extract("<p>one two three", Format.LINKS)
    assert (found.markdown, found.html, found.links, found.images) == (None, None, (), None)
    assert (found.word_count, found.token_count) == (3, 4)


def test_without_cleaning_there_is_no_markdown() -> None:
    found = extract(content=ContentOptions(clean=False))
    assert found.markdown is None
    assert found.text == PAGE


def test_the_main_content_is_what_counts_by_default() -> None:
    markdown = extract().markdown or ""
    assert markdown.startswith("# Title\n\nA sentence")
    assert not any(word in markdown for word in ("Menu", "Buy", "Imprint"))


def test_the_whole_page_can_be_asked_for_with_and_without_its_chrome() -> None:
    whole = ContentOptions(only_main_content=False)
    bare = extract(content=whole).markdown or ""
    assert all(word in bare for word in ("Title", "Buy"))
    assert not any(word in bare for word in ("Menu", "Imprint"))
    full = extract(content=whole, strip_chrome_tags=False).markdown or ""
    assert all(word in full for word in ("Menu", "Title", "Buy", "Imprint"))


def test_chrome_of_a_whole_page_stays_unless_stripped() -> None:
    page = f"<article>{STORY}<aside>Beside</aside></article>"
    whole = ContentOptions(only_main_content=False)
    assert "Beside" not in (extract(page, content=whole).markdown or "")
    assert "Beside" in (extract(page, content=whole, strip_chrome_tags=False).markdown or "")


def test_included_elements_are_the_content() -> None:
    content = ContentOptions(include_tags=("footer", "nav"))
    found = extract(PAGE, Format.MARKDOWN, Format.LINKS, content=content)
    assert found.markdown == "[Menu](https://example.com/menu)\n\nImprint"
    assert found.links == ("https://example.com/menu",)


def test_excluded_elements_are_gone_from_every_format() -> None:
    content = ContentOptions(only_main_content=False, exclude_tags=("#ad", "img"))
    found = extract(PAGE, Format.MARKDOWN, Format.LINKS, Format.IMAGES, content=content)
    assert "Buy" not in (found.markdown or "")
    assert found.links == ("https://example.com/menu", "https://example.com/d/next")
    assert found.images == ()


def test_links_come_from_the_whole_page() -> None:
    assert extract(PAGE, Format.LINKS).links == (
        "https://example.com/menu",
        "https://example.com/d/next",
        "https://example.com/buy",
    )


def test_a_page_is_dated_by_its_own_address_not_by_its_base() -> None:
    page = "<base href=/><h1>Title</h1><time>3 May 2025</time>"
    assert extract(page).metadata.published == "2025-05-03"


def test_included_elements_that_are_not_there_give_a_warning() -> None:
    found = extract(content=ContentOptions(include_tags=(".missing",)))
    assert found.markdown == ""
    assert found.warnings == ("No element of the page matches includeTags.",)


@pytest.mark.parametrize(
    "content", [ContentOptions(include_tags=("p:",)), ContentOptions(exclude_tags=("p:",))]
)
def test_an_invalid_selector_is_the_callers_error(content: ContentOptions) -> None:
    with pytest.raises(InvalidRequest):
        extract(content=content)


def test_a_page_without_a_body_has_no_content() -> None:
    content = ContentOptions(exclude_tags=("body",))
    assert extract(PAGE, Format.MARKDOWN, content=content).markdown == ""


def test_embedded_images_go_by_setting() -> None:
    page = "<p>x<img src='data:image/png;base64,AA' alt=dot></p>"
    assert extract(page).markdown == "x"
    kept = extract(page, remove_base64_images=False).markdown
    assert kept == "x![dot](data:image/png;base64,AA)"


def test_the_converter_reads_deeply_nested_pages() -> None:
    assert extract("<div>" * 2_000 + "deep").warnings == ()


def test_plain_text_is_handed_through() -> None:
    found = extract("# Title\n", Format.MARKDOWN, Format.LINKS, content_type="text/markdown")
    assert found == Extraction(
        text="# Title\n", markdown="# Title", links=(), word_count=1, token_count=2
    )


def test_json_is_fenced() -> None:
    found = extract('{"a":1}', Format.MARKDOWN, Format.HTML, content_type="application/json")
    assert found.markdown == '```json\n{\n  "a": 1\n}\n```'
    assert found.html == '<pre>{"a":1}</pre>'


def test_what_is_not_text_has_a_warning_instead_of_content() -> None:
    found = extract("x", content_type="application/zip")
    assert (found.text, found.markdown) == (None, None)
    assert "application/zip" in found.warnings[0]


@given(body=st.binary(max_size=300), content_type=st.sampled_from(["text/html", "", "text/plain"]))
def test_any_body_gives_the_same_content_twice(body: bytes, content_type: str) -> None:
    options = ExtractOptions(formats=tuple(Format))
    first, second = (
        extract_content(body, content_type=content_type, url="https://e.org/", options=options)
        for _ in range(2)
    )
    assert first == second


def test_a_page_too_deep_for_the_converter_gives_all_its_text_flagged() -> None:
    found = extract("".join(f"<table><tr><td>t{n} " for n in range(600)))
    assert (found.markdown or "").split() == [f"t{n}" for n in range(600)]
    assert found.is_partial


def test_a_bomb_gives_its_bare_text_flagged() -> None:
    found = extract("<title>T</title>" + "<ul><li>t" * 1_000)
    assert (found.markdown or "").split() == ["t"] * 1_000
    assert (found.word_count, found.metadata.title, found.is_partial) == (1_000, "T", True)


def test_html_has_no_characters_that_nobody_sees_either() -> None:
    page = "<p>Ash\u200b\U000e0049\U000e0067 tree\u202f\U0001f469\u200d\U0001f4bb</p>".encode()
    made = extract_content(
        page,
        content_type="text/html; charset=utf-8",
        url="https://e.org/",
        options=ExtractOptions(formats=(Format.HTML,)),
    )
    assert made.html == "<p>Ash tree\u202f\U0001f469\u200d\U0001f4bb</p>"


@pytest.mark.parametrize(
    ("text", "kind", "markdown"),
    [
        ("# Title\n\ntext\n", PROSE, "# Title\n\ntext"),
        ('{"ä":[1,2]}', JSON, '```json\n{\n  "ä": [\n    1,\n    2\n  ]\n}\n```'),
        ('{"a":', JSON, '```json\n{"a":\n```'),
        ("[" * 100_000, JSON, "```json\n" + "[" * 100_000 + "\n```"),
        ("<rss>```</rss>\n", XML, "````xml\n<rss>```</rss>\n````"),
    ],
)
def test_text_becomes_markdown(text: str, kind: ContentKind, markdown: str) -> None:
    assert plain_to_markdown(text, kind) == markdown


def test_text_becomes_preformatted_html() -> None:
    content = extract_content(
        b"a < b & c",
        content_type="text/plain",
        url="https://e.com/",
        options=ExtractOptions(formats=(Format.HTML,)),
    )
    assert content.html == "<pre>a &lt; b &amp; c</pre>"

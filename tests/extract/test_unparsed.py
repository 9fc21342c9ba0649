from cinder.extract.unparsed import read_unparsed
from cinder.model.document import Extraction


def read(
    body: bytes, content_type: str = "text/html", *, wants_markdown: bool = True
) -> Extraction:
    return read_unparsed(
        body, content_type=content_type, wants_markdown=wants_markdown, reason="It hurts."
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
    found = read(b"<p>word", wants_markdown=False)
    assert (found.markdown, found.word_count) == (None, 1)


def test_text_that_is_no_html_stays_as_it_is() -> None:
    assert read(b" <b>, they say\n", "text/plain").markdown == "<b>, they say"


def test_what_is_no_text_has_none() -> None:
    found = read(b"\0\1\2", "application/pdf")
    assert (found.text, found.markdown, found.is_partial) == (None, None, True)

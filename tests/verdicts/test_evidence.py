"""tests.verdicts.test_evidence"""

import pytest

from cinder.models.document import Extraction, FetchedPage, FetchSource
from cinder.verdicts.evidence import (
    MUCH_IN_SENTENCES,
    MUCH_TEXT,
    Outline,
    PageEvidence,
    TextAmount,
    measure_text,
    read_outline,
    read_text,
)
from tests.verdicts.readings import STORY, reading

PAGE = b"""<html><head><title>A &amp; B</title><style>p > a { color: red }</style></head><body>
<h1>Heading</h1><script>let a = "<p>no text</p>"</script>
<script type="application/ld+json">{}</script>
<p>Words <b>in</b> a row</p><!-- <p>not shown</p> --><noscript><p>No scripts?</p></noscript>
<SCRIPT src="/app.js"></SCRIPT><template><p>Later</p></template></body></html>"""


def test_a_page_is_taken_apart() -> None:
    outline = read_outline(PAGE)
    assert outline == Outline(
        title="A & B",
        text="Heading\nWords\nin\na row",
        markup=outline.markup,
        noscript=b"<noscript><p>No scripts?</p></noscript>",
        inline_scripts=(b'let a = "<p>no text</p>"',),
        script_addresses=("/app.js",),
    )
    assert b"script" not in outline.markup.lower()
    assert b"Later" not in outline.markup


def test_words_are_counted_with_and_without_spaces() -> None:
    assert read_outline(b"<p>three short words</p>").word_count == 3
    assert read_outline(f"<p>{'灯台' * 12}</p>".encode()).word_count == 12
    assert read_outline("<p>灯台 and two words</p>".encode()).word_count == 4
    assert read_outline(f"<p>{'ประภาคาร' * 3}</p>".encode()).word_count == 12


def test_sentences_are_told_from_menus() -> None:
    sentence = b"This is a sentence of more than sixty bytes, as prose has them, is it not?"
    outline = read_outline(b"<a>Home</a><p>" + sentence + b"</p><a>News</a>")
    assert outline.sentence_bytes == len(sentence)


def test_text_is_measured_in_sentences_and_in_all() -> None:
    menu = b"<li>An entry</li>" * 100
    assert measure_text(menu) == TextAmount(sentence_bytes=0, total_bytes=800)
    assert measure_text(menu).exceeds(0, 700)
    assert not measure_text(menu).exceeds(0, 800)
    data = b"<div data-x='" + b'<p>{"a": "' + b"words " * 50 + b"\"}'></div>"
    assert not measure_text(data).exceeds(0, 800)


def test_measuring_stops_where_there_is_much() -> None:
    amount = measure_text(b"<p>" + b"words " * 1_000 + b"</p>" + b"<p>more words</p>" * 10_000)
    assert amount.exceeds(MUCH_IN_SENTENCES, MUCH_TEXT)
    assert amount.total_bytes < 12_000


def test_an_element_that_is_never_closed_takes_the_rest() -> None:
    assert read_outline(b"<p>seen</p><script>let a <p>unseen</p>").text == "seen"


def test_markup_is_read_as_one_line() -> None:
    assert read_text(b"<p>One &eacute;</p>\n <style>p {}</style><p>two</p>") == "One é two"


@pytest.mark.parametrize("hostile", [b"<", b"<p class='cccc", b"<noscript><b>x", b"<title>a "])
def test_of_very_much_markup_the_head_and_the_tail_are_read(hostile: bytes) -> None:
    body = b"<p>first words</p>" + hostile * (4_000_000 // len(hostile))
    outline = read_outline(body)
    assert len(outline.markup) + len(outline.noscript) + len(outline.title) < 1_000_000
    assert outline.text.startswith("first words")


def test_the_tail_of_very_much_markup_does_not_begin_within_a_script() -> None:
    drawing = b"<path d='M0'/>" * 100_000
    script = b"<script>" + b"if (a > b) f(); " * 10_000 + b"</script>"
    outline = read_outline(drawing + script + b"<p>last words</p>")
    assert outline.text == "last words"


def test_a_page_is_called_by_its_title_the_parts_of_it_and_its_headings() -> None:
    page = reading("<title>Not found | The Site</title><h1>Oh <b>no</b></h1><h4>Small</h4>")
    assert page.names == ("not found | the site", "not found", "the site", "oh no")


def test_a_page_with_much_to_read_is_long() -> None:
    assert reading(f"<p>{STORY * 30}</p>").is_long
    assert reading("<p>Little</p>", word_count=800).is_long
    assert not reading(f"<p>{STORY}</p>").is_long


def test_a_redirect_to_the_same_page_leads_nowhere_else() -> None:
    asked = "http://www.a.example/one"
    assert not reading("", asked=asked, final="https://a.example/one/").was_redirected_elsewhere
    assert reading("", asked=asked, final="https://a.example/two").was_redirected_elsewhere
    assert reading("", asked=asked, final="https://b.example/one").was_redirected_elsewhere


def test_a_page_is_read_in_the_letters_that_it_was_decoded_to() -> None:
    page = FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=200,
        headers={"content-type": "text/html; charset=windows-1251"},
        body="<p>Страница не найдена</p>".encode("windows-1251"),
        source=FetchSource.NATIVE,
        strategy="native",
    )
    assert (
        PageEvidence(page, Extraction(text="<p>Страница не найдена</p>")).text
        == "страница не найдена"
    )


DECOY = "<p>" + "The lamps are lit along the water before the town wakes. " * 99 + "</p>"


@pytest.mark.parametrize(
    "hidden",
    [
        f"<div style='display: none'>{DECOY}<div>more</div></div>",
        f"<div hidden>{DECOY}</div>",
        f"<section style='position:absolute;left:-9999px'>{DECOY}</section>",
        f"<style>.a,.far {{ visibility: hidden }}</style><div class='b far'>{DECOY}</div>",
        f"<style>#x{{display:none}}</style><div id=x>{DECOY}<script>1</script>{DECOY}</div>",
    ],
)
def test_text_that_a_style_hides_does_not_count(hidden: str) -> None:
    body = f"<h1>Seen</h1>{hidden}<p>Seen too</p>".encode()
    assert read_outline(body).text == "Seen\nSeen too"
    assert measure_text(body).sentence_bytes == 0


@pytest.mark.parametrize(
    "shown",
    [
        f"<style>.tab{{display:none}}.tab.on{{display:block}}</style><div class=tab>{DECOY}</div>",
        f"<style>@media print {{ .x {{ display:none }} }}</style><div class='x'>{DECOY}</div>",
        f"<div id='page' style='display:none'>{DECOY}</div><script>show('#page')</script>",
        f"<body style='visibility:hidden'>{DECOY}</body>",
        f"<p style='display:none'>Gone{DECOY}",
    ],
    ids=["other rule", "print", "script", "body", "next paragraph"],
)
def test_text_that_may_be_shown_counts(shown: str) -> None:
    assert measure_text(shown.encode()).sentence_bytes > 2_000


def test_a_hidden_element_leaves_nothing_in_its_parent() -> None:
    markup = read_outline(b"<div id=a><div hidden>x</div><p>Words</p></div>").markup
    assert b"".join(markup.split(b" ")) == b"<divid=a><p>Words</p></div>"


def test_an_element_is_closed_in_any_case() -> None:
    body = b"<noScript>No scripts?</noScript><p>Words</p><SCRIPT>1</Script><p>More</p>"
    assert read_outline(body).text == "Words\nMore"


@pytest.mark.parametrize(
    "body", [b"<div hidden>" * 20_000, b"display:none" * 20_000, b"<style>.a{display:none" * 9_000]
)
def test_hostile_styles_are_read_without_an_error(body: bytes) -> None:
    assert read_outline(body).word_count >= 0

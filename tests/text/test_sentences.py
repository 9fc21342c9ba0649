"""tests.text.test_sentences"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.text.sentences import find_sentences, find_spans, linked_chars, plain_text, span_around


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see [a b](http://x/y) here", ["[a b](http://x/y)"]),
        ('![alt](<http://x/a b.png> "t") on', ['![alt](<http://x/a b.png> "t")']),
        ("[![alt](src)](href)", ["[![alt](src)](href)"]),
        ("[a](http://x/y(z)) and (b)", ["[a](http://x/y(z))"]),
        ("an [ open one, then [a](b)", ["[a](b)"]),
        ("[a](b[c) d", ["[a](b[c)"]),
        ("[text][1] and [^2]", ["[text]", "[1]", "[^2]"]),
        ("`code [x` and ``a ` b``", ["`code [x`", "``a ` b``"]),
        ("\\[not](a link)", ["](a link)"]),
        ("\\`no code` but `a\\` is", ["` but `"]),
        ("<https://example.com/a?b> c", ["<https://example.com/a?b>"]),
    ],
)
def test_what_loses_its_meaning_when_cut_is_found(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_spans(text, 0, len(text))] == found


def test_a_cut_at_the_edge_of_a_link_is_not_inside() -> None:
    spans = find_spans("a [b](c) d", 0, 10)
    assert spans == [(2, 8)]
    assert span_around(spans, 2) is None
    assert span_around(spans, 8) is None
    assert span_around(spans, 5) == (2, 8)


def test_a_bracket_that_is_never_closed_hides_nothing() -> None:
    text = "[a](" + "x " * 5_000 + "[b](c)"
    assert [text[start:end] for start, end in find_spans(text, 0, len(text))] == ["[b](c)"]


@given(st.text(alphabet="[]()`!\\<a: \n"))
def test_spans_are_in_order_and_apart(text: str) -> None:
    position = 0
    for start, end in find_spans(text, 0, len(text)):
        assert position <= start < end <= len(text)
        position = end


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Ash glows. Does it? Yes!", ["Ash glows.", "Does it?", "Yes!"]),
        (
            "Dr. Ash met J. Oak at 3.5 p.m. on time. Then",
            ["Dr. Ash met J. Oak at 3.5 p.m. on time.", "Then"],
        ),
        ("See [a. B](http://x/y. Z) now. So.", ["See [a. B](http://x/y. Z) now.", "So."]),
        (
            "Er sagte \u201eja.\u201d Dann z. B. nein.",
            ["Er sagte \u201eja.\u201d", "Dann z. B. nein."],
        ),
        (
            "\u706b\u304c\u3064\u304f\u3002\u7070\u306b\u306a\u308b\uff01",
            ["\u706b\u304c\u3064\u304f\u3002", "\u7070\u306b\u306a\u308b\uff01"],
        ),
        (
            "\u0647\u0644 \u0647\u0630\u0627 \u0646\u0627\u0631\u061f \u0646\u0639\u0645.",
            ["\u0647\u0644 \u0647\u0630\u0627 \u0646\u0627\u0631\u061f", "\u0646\u0639\u0645."],
        ),
        ("  ", []),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text: str, sentences: list[str]) -> None:
    assert [text[start:end] for start, end in find_sentences(text, 0, len(text))] == sentences


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ('Rake the [coals](http://x/y(z) "t") **well**', "Rake the coals well"),
        ("[![alt](a.png)](href) *on* its _own_", "alt on its own"),
        ("`max_chars` and snake_case and 2 * 3 * 4", "max_chars and snake_case and 2 * 3 * 4"),
        ("1\\. a \\*star\\* <br> b  \nc", "1. a *star* b c"),
        ("<https://example.com/> > x", "https://example.com/ > x"),
        ("> quoted\n> twice", "quoted twice"),
    ],
)
def test_marks_are_left_out(markdown: str, text: str) -> None:
    assert plain_text(markdown) == text


def test_only_what_is_read_of_a_link_counts() -> None:
    assert linked_chars("see [ab](http://long) and [![x](y)](z) [cd](e)") == 4

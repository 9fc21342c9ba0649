import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.extract.reading.inline_spans import find_spans, span_around


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

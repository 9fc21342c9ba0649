import pytest

from cinder.extract.reading.inline_text import linked_chars, plain_text


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

"""The text a reader would see."""

import pytest

from cinder.html.tree import parse_html
from cinder.html.visible_text import count_words, visible_text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>one <b>t</b>wo</p><p>three</p>", "one two\nthree"),
        ("<div>a<p>b</p>c</div>", "a\nb\nc"),
        ("a<br>b", "a\nb"),
        ("<ul><li>a<li>b</ul>", "a\nb"),
        ("  a \n\t b  ", "a b"),
        ("<script>x</script><style>y</style>z", "z"),
    ],
)
def test_blocks_stand_on_lines_of_their_own(html: str, text: str) -> None:
    body = parse_html(html).body
    assert body is not None
    assert visible_text(body) == text


def test_punctuation_alone_is_no_word() -> None:
    assert count_words("- **one** | [two](https://e.org) | 3 --- …") == 3


def test_letters_and_spaces_of_every_script_count() -> None:
    assert count_words("élan\u2003“日本” _ — 'x' \u3000٣ •") == 4


def test_a_word_is_one_though_signs_stand_in_it() -> None:
    assert count_words("it's e.g. «well-known»") == 3

"""The text of markdown, and the hash of its words."""

from hypothesis import given
from hypothesis import strategies as st

from cinder.text.plain_text import hash_words, strip_markdown

MARKDOWN = """
# Tides of the *sea*

> A quote with a [link](https://example.com/a_(b) "title") and ![a picture](x.png).

- one `code`
* **two**

| moon | water |
|------|-------|
| pulls | rises |

```python
x = a[0]
```
C\\# costs 5 \\* 3
"""

PLAIN = """
Tides of the sea
A quote with a link and a picture.
one code
two
moon water
pulls rises
x = a0
C# costs 5 3
"""


def test_markdown_is_left_without_its_marks() -> None:
    lines = strip_markdown(MARKDOWN).splitlines()
    assert [line.strip() for line in lines] == PLAIN.strip().splitlines()


@given(st.text(alphabet="ab[]()!*`|#>-_~\\ \n\t", max_size=300))
def test_any_markdown_has_a_text(markdown: str) -> None:
    text = strip_markdown(markdown)
    assert "  " not in text
    assert "`" not in text


@given(st.text(alphabet="aB \t\n\r\v\x1c\x1f\xa0é", max_size=60))
def test_words_have_the_same_hash_whatever_their_case_and_gaps(text: str) -> None:
    words = text.lower().split()
    assert hash_words(text) == hash_words(" ".join(words)) == hash_words("\n\t".join(words))


def test_other_words_have_another_hash() -> None:
    assert hash_words("the moon") == 5427035523396429849
    assert hash_words("the moons") != hash_words("the moon") != hash_words("themoon")

from hypothesis import given
from hypothesis import strategies as st

from cinder.services.excerpt import Window, take_excerpt


@given(st.text(), st.integers(1, 7))
def test_reading_on_from_each_cut_gives_the_whole_text(text: str, size: int) -> None:
    read, start = "", 0
    while True:
        excerpt = take_excerpt(text, Window(start, size))
        read += excerpt.text
        if excerpt.next_start is None:
            break
        start = excerpt.next_start
    assert read == text


def test_a_window_beyond_the_end_is_empty() -> None:
    excerpt = take_excerpt("abc", Window(10, 5))
    assert (excerpt.text, excerpt.was_truncated, excerpt.total) == ("", False, 3)

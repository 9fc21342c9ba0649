"""Texts, lists and objects cut to a size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.models.document import Json
from cinder.services.excerpt import (
    TextWindow,
    fit_items,
    fit_lists,
    fit_members,
    fit_text,
    take_excerpt,
    without_nulls,
)


def test_list_is_cut_to_what_fits() -> None:
    assert fit_items(["aaaa", "bbbb", "cccc"], 16) == ["aaaa", "bbbb"]


def test_cut_lists_are_named_with_their_counts() -> None:
    data: dict[str, Json] = {"links": ["aaaa", "bbbb", "cccc"], "images": ["d"]}
    cut = fit_lists(data, ("links", "images"), 16)
    assert cut == "Only the first 2 of 3 links are shown."
    assert data == {"links": ["aaaa", "bbbb"], "images": ["d"]}


@pytest.mark.parametrize(
    ("text", "fitting"),
    [("abcdef", "abcd"), ("abc", "abc"), ('a"b"c', 'a"b'), ('abc"', "abc"), ("\x01ab", "")],
)
def test_text_is_cut_to_what_fits_when_it_is_escaped(text: str, fitting: str) -> None:
    assert fit_text(text, 4) == fitting


def test_short_members_come_before_long_ones() -> None:
    members: dict[str, Json] = {"long": "x" * 500, "list": ["aaaa"] * 100, "short": "yes"}
    fitting = fit_members(members, 120)
    assert fitting["short"] == "yes"
    assert "long" not in fitting
    assert 0 < len(str(fitting)) <= 120


def test_nulls_are_left_out_at_any_depth() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None, "d": 1}]}) == {"b": [{"d": 1}]}


@given(st.text(), st.integers(1, 7))
def test_reading_on_from_each_cut_gives_the_whole_text(text: str, size: int) -> None:
    read, start = "", 0
    while True:
        excerpt = take_excerpt(text, TextWindow(start, size))
        read += excerpt.text
        if not excerpt.was_truncated:
            break
        start += len(excerpt.text)
    assert read == text


def test_a_window_beyond_the_end_is_empty() -> None:
    excerpt = take_excerpt("abc", TextWindow(10, 5))
    assert (excerpt.text, excerpt.was_truncated, excerpt.total) == ("", False, 3)


@pytest.mark.parametrize(
    ("text", "chars"), [("oak " * 50, 40), ("дуб " * 50, 22), ("木" * 200, 13)]
)
def test_a_window_of_tokens_has_fewer_characters_of_other_scripts(text: str, chars: int) -> None:
    assert len(take_excerpt(text, TextWindow(0, 40, counts_tokens=True)).text) == chars
    assert len(take_excerpt(text, TextWindow(0, 40)).text) == 40

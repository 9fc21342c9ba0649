"""Text fingerprints and near-duplicates."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.crawl.near_duplicates import MAX_WORDS, MIN_WORDS, fingerprint_text, is_near_duplicate

WORDS = [f"word{number}" for number in range(2_000)]


def some_text(words: int, seed: int) -> str:
    return " ".join(Random(seed).choices(WORDS, k=words))


def changed(text: str, places: int, seed: int) -> str:
    words = text.split()
    for place in Random(seed).sample(range(len(words)), places):
        words[place] = f"changed{place}"
    return " ".join(words)


def are_near(one: str, other: str) -> bool:
    a, b = fingerprint_text(one), fingerprint_text(other)
    return a.exact == b.exact or is_near_duplicate(a.sketch, b.sketch)


def share_a_key(one: str, other: str) -> bool:
    a, b = fingerprint_text(one).keys, fingerprint_text(other).keys
    return any(x == y for x, y in zip(a, b, strict=True))


def test_a_counter_or_a_date_does_not_make_another_page() -> None:
    pairs = [(text, changed(text, 1, seed)) for seed in range(50) if (text := some_text(800, seed))]
    assert all(are_near(*pair) and share_a_key(*pair) for pair in pairs)


def test_pages_of_one_template_with_their_own_articles_are_different() -> None:
    frame = some_text(700, 1)
    pages = [f"{frame} {some_text(60, seed)} {frame[:500]}" for seed in range(2, 42)]
    assert not any(are_near(pages[0], page) for page in pages[1:])


def test_texts_that_have_94_percent_in_common_are_hardly_ever_taken_for_one() -> None:
    texts = [some_text(1_000, seed) for seed in range(100)]
    near = [are_near(text, changed(text, 8, seed)) for seed, text in enumerate(texts)]
    assert sum(near) <= 1


def test_text_without_spaces_between_words_is_compared_too() -> None:
    characters = [chr(0x4E00 + number) for number in range(2_000)]
    text = "".join(Random(1).choices(characters, k=1_000))
    assert are_near(text, text[:500] + "新" + text[501:])
    assert not are_near(text, "".join(Random(2).choices(characters, k=1_000)))


def test_white_space_does_not_count() -> None:
    assert fingerprint_text("a  b\n") == fingerprint_text(" a\tb")


def test_short_texts_and_very_long_ones_are_only_equal_or_not() -> None:
    for words in (MIN_WORDS - 1, MAX_WORDS + 1):
        text = some_text(words, 1)
        assert are_near(text, text)
        assert not are_near(text, changed(text, 1, 2))
        assert fingerprint_text(text).keys == ()


def test_the_fingerprint_is_the_same_everywhere() -> None:
    found = fingerprint_text(" ".join(WORDS[:300]))
    assert found.exact.hex() == "75cb986c1eb9cb5666173f7364005fdf"
    assert found.keys == (
        3008402288805272222,
        -9103417335026697892,
        1778660325913130968,
        8943798759109641438,
        5953973168301838383,
        5089644547994350804,
        -8899867368199771622,
        6319182514287856780,
    )


@pytest.mark.parametrize("text", ["", "\ud800 " * 300, "a " * 300, "語" * 5_000])
def test_odd_texts_have_fingerprints(text: str) -> None:
    assert are_near(text, text)


@given(st.text(max_size=200), st.integers(1, 300))
def test_a_fingerprint_is_stable_and_keys_fit_a_database(text: str, times: int) -> None:
    one, other = fingerprint_text(text * times), fingerprint_text(text * times)
    assert one == other
    assert all(-(2**63) <= key < 2**63 for key in one.keys)

import pytest

from training.labels import UNKNOWN, label_blocks

TRUTH = "The quick brown fox jumps over the lazy dog. It was a fine day. Share"


def test_blocks_of_the_text_are_content() -> None:
    labels = label_blocks(["The quick brown fox jumps", "Subscribe to our free newsletter"], TRUTH)

    assert labels == [1.0, 0.0]


def test_a_block_that_is_partly_in_the_text_counts_in_part() -> None:
    assert label_blocks(["quick brown fox jumps quite high"], TRUTH) == [pytest.approx(1 / 3)]


def test_a_short_block_far_from_content_is_doubted() -> None:
    near, far = (
        label_blocks(texts, TRUTH)[1]
        for texts in (
            ["The quick brown fox jumps", "Share", "It was a fine day"],
            ["Subscribe to our newsletter", "Share", "Read all about our firm"],
        )
    )

    assert near == 1.0
    assert far == pytest.approx(0.3)


def test_of_copies_that_the_text_has_once_the_first_is_content() -> None:
    copy = "The quick brown fox jumps"

    assert label_blocks([copy, copy], TRUTH) == [1.0, 0.0]


def test_a_block_without_words_has_no_label() -> None:
    assert label_blocks(["---"], TRUTH) == [UNKNOWN]

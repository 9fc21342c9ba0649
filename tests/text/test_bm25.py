"""BM25: the scores of terms."""

import pytest

from cinder.text.bm25 import Bm25, inverse_frequency


def test_a_rare_term_scores_more_than_a_common_one() -> None:
    model = Bm25([{"oak", "fire"}, {"fire"}, {"fire"}], [10, 10, 10])
    assert model.score("oak", 1, 10) > model.score("fire", 1, 10) > 0


def test_a_term_of_no_text_has_the_highest_rarity() -> None:
    model = Bm25([{"fire"}], [10])
    assert model.score("oak", 1, 10) == pytest.approx(inverse_frequency(1, 0))


def test_repetition_saturates_and_long_texts_score_less() -> None:
    model = Bm25([{"fire"}, set()], [10, 30])
    once, twice, often = (model.score("fire", times, 10) for times in (1, 2, 100))
    assert once < twice < often < 2.2 * inverse_frequency(2, 1)
    assert model.score("fire", 1, 30) < once


def test_no_texts_have_no_scores_but_no_error() -> None:
    assert Bm25([], []).score("fire", 0, 0) == 0

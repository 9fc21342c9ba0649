"""tests.html.main_content.test_scorer"""

import gzip
import math
from pathlib import Path

import pytest

from cinder.html.main_content.features import PageHints
from cinder.html.main_content.scorer import (
    BlockScorer,
    group_similar_blocks,
    read_scorer,
    shipped_scorer,
)
from tests.html.main_content.trees import block_tree

TREES = """
def add_leaves(row):
    return 3.0 if row[0] > 4 else -3.0
"""
NO_HINTS = PageHints((0.0,) * 26, frozenset(), frozenset())


def scorer(folder: Path) -> BlockScorer:
    """Return a scorer that prefers pages of more than four words."""
    (folder / "trees.py").write_text(TREES)
    (folder / "cue_weights.json.gz").write_bytes(gzip.compress(b'{"<p>":2.0}'))
    return read_scorer(folder)


def test_a_score_is_the_logistic_function_of_the_sum_of_leaves(tmp_path: Path) -> None:
    # The first feature is the number of words on the page.
    (short,) = scorer(tmp_path).score(block_tree("<p>one two three"), NO_HINTS)
    (long,) = scorer(tmp_path).score(block_tree("<p>one two three four five"), NO_HINTS)

    assert short == pytest.approx(1 / (1 + math.exp(3)))
    assert long == pytest.approx(1 / (1 + math.exp(-3)))


def test_a_page_without_text_has_no_scores() -> None:
    assert shipped_scorer().score(block_tree("<div></div>"), NO_HINTS) == []


def test_the_shipped_scorer_takes_the_features_of_a_block() -> None:
    tree = block_tree("<nav><a href=/>Home</a></nav><article><p>" + "One sentence of prose. " * 30)

    menu, prose = shipped_scorer().score(tree, NO_HINTS)

    assert menu < 0.5 < prose


def test_blocks_of_the_same_make_are_together() -> None:
    post = "<div class=post><h4>today</h4><p>one two three</p></div>"
    tree = block_tree(f"<main>{post * 3}</main><p>other</p>")

    assert sorted(group_similar_blocks(tree)) == [[0, 2, 4], [1, 3, 5], [6]]


def test_classes_tell_blocks_apart() -> None:
    tree = block_tree("<p class=a>1<p class=b>2<p class=a>3<p class=a>4")

    assert sorted(group_similar_blocks(tree)) == [[0, 2, 3], [1]]


def test_two_of_a_make_are_each_for_itself() -> None:
    assert group_similar_blocks(block_tree("<p>1<p>2")) == [[0], [1]]


def test_links_among_the_text_of_a_make_are_apart() -> None:
    tree = block_tree("<p>one two</p>" * 3 + "<p><a href=/x>Read this, too</a></p>" * 3)

    assert sorted(group_similar_blocks(tree)) == [[0, 1, 2], [3, 4, 5]]

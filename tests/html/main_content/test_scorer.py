"""tests.html.main_content.test_scorer"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cinder.html.main_content.scorer import LEAVES_PER_TREE, Forest, Split, group_similar_blocks
from tests.html.main_content.trees import block_tree

# Two trees over two features. The first: x0 <= 1 ? 0.5 : (x1 <= 3 ? -1 : 2); the second: x1 <= 2.
SPLITS = (Split(0, 0, 1.0, 0, 1), Split(0, 1, 3.0, 1, 2), Split(1, 1, 2.0, 0, 1))
LEAVES = ([0.5, -1.0, 2.0], [0.25, -0.25])


def probability(total: float) -> object:
    """Return what compares equal to the probability that a sum of leaves stands for."""
    return pytest.approx(1 / (1 + math.exp(-total)))


def walk(row: tuple[float, float]) -> float:
    """Return what walking the two trees gives."""
    first = 0.5 if row[0] <= 1 else -1.0 if row[1] <= 3 else 2.0
    return first + (0.25 if row[1] <= 2 else -0.25)


@given(st.tuples(st.floats(-5, 5), st.floats(-5, 5)))
def test_masks_find_the_leaves_that_walking_finds(row: tuple[float, float]) -> None:
    forest = Forest(SPLITS, LEAVES, features=2)

    assert forest.score(forest.part(0, 2).reachable(row)) == pytest.approx(
        1 / (1 + math.exp(-walk(row)))
    )


def test_a_value_at_a_threshold_goes_left() -> None:
    forest = Forest(SPLITS, LEAVES, features=2)

    assert forest.score(forest.part(0, 2).reachable((1.0, 2.0))) == pytest.approx(
        1 / (1 + math.exp(-0.75))
    )


def test_a_row_may_come_in_parts() -> None:
    forest = Forest(SPLITS, LEAVES, features=2)
    parts = forest.part(0, 1).reachable((4.0,)) & forest.part(1, 1).reachable((2.5,))

    assert forest.score(parts) == forest.score(forest.part(0, 2).reachable((4.0, 2.5)))


def test_a_full_tree_has_all_its_leaves() -> None:
    last = LEAVES_PER_TREE - 1
    splits = [Split(0, 0, float(leaf), leaf, leaf + 1) for leaf in range(last)]
    forest = Forest(splits, [[float(leaf) for leaf in range(LEAVES_PER_TREE)]], features=1)

    found = [forest.score(forest.part(0, 1).reachable((leaf - 0.5,))) for leaf in (0, 1, last, 99)]
    assert found == [probability(value) for value in (0, 1, last, last)]


def test_blocks_of_the_same_make_are_together() -> None:
    post = "<div class=post><h4>today</h4><p>one two three</p></div>"
    tree = block_tree(f"<main>{post * 3}</main><p>other</p>")

    assert sorted(group_similar_blocks(tree)) == [[0, 2, 4], [1, 3, 5], [6]]


def test_classes_tell_blocks_apart() -> None:
    tree = block_tree("<p class=a>1<p class=b>2<p class=a>3<p class=a>4")

    assert sorted(group_similar_blocks(tree)) == [[0, 2, 3], [1]]


def test_two_of_a_make_are_each_for_itself() -> None:
    assert group_similar_blocks(block_tree("<p>1<p>2")) == [[0], [1]]

"""Chooses the blocks that make up the main content, given how likely each is to belong to it."""

from collections.abc import Sequence

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.coherence import complete, level_tables, lift_listings


def choose_blocks(
    tree: BlockTree, scores: Sequence[float], *, with_heading: bool = False
) -> set[int]:
    """Return the numbers of the blocks that are the page's content.

    Args:
        tree: the page.
        scores: how likely each of its blocks is content.
        with_heading: whether the page's only heading of the first level belongs to it anyway.
    """
    scores = lift_listings(tree, level_tables(tree, scores))
    return complete(tree, _choose_best(tree, scores), with_heading=with_heading)


def _choose_best(tree: BlockTree, scores: Sequence[float]) -> set[int]:
    """Return the blocks whose choice promises the best balance.

    Taking the likeliest first, it stops where the expected harmonic mean of precision and recall,
    counted in words, is highest: a doubtful block is taken on a page with little else to offer.
    """
    order = sorted(range(len(scores)), key=lambda number: -scores[number])
    expected = sum(score * block.words for score, block in zip(scores, tree.blocks, strict=True))
    taken, right = 0, 0.0
    best, best_count = 0.0, 0
    for count, number in enumerate(order, 1):
        words = tree.blocks[number].words
        taken += words
        right += scores[number] * words
        balance = 2 * right / (taken + expected)
        if balance > best:
            best, best_count = balance, count
    return set(order[:best_count])

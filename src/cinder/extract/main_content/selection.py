"""Chooses the blocks that make up the main content, given how likely each is to belong to it."""

from collections.abc import Sequence

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.coherence import (
    complete,
    is_small,
    level_tables,
    lift_insets,
)

# What is doubtful beside an article is seldom part of it.
_ARTICLE_DOUBT = 1.6


def choose_blocks(tree: BlockTree, scores: Sequence[float], *, is_article: bool) -> set[int]:
    """Return the numbers of the blocks that are the page's content, given the score of each.

    A long article is prose, and its title is told beside it; of any other page, the parts that
    would be torn apart and the heading belong to the content.
    """
    scores = lift_insets(tree, level_tables(tree, scores))
    if is_article:
        scores = [score**_ARTICLE_DOUBT for score in scores]
    chosen = _choose_best(tree, scores)
    return chosen if is_article and not is_small(tree) else complete(tree, chosen)


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

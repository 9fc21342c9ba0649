"""Chooses the blocks that make up the main content, given how likely each is to belong to it."""

from collections.abc import Mapping, Sequence

from cinder.extract.main_content.blocks import Block, BlockTree

_LISTING_LEVELS_UP = 3


def choose_blocks(tree: BlockTree, scores: Sequence[float]) -> set[int]:
    """Return the numbers of the blocks whose choice promises the best balance.

    Taking the likeliest first, it stops where the expected harmonic mean of precision and recall,
    counted in words, is highest: a doubtful block is taken on a page with little else to offer.
    """
    scores = _lift_listings(tree, _level_rows(tree, scores))
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


def _level_rows(tree: BlockTree, scores: Sequence[float]) -> list[float]:
    """Give all cells of a table's row the same score: a row that lost some would be misread.

    Only cells that hold text and nothing else count; those of a layout hold elements.
    """
    rows = [_row_of(tree, block) for block in tree.blocks]
    totals: dict[int, tuple[float, int]] = {}
    for row, block, score in zip(rows, tree.blocks, scores, strict=True):
        if row is not None:
            total, words = totals.get(row, (0.0, 0))
            totals[row] = total + score * block.words, words + block.words
    means = {row: total / words for row, (total, words) in totals.items()}
    return [score if row is None else means[row] for row, score in zip(rows, scores, strict=True)]


def _row_of(tree: BlockTree, block: Block) -> int | None:
    owner = tree.elements[block.owner]
    return owner.parent if owner.tag in ("td", "th") else None


def _lift_listings(tree: BlockTree, scores: list[float]) -> list[float]:
    """Give a listing at least the score of the text around it: code reads unlike any prose."""
    around: dict[int, tuple[float, int]] = {}
    for block, score in zip(tree.blocks, scores, strict=True):
        owner = tree.elements[block.owner]
        if owner.tag != "pre" and owner.parent >= 0:
            for index in (owner.parent, tree.elements[owner.parent].parent):
                total, words = around.get(index, (0.0, 0))
                around[index] = total + score * block.words, words + block.words
    return [
        max(score, _mean_around(tree, block, around))
        if tree.elements[block.owner].tag == "pre"
        else score
        for block, score in zip(tree.blocks, scores, strict=True)
    ]


def _mean_around(tree: BlockTree, block: Block, around: Mapping[int, tuple[float, int]]) -> float:
    index = tree.elements[block.owner].parent
    for _ in range(_LISTING_LEVELS_UP):
        if index in around:
            total, words = around[index]
            return total / words
        index = tree.elements[index].parent if index >= 0 else -1
    return 0.0

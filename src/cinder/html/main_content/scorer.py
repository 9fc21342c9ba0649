"""The learned scorer: the probability that a block belongs to the main content of its page.

The leaves of a tree are bits, numbered from the left. A split that sends a value to the right
excludes the leaves on its left. Splits on one feature are sorted by threshold, so one mask, found
by bisection, excludes the leaves of all trees; the lowest bit that remains of a tree is its leaf.
All trees are in one integer, one after the other.

The training script writes the learned parameters to one file, which is part of the package.
"""

import gzip
import json
import math
import struct
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from importlib.resources import files
from itertools import accumulate
from operator import getitem
from typing import Self

from cinder.html.main_content.blocks import BlockTree, CueWeights
from cinder.html.main_content.features import SIZES, PageFeatures, PageHints

LEAVES_PER_TREE = 32


@dataclass(frozen=True, slots=True)
class Split:
    """A comparison that sends a value above the threshold to the right."""

    tree: int
    feature: int
    threshold: float
    first_leaf: int
    """The first of the leaves on the split's left."""
    end_leaf: int
    """The leaf after the last of them."""


class Forest:
    """Trees whose leaves are added up for each row of features."""

    def __init__(
        self, splits: Sequence[Split], leaves: Sequence[Sequence[float]], features: int
    ) -> None:
        self.features = features
        self._lanes = struct.Struct(f"<{len(leaves)}I")
        self._lowest_bits = sum(1 << (tree * LEAVES_PER_TREE) for tree in range(len(leaves)))
        self._values = [{1 << leaf: value for leaf, value in enumerate(tree)} for tree in leaves]
        self._whole = sum(
            ((1 << len(tree)) - 1) << (index * LEAVES_PER_TREE) for index, tree in enumerate(leaves)
        )
        by_feature: list[list[Split]] = [[] for _ in range(features)]
        for split in splits:
            by_feature[split.feature].append(split)
        self._columns: list[tuple[list[float], list[int]]] = []
        for column in by_feature:
            column.sort(key=lambda split: split.threshold)
            masks = [self._whole]
            for split in column:
                excluded = (1 << split.end_leaf) - (1 << split.first_leaf)
                masks.append(masks[-1] & ~(excluded << (split.tree * LEAVES_PER_TREE)))
            self._columns.append(([split.threshold for split in column], masks))

    def part(self, first_feature: int, features: int) -> "ForestPart":
        """Return the part of the forest that compares some of the features of a row."""
        columns = self._columns[first_feature : first_feature + features]
        used = [(place, *column) for place, column in enumerate(columns) if column[0]]
        return ForestPart(self._whole, used)

    def score(self, reachable: int) -> float:
        """Return the probability that the leaves which remain after all parts add up to."""
        lowest = reachable & ~(reachable - self._lowest_bits)
        lanes = self._lanes.unpack(lowest.to_bytes(self._lanes.size, "little"))
        return 1 / (1 + math.exp(-sum(map(getitem, self._values, lanes))))


class ForestPart:
    """The splits on some features; rows share the result of their common parts."""

    def __init__(self, whole: int, used: list[tuple[int, list[float], list[int]]]) -> None:
        self._whole = whole
        self._used = used

    def reachable(self, values: Sequence[float]) -> int:
        """Return the leaves that these values do not exclude."""
        left = self._whole
        for place, thresholds, masks in self._used:
            left &= masks[bisect_left(thresholds, values[place])]
        return left


_LEVELS = 5
_MIN_BLOCKS = 3

_Make = tuple[str | None, ...]


def group_similar_blocks(tree: BlockTree) -> list[list[int]]:
    """Return the numbers of all blocks, grouped by make.

    Blocks are of the same make if their owners, and the ancestors of these, have the same tags and
    classes; if there are fewer than three, each is a group of its own.
    """
    makes: list[_Make] = []
    for element in tree.elements:
        above = makes[element.parent] if element.parent >= 0 else ()
        makes.append((element.tag, element.class_name, *above[: 2 * (_LEVELS - 1)]))
    found: dict[_Make, list[int]] = {}
    for number, block in enumerate(tree.blocks):
        found.setdefault(makes[block.owner], []).append(number)
    groups: list[list[int]] = []
    for numbers in found.values():
        groups += [numbers] if len(numbers) >= _MIN_BLOCKS else [[number] for number in numbers]
    return groups


SHIPPED_NAME = "scorer.json.gz"

# How many blocks of one make are scored. With two, hundreds of paragraphs of a manual are kept or
# dropped by chance.
_SAMPLE = 8


class BlockScorer:
    """Scores the blocks of pages by the weights of their cues and a forest over all features."""

    def __init__(self, weights: CueWeights, forest: Forest) -> None:
        self._weights = weights
        self.forest = forest
        first = forest.features - sum(SIZES)
        starts = accumulate(SIZES, initial=first)
        parts = (forest.part(start, size) for start, size in zip(starts, SIZES, strict=False))
        # The parts that compare features of the page, a parent, an owner, a block.
        self.page_part = forest.part(0, first)
        self.parent_part, self.owner_part, self.block_part = parts

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the scorer that the training script wrote."""
        learned = json.loads(gzip.decompress(data))
        splits = [Split(*split) for split in learned["splits"]]
        forest = Forest(splits, learned["leaves"], learned["features"])
        return cls(learned["cues"], forest)

    def score(self, tree: BlockTree, hints: PageHints) -> list[float]:
        """Return the probability of each block, in document order.

        Blocks of the same make have one: the mean, by words, of the largest among them.
        """
        scores = [0.0] * len(tree.blocks)
        if not tree.blocks:
            return scores
        page = _ScoredPage(self, tree, PageFeatures(tree, hints, self._weights))
        for numbers in group_similar_blocks(tree):
            score = page.score_group(numbers)
            for number in numbers:
                scores[number] = score
        return scores


class _ScoredPage:
    """A page that is being scored; what blocks share is computed once."""

    def __init__(self, scorer: BlockScorer, tree: BlockTree, features: PageFeatures) -> None:
        self._scorer = scorer
        self._tree = tree
        self._features = features
        self._page = scorer.page_part.reachable(features.of_page())
        self._below: dict[int, int] = {}

    def score_group(self, numbers: list[int]) -> float:
        """Return the probability that blocks of one make share."""
        if len(numbers) == 1:
            return self._score(numbers[0])
        blocks = self._tree.blocks
        sample = nlargest(_SAMPLE, numbers, key=lambda number: blocks[number].words)
        words = sum(blocks[number].words for number in sample)
        return sum(self._score(number) * blocks[number].words for number in sample) / words

    def _score(self, number: int) -> float:
        owner = self._tree.blocks[number].owner
        parent = max(self._tree.elements[owner].parent, 0)
        if parent not in self._below:
            values = self._features.of_parent(parent)
            self._below[parent] = self._page & self._scorer.parent_part.reachable(values)
        left = self._below[parent] & self._scorer.owner_part.reachable(
            self._features.of_owner(owner)
        )
        left &= self._scorer.block_part.reachable(self._features.of_block(number))
        return self._scorer.forest.score(left)


@cache
def shipped_scorer() -> BlockScorer:
    """Return the scorer that is part of the package."""
    return BlockScorer.from_bytes((files(__package__) / SHIPPED_NAME).read_bytes())

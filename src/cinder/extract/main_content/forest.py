"""A forest of decision trees, evaluated by bit masks instead of walking each tree.

The leaves of a tree are bits, numbered from the left. A split that sends a value to the right
rules out the leaves on its left. Splits on one feature are sorted by threshold, so what a value
rules out in all trees together is one mask, found by bisection; of what is left of a tree after
all features, the lowest bit is its leaf. All trees lie side by side in one integer.
"""

import math
import struct
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import getitem

LEAVES_PER_TREE = 32


@dataclass(frozen=True, slots=True)
class Split:
    """A question that sends a value above the threshold to the right."""

    tree: int
    feature: int
    threshold: float
    first_leaf: int
    """The first of the leaves on the split's left."""
    end_leaf: int
    """The leaf after the last of them."""


class Forest:
    """Trees whose leaves are summed up, for one row of features after another."""

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
        self._columns = [self._column(column) for column in by_feature]

    def _column(self, splits: list[Split]) -> tuple[list[float], list[int]] | None:
        if not splits:
            return None
        splits.sort(key=lambda split: split.threshold)
        masks = [self._whole]
        for split in splits:
            ruled_out = (1 << split.end_leaf) - (1 << split.first_leaf)
            masks.append(masks[-1] & ~(ruled_out << (split.tree * LEAVES_PER_TREE)))
        return [split.threshold for split in splits], masks

    def part(self, first_feature: int, features: int) -> "Part":
        """Return the part of the forest that asks for some of the features of a row."""
        columns = self._columns[first_feature : first_feature + features]
        used = [(place, *column) for place, column in enumerate(columns) if column is not None]
        return Part(self._whole, used)

    def score(self, reachable: int) -> float:
        """Return the probability that the leaves left over by all parts stand for."""
        lowest = reachable & ~(reachable - self._lowest_bits)
        lanes = self._lanes.unpack(lowest.to_bytes(self._lanes.size, "little"))
        return 1 / (1 + math.exp(-sum(map(getitem, self._values, lanes))))


class Part:
    """The splits on some features; rows share what their common parts leave."""

    def __init__(self, whole: int, used: list[tuple[int, list[float], list[int]]]) -> None:
        self._whole = whole
        self._used = used

    def reachable(self, values: Sequence[float]) -> int:
        """Return the leaves that the values of these features leave."""
        left = self._whole
        for place, thresholds, masks in self._used:
            left &= masks[bisect_left(thresholds, values[place])]
        return left

"""The learned scorer: how likely each block of a page is to be part of its main content.

The training script writes what it learned to one file, which is shipped with the package.
"""

import gzip
import json
from functools import cache
from heapq import nlargest
from importlib.resources import files
from itertools import accumulate
from typing import NamedTuple, Self

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.cues import CueWeights
from cinder.extract.main_content.features import SIZES, PageFeatures
from cinder.extract.main_content.forest import Forest, Part, Split
from cinder.extract.main_content.likeness import group_alike
from cinder.extract.main_content.page_hints import PageHints

SHIPPED_NAME = "scorer.json.gz"

# So many blocks of one make stand for all of them; more change no score that matters.
_SAMPLE = 2


class Parts(NamedTuple):
    """The parts of a forest that ask for the features of a page, a parent, an owner, a block."""

    page: Part
    parent: Part
    owner: Part
    block: Part


class BlockScorer:
    """Scores the blocks of pages by the weights of their cues and a forest over all features."""

    def __init__(self, weights: CueWeights, forest: Forest) -> None:
        self._weights = weights
        self.forest = forest
        first = forest.features - sum(SIZES)
        starts = accumulate(SIZES, initial=first)
        parts = (forest.part(start, size) for start, size in zip(starts, SIZES, strict=False))
        self.parts = Parts(forest.part(0, first), *parts)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the scorer that the training script wrote."""
        learned = json.loads(gzip.decompress(data))
        splits = [Split(*split) for split in learned["splits"]]
        forest = Forest(splits, learned["leaves"], learned["features"])
        return cls(CueWeights(learned["cues"]), forest)

    def score(self, tree: BlockTree, hints: PageHints) -> list[float]:
        """Return the probability of each block, in document order.

        Blocks of the same make have one: the mean, by words, of the largest among them.
        """
        scores = [0.0] * len(tree.blocks)
        if not tree.blocks:
            return scores
        page = _ScoredPage(self, tree, PageFeatures(tree, hints, self._weights))
        for numbers in group_alike(tree):
            score = page.score_group(numbers)
            for number in numbers:
                scores[number] = score
        return scores


class _ScoredPage:
    """A page on its way through the forest; what blocks share is looked up once."""

    def __init__(self, scorer: BlockScorer, tree: BlockTree, features: PageFeatures) -> None:
        self._parts = scorer.parts
        self._forest = scorer.forest
        self._tree = tree
        self._features = features
        self._page = self._parts.page.reachable(features.of_page())
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
        left = self._left_below(max(self._tree.elements[owner].parent, 0))
        left &= self._parts.owner.reachable(self._features.of_owner(owner))
        left &= self._parts.block.reachable(self._features.of_block(number))
        return self._forest.score(left)

    def _left_below(self, parent: int) -> int:
        if parent not in self._below:
            values = self._features.of_parent(parent)
            self._below[parent] = self._page & self._parts.parent.reachable(values)
        return self._below[parent]


@cache
def shipped_scorer() -> BlockScorer:
    """Return the scorer that comes with the package."""
    return BlockScorer.from_bytes((files(__package__) / SHIPPED_NAME).read_bytes())

"""The learned scorer: how likely each block of a page is to be part of its main content.

The training script writes what it learned to one file, which is shipped with the package.
"""

import gzip
import json
from functools import cache
from importlib.resources import files
from itertools import accumulate
from typing import Self

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.cues import CueWeights
from cinder.extract.main_content.features import SIZES, PageFeatures
from cinder.extract.main_content.forest import Forest, Split
from cinder.extract.main_content.page_hints import PageHints

SHIPPED_NAME = "scorer.json.gz"


class BlockScorer:
    """Scores the blocks of pages by the weights of their cues and a forest over all features."""

    def __init__(self, weights: CueWeights, forest: Forest) -> None:
        self._weights = weights
        self._forest = forest
        first = forest.features - sum(SIZES)
        self._page = forest.part(0, first)
        self._parent, self._owner, self._block = (
            forest.part(start, size)
            for start, size in zip(accumulate(SIZES, initial=first), SIZES, strict=False)
        )

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the scorer that the training script wrote."""
        learned = json.loads(gzip.decompress(data))
        splits = [Split(*split) for split in learned["splits"]]
        forest = Forest(splits, learned["leaves"], learned["features"])
        return cls(CueWeights(learned["cues"]), forest)

    def score(self, tree: BlockTree, hints: PageHints) -> list[float]:
        """Return the probability of each block, in document order."""
        if not tree.blocks:
            return []
        features = PageFeatures(tree, hints, self._weights)
        page = self._page.reachable(features.of_page())
        below: dict[int, int] = {}
        scores: list[float] = []
        for number, block in enumerate(tree.blocks):
            parent = max(tree.elements[block.owner].parent, 0)
            if parent not in below:
                below[parent] = page & self._parent.reachable(features.of_parent(parent))
            left = below[parent] & self._owner.reachable(features.of_owner(block.owner))
            left &= self._block.reachable(features.of_block(number))
            scores.append(self._forest.score(left))
        return scores


@cache
def shipped_scorer() -> BlockScorer:
    """Return the scorer that comes with the package."""
    return BlockScorer.from_bytes((files(__package__) / SHIPPED_NAME).read_bytes())

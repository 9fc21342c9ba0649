"""The learned scorer: how likely each block of a page is to be part of its main content.

The training script writes what it learned to one file, which is shipped with the package.
"""

import gzip
import json
from functools import cache
from importlib.resources import files
from typing import Self

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.cues import CueWeights
from cinder.extract.main_content.features import PageFeatures
from cinder.extract.main_content.forest import Forest, Split
from cinder.extract.main_content.page_hints import PageHints

SHIPPED_NAME = "scorer.json.gz"


class BlockScorer:
    """Scores the blocks of pages by the weights of their cues and a forest over all features."""

    def __init__(self, weights: CueWeights, forest: Forest) -> None:
        self._weights = weights
        self._forest = forest

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
        features, forest = PageFeatures(tree, hints, self._weights), self._forest
        page = features.of_page()
        of_page = forest.reachable(page, 0)
        of_places: dict[int, tuple[int, int]] = {}
        scores: list[float] = []
        for number, block in enumerate(tree.blocks):
            if block.owner not in of_places:
                place = features.of_place(block.owner)
                left = of_page & forest.reachable(place, len(page))
                of_places[block.owner] = left, len(page) + len(place)
            left, first = of_places[block.owner]
            left &= forest.reachable(features.of_block(number), first)
            scores.append(forest.score(left))
        return scores


@cache
def shipped_scorer() -> BlockScorer:
    """Return the scorer that comes with the package."""
    return BlockScorer.from_bytes((files(__package__) / SHIPPED_NAME).read_bytes())

"""The learned scorer: the probability that a block belongs to the main content of its page.

The training script writes what it learned to two files of the package: the weights of cues, and
`trees.py`, a function that adds up the leaves of all trees for a row of features.
"""

import gzip
import json
import math
import runpy
from collections.abc import Callable, Sequence
from functools import cache
from heapq import nlargest
from pathlib import Path

from cinder.html.main_content.blocks import BlockTree, CueWeights
from cinder.html.main_content.features import PageFeatures, PageHints
from cinder.html.main_content.trees import add_leaves

AddLeaves = Callable[[Sequence[float]], float]
"""Returns the sum of the leaves that a row of features reaches, one of each tree."""

TREES_FILE = "trees.py"
CUES_FILE = "cue_weights.json.gz"

_LEVELS = 5
_MIN_BLOCKS = 3
# A block with a larger share of links is of another make than the text around it.
_MAX_LINK_SHARE = 0.8

_Make = tuple[str | None, ...]


def group_similar_blocks(tree: BlockTree) -> list[list[int]]:
    """Return the numbers of all blocks, grouped by make.

    Blocks are of the same make if their owners, and the ancestors of these, have the same tags and
    classes, and if all or none of them are links; if there are fewer than three, each is a group of
    its own.
    """
    makes: list[_Make] = []
    for element in tree.elements:
        above = makes[element.parent] if element.parent >= 0 else ()
        makes.append((element.tag, element.class_name, *above[: 2 * (_LEVELS - 1)]))
    found: dict[tuple[_Make, bool], list[int]] = {}
    for number, block in enumerate(tree.blocks):
        is_links = block.link_words > block.words * _MAX_LINK_SHARE
        found.setdefault((makes[block.owner], is_links), []).append(number)
    groups: list[list[int]] = []
    for numbers in found.values():
        groups += [numbers] if len(numbers) >= _MIN_BLOCKS else [[number] for number in numbers]
    return groups


# How many blocks of one make are scored. With two, hundreds of paragraphs of a manual are kept or
# dropped by chance.
_SAMPLE = 8


class BlockScorer:
    """Scores the blocks of pages by the weights of their cues and a forest over all features."""

    def __init__(self, weights: CueWeights, add_leaves: AddLeaves) -> None:
        self._weights = weights
        self.add_leaves = add_leaves

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
        self._page = features.of_page()
        self._above: dict[int, tuple[float, ...]] = {}

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
        above = self._above.get(parent)
        if above is None:
            above = self._above[parent] = (*self._page, *self._features.of_parent(parent))
        row = (*above, *self._features.of_owner(owner), *self._features.of_block(number))
        return 1 / (1 + math.exp(-self._scorer.add_leaves(row)))


def read_scorer(folder: Path) -> BlockScorer:
    """Return a scorer that the training script wrote elsewhere."""
    trees = runpy.run_path(str(folder / TREES_FILE))
    return BlockScorer(_read_cue_weights(folder), trees[add_leaves.__name__])


@cache
def shipped_scorer() -> BlockScorer:
    """Return the scorer that is part of the package."""
    return BlockScorer(_read_cue_weights(Path(__file__).parent), add_leaves)


def _read_cue_weights(folder: Path) -> CueWeights:
    weights: CueWeights = json.loads(gzip.decompress((folder / CUES_FILE).read_bytes()))
    return weights

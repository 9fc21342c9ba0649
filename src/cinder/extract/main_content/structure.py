"""The structure of a page: what is around each element, which are alike, where the prose is."""

from collections.abc import Mapping
from typing import NamedTuple

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.cues import CueWeights

# The elements around a block that tell something by how many levels up they are.
_AROUND = ("article", "main", "footer", "list", "table", "section", "details", "cell")
_AROUND_BY_CUE = {f"<{name}>": index for index, name in enumerate(_AROUND)} | {
    cue: _AROUND.index(name)
    for cue, name in (
        *(("<ul>", "list"), ("<ol>", "list"), ("<td>", "cell"), ("<th>", "cell")),
        *(("role=main", "main"), ("role=contentinfo", "footer"), ("role=article", "article")),
    )
}
_CONTAINER_SHARE = 0.6
_LARGE_SHARE = 0.3
_PATH_DECAY = 0.85


class PathCues(NamedTuple):
    """The weights of the cues on the path down to an element."""

    low: float
    """Its own lowest."""
    high: float
    """Its own highest."""
    lowest: float
    """The lowest on the path."""
    highest: float
    """The highest on the path."""
    total: float
    """The sum along the path, in which what is farther up counts less."""


class Nearest(NamedTuple):
    """The next element up, or the element itself, that has a property."""

    meeting: int
    """The first that also holds the container."""
    large: int
    """The first that holds a good share of the page's words."""


def read_paths(
    tree: BlockTree, weights: CueWeights
) -> tuple[list[tuple[int, ...]], list[PathCues]]:
    """Return, for each element, the depths of what is around it and the weights of its cues."""
    around: list[tuple[int, ...]] = []
    cues: list[PathCues] = []
    known: dict[tuple[str, ...], tuple[float, float, list[int]]] = {}
    for element in tree.elements:
        if element.parent < 0:
            around.append((-1,) * len(_AROUND))
            cues.append(PathCues(0.0, 0.0, 0.0, 0.0, 0.0))
            continue
        if element.cues not in known:
            kinds = [_AROUND_BY_CUE[cue] for cue in element.cues if cue in _AROUND_BY_CUE]
            known[element.cues] = (*weights.extremes(element.cues), kinds)
        low, high, kinds = known[element.cues]
        depths, above = around[element.parent], cues[element.parent]
        for kind in kinds:
            depths = (*depths[:kind], element.depth, *depths[kind + 1 :])
        around.append(depths)
        lowest, highest = min(above.lowest, low), max(above.highest, high)
        total = above.total * _PATH_DECAY + low + high
        cues.append(PathCues(low, high, lowest, highest, total))
    return around, cues


def count_siblings(
    tree: BlockTree,
) -> tuple[dict[tuple[int, str, str | None], int], dict[int, int]]:
    """Return how many elements with text share parent, tag and class, and each one's rank."""
    sizes: dict[tuple[int, str, str | None], int] = {}
    ranks: dict[int, int] = {}
    for index, element in enumerate(tree.elements):
        if element.words and element.owner == index:
            key = (element.parent, element.tag, element.class_name)
            ranks[index] = sizes.get(key, 0)
            sizes[key] = ranks[index] + 1
    return sizes, ranks


def find_container(tree: BlockTree) -> dict[int, int]:
    """Return the smallest element that holds most of the prose, and all around it.

    Each comes with the number of levels that it is above that element.
    """
    elements = tree.elements
    largest_child: dict[int, int] = {}
    for index, element in enumerate(elements[1:], 1):
        if element.prose_words and element.owner == index:
            rival = largest_child.get(element.parent)
            if rival is None or elements[rival].prose_words < element.prose_words:
                largest_child[element.parent] = index
    enough = tree.root.prose_words * _CONTAINER_SHARE
    chain = [0]
    while (child := largest_child.get(chain[-1])) is not None:
        if elements[child].prose_words < enough or elements[child].blocks < 2:
            break
        chain.append(child)
    return {index: up for up, index in enumerate(reversed(chain))}


def find_nearest(tree: BlockTree, container: Mapping[int, int]) -> list[Nearest]:
    """Return, for each element, the next one up that is around the container, or large."""
    enough = tree.root.words * _LARGE_SHARE
    found: list[Nearest] = []
    for index, element in enumerate(tree.elements):
        above = found[element.parent] if element.parent >= 0 else Nearest(0, 0)
        is_meeting, is_large = index in container, element.words >= enough
        found.append(
            Nearest(index if is_meeting else above.meeting, index if is_large else above.large)
        )
    return found

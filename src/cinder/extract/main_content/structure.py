"""The structure of a page: what is around each element, which are alike, where the prose is."""

from collections import Counter
from collections.abc import Mapping

from cinder.extract.main_content.blocks import BlockTree
from cinder.extract.main_content.cues import CueWeights

# The elements around a block that tell something by how many levels up they are.
AROUND = ("article", "main", "list")
_AROUND_BY_CUE = {
    cue: AROUND.index(name)
    for cue, name in (
        *(("<article>", "article"), ("role=article", "article"), ("<main>", "main")),
        *(("role=main", "main"), ("<ul>", "list"), ("<ol>", "list")),
    )
}
_CONTAINER_SHARE = 0.6
_LARGE_SHARE = 0.3
_PATH_DECAY = 0.85


# The weights of an element's own cues, lowest and highest; of all on the path down to it; and the
# sum along the path, in which what is farther up counts less. A plain tuple: there are thousands.
PathCues = tuple[float, float, float, float, float]


def read_paths(
    tree: BlockTree, weights: CueWeights
) -> tuple[list[tuple[int, ...]], list[PathCues]]:
    """Return, for each element, the depths of what is around it and the weights of its cues."""
    around: list[tuple[int, ...]] = []
    cues: list[PathCues] = []
    known: dict[tuple[str, ...], tuple[float, float, list[int]]] = {}
    for element in tree.elements:
        if element.parent < 0:
            around.append((-1,) * len(AROUND))
            cues.append((0.0, 0.0, 0.0, 0.0, 0.0))
            continue
        if element.cues not in known:
            kinds = [_AROUND_BY_CUE[cue] for cue in element.cues if cue in _AROUND_BY_CUE]
            known[element.cues] = (*weights.extremes(element.cues), kinds)
        low, high, kinds = known[element.cues]
        depths, (_, _, lowest, highest, total) = around[element.parent], cues[element.parent]
        for kind in kinds:
            depths = (*depths[:kind], element.depth, *depths[kind + 1 :])
        around.append(depths)
        total = total * _PATH_DECAY + low + high
        cues.append((low, high, min(lowest, low), max(highest, high), total))
    return around, cues


def count_siblings(tree: BlockTree) -> Counter[tuple[int, str, str | None]]:
    """Return how many elements share parent, tag and class."""
    return Counter((element.parent, element.tag, element.class_name) for element in tree.elements)


def find_container(tree: BlockTree) -> dict[int, int]:
    """Return the smallest element that holds most of the prose, and all around it.

    Each comes with the number of levels that it is above that element.
    """
    elements = tree.elements
    largest_child: dict[int, int] = {}
    for index, element in enumerate(elements[1:], 1):
        if element.prose_words:
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


def find_nearest(tree: BlockTree, container: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Return, for each element, the next one up that is around the container, and a large one.

    An element may itself be both. Large is what holds a good share of the page's words.
    """
    enough = tree.root.words * _LARGE_SHARE
    meeting: list[int] = []
    large: list[int] = []
    for index, element in enumerate(tree.elements):
        is_around = element.parent < 0 or index in container
        is_large = element.parent < 0 or element.words >= enough
        meeting.append(index if is_around else meeting[element.parent])
        large.append(index if is_large else large[element.parent])
    return meeting, large

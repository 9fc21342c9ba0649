"""Takes out of a page's tree whatever is not among the blocks that were chosen."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.main_content.blocks import BlockTree

_WRAPPERS = frozenset(("article", "body", "div", "form", "main", "section", "span"))


def prune(tree: BlockTree, chosen: AbstractSet[int]) -> LexborNode:
    """Leave of the tree the chosen blocks, the elements around them, and their pictures.

    The innermost element that holds all of it comes back.
    """
    kept = _count_kept_words(tree, chosen)
    detach([*_find_dropped(tree, kept), *_find_dropped_runs(tree, chosen, kept)])
    return _innermost(tree, kept)


def _count_kept_words(tree: BlockTree, chosen: AbstractSet[int]) -> list[int]:
    kept = [0] * len(tree.elements)
    for number in chosen:
        block = tree.blocks[number]
        kept[block.owner] += block.words
    for index in range(len(tree.elements) - 1, 0, -1):
        kept[tree.elements[index].parent] += kept[index]
    return kept


def _find_dropped(tree: BlockTree, kept: Sequence[int]) -> Iterator[LexborNode]:
    """Yield the elements that kept none of their words, and the pictures that go with them.

    A picture stays where at least half of the words around it do. A figure lends its own words,
    the caption, no weight: only they go where the caption was not chosen.
    """
    figures = _find_staying_figures(tree, kept)
    for index, element in enumerate(tree.elements):
        if not kept[index] and index not in figures:
            yield element.node
    for index, node in tree.pictures:
        around = index
        while around in figures:
            around = tree.elements[around].parent
        if kept[around] * 2 < tree.elements[around].words:
            yield node


def _find_staying_figures(tree: BlockTree, kept: Sequence[int]) -> set[int]:
    """Return the figures in whose parents at least half of the other words stay."""
    return {
        index
        for index, element in enumerate(tree.elements)
        if element.tag == "figure"
        and element.parent >= 0
        and kept[element.parent] * 2 >= tree.elements[element.parent].words - element.words
        and kept[element.parent]
    }


def _find_dropped_runs(
    tree: BlockTree, chosen: AbstractSet[int], kept: Sequence[int]
) -> Iterator[LexborNode]:
    """Yield what the dropped blocks of elements that stay consist of."""
    # A link may go around a line of text and elements that stand on their own.
    wrapping = {
        element.wrapper.mem_id
        for element, words in zip(tree.elements, kept, strict=True)
        if words and element.wrapper is not None
    }
    for number, block in enumerate(tree.blocks):
        if number not in chosen and kept[block.owner]:
            yield from (node for node in block.nodes if node.mem_id not in wrapping)


def _innermost(tree: BlockTree, kept: Sequence[int]) -> LexborNode:
    """Return the last of the mere wrappers that hold every word and every picture."""
    pictures = [0] * len(tree.elements)
    for index, _ in tree.pictures:
        pictures[index] += 1
    for index in range(len(tree.elements) - 1, 0, -1):
        pictures[tree.elements[index].parent] += pictures[index]
    found = 0
    for index, element in enumerate(tree.elements[1:], 1):
        holds_all = kept[index] == kept[0] and pictures[index] == pictures[0]
        if holds_all and element.parent == found and element.tag in _WRAPPERS:
            found = index
    return tree.elements[found].node

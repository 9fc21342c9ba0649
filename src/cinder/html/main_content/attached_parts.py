"""Parts that belong to the content wherever a page has them: title, lead picture, footnotes."""

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from selectolax.lexbor import LexborNode

from cinder.html.main_content.blocks import BlockTree
from cinder.html.metadata.title import name_key
from cinder.html.tree import ancestors

_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_MAX_TITLE_WORDS = 60

_SOURCES = ("src", "srcset", "data-src", "data-srcset", "data-lazy-src", "data-original")
# The end of a file's name that tells its size, as in `fire-1024x768` and `fire_large@2x`.
_SIZE = re.compile(r"[-_.](?:\d+x\d+|\d{2,4}w?|scaled|large|medium|small)$|@\dx$")
_MIN_STEM_CHARS = 5
_MAX_PICTURES = 200
_FIGURE_LEVELS_UP = 4

# The text of a link to a footnote: `1`, `[12]`, `(a)`, `*`.
_NOTE_MARK = re.compile(r"[\[(]?(?:\d{1,3}|[a-z]|[*†‡§]{1,3})[\])]?", re.IGNORECASE)
_MAX_NOTES = 500
_MAX_NOTE_WORDS = 150
_LINK_LEVELS_UP = 12


def find_title_blocks(tree: BlockTree, chosen: AbstractSet[int], title: str) -> list[int]:
    """Return the headings that are the page's title, and its copies above the content.

    Where none has its words, an `h1` that the content begins with is the page's own title.
    """
    key = name_key(title)
    prose = (number for number in sorted(chosen) if tree.blocks[number].prose_words)
    start = next(prose, len(tree.blocks))
    headings: list[int] = []
    copies: list[int] = []
    for number, block in enumerate(tree.blocks):
        if block.words > _MAX_TITLE_WORDS or name_key(block.text) != key:
            continue
        owner = tree.elements[block.owner]
        around = tree.elements[owner.parent].tag if owner.parent >= 0 else ""
        if owner.tag in _HEADINGS or around in _HEADINGS:
            headings.append(number)
        elif number < start:
            copies.append(number)
    first = min(chosen, default=0)
    if not headings and first in chosen and tree.elements[tree.blocks[first].owner].tag == "h1":
        return [first]
    return headings + copies


def find_lead_picture(tree: BlockTree, images: Iterable[str]) -> LexborNode | None:
    """Return the picture that a page names for previews, with its caption, if it shows it."""
    stems = {stem for image in images if len(stem := _stem(image)) >= _MIN_STEM_CHARS}
    if not stems:
        return None
    for _, picture in tree.pictures[:_MAX_PICTURES]:
        if any(stem in source for source in _sources(picture) for stem in stems):
            around = ancestors(picture, _FIGURE_LEVELS_UP)
            return next((node for node in around if node.tag == "figure"), picture)
    return None


def _stem(image: str) -> str:
    """Return the name of an image's file without its ending and size."""
    name = image.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(".")[0].lower()
    return _SIZE.sub("", _SIZE.sub("", name))


def _sources(picture: LexborNode) -> Iterator[str]:
    for node in (picture, *picture.iter()):
        attributes = node.attributes
        yield from ((attributes.get(name) or "").lower() for name in _SOURCES)


def find_notes(root: LexborNode, tree: BlockTree, chosen: AbstractSet[int]) -> set[int]:
    """Return the blocks of the footnotes that chosen blocks refer to."""
    marks = [
        link
        for link in root.css('a[href^="#"]')[:_MAX_NOTES]
        if _NOTE_MARK.fullmatch(link.text().strip())
    ]
    if not marks:
        return set()
    places = {element.node.mem_id: index for index, element in enumerate(tree.elements)}
    owners = {tree.blocks[number].owner for number in chosen}
    names = {
        (mark.attributes.get("href") or "")[1:]
        for mark in marks
        if _nearest_element(mark, places) in owners
    }
    targets = (
        _nearest_element(node, places)
        for node in root.css("[id], a[name]")
        if (node.attributes.get("id") or node.attributes.get("name")) in names
    )
    notes = {index for index in targets if 0 < tree.elements[index].words <= _MAX_NOTE_WORDS}
    return _blocks_within(tree, notes)


def _nearest_element(node: LexborNode, places: dict[int, int]) -> int:
    """Return the number of the element with text that a node is, or is in; the first if none."""
    around = (node, *ancestors(node, _LINK_LEVELS_UP))
    return next((places[one.mem_id] for one in around if one.mem_id in places), 0)


def _blocks_within(tree: BlockTree, elements: AbstractSet[int]) -> set[int]:
    is_within: list[bool] = []
    for index, element in enumerate(tree.elements):
        above = element.parent >= 0 and is_within[element.parent]
        is_within.append(above or index in elements)
    return {number for number, block in enumerate(tree.blocks) if is_within[block.owner]}


def is_below(node: LexborNode, dropped: Sequence[LexborNode]) -> bool:
    """Whether a node is one of some nodes or in one of them."""
    gone = {one.mem_id for one in dropped}
    above: LexborNode | None = node
    while above is not None:
        if above.mem_id in gone:
            return True
        above = above.parent
    return False

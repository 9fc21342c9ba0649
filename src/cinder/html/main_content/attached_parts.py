"""Parts that belong to the content wherever a page has them: title, lead picture, footnotes."""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

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


class TitleBlocks(NamedTuple):
    """The blocks of the heading that is a page's title, and of its copies."""

    heading: Sequence[int]
    copies: Sequence[int]


def find_title_blocks(
    tree: BlockTree,
    chosen: AbstractSet[int],
    title: str,
    site_names: AbstractSet[str] = frozenset(),
) -> TitleBlocks:
    """Return the heading that is the page's title, its copies above the content, or neither.

    Where no heading has the words of the title, the only `h1` that the content begins with is the
    page's own, or else the only one above it that does not name the site.
    """
    key = name_key(title)
    prose = (number for number in sorted(chosen) if tree.blocks[number].prose_words)
    start = next(prose, len(tree.blocks))
    headings = _find_headings(tree)
    keys = [
        (name_key(" ".join(tree.blocks[number].text for number in blocks)), tag, blocks)
        for tag, blocks in headings
    ]
    same = [blocks for heading, _, blocks in keys if heading == key]
    in_headings = {number for _, blocks in headings for number in blocks}
    copies = [
        number
        for number, block in enumerate(tree.blocks[:start])
        if number not in in_headings
        and block.words <= _MAX_TITLE_WORDS
        and name_key(block.text) == key
    ]
    if not same:
        tops = [
            (heading, blocks)
            for heading, tag, blocks in keys
            if tag == "h1" and heading not in site_names and blocks[0] <= start
        ]
        within = [(heading, blocks) for heading, blocks in tops if not chosen.isdisjoint(blocks)]
        own = within or tops
        same = [blocks for _, blocks in own] if len({heading for heading, _ in own}) == 1 else []
    if same:
        repeated = [number for blocks in same[1:] for number in blocks]
        kept = [number for number in same[0] if number in chosen]
        return TitleBlocks(kept or same[0], repeated + copies)
    return TitleBlocks(copies[:1], copies[1:])


def _find_headings(tree: BlockTree) -> list[tuple[str, list[int]]]:
    """Return the tag and the blocks of each heading that is not too long for a title."""
    found: dict[int, list[int]] = {}
    nearest: list[int] = []
    for index, element in enumerate(tree.elements):
        above = nearest[element.parent] if element.parent >= 0 else -1
        nearest.append(index if element.tag in _HEADINGS and above < 0 else above)
    for number, block in enumerate(tree.blocks):
        if (heading := nearest[block.owner]) >= 0:
            found.setdefault(heading, []).append(number)
    return [
        (tree.elements[heading].tag, blocks)
        for heading, blocks in found.items()
        if tree.elements[heading].words <= _MAX_TITLE_WORDS
    ]


def find_lead_picture(tree: BlockTree, images: Iterable[str]) -> LexborNode | None:
    """Return the picture that a page names for previews, with its caption, if it shows it."""
    stems = {stem for image in images if len(stem := _stem(image)) >= _MIN_STEM_CHARS}
    if not stems:
        return None
    for _, picture in tree.pictures[:_MAX_PICTURES]:
        nodes = [node.attributes for node in (picture, *picture.iter())]
        sources = [(node.get(name) or "").lower() for node in nodes for name in _SOURCES]
        if any(stem in source for source in sources for stem in stems):
            around = ancestors(picture, _FIGURE_LEVELS_UP)
            return next((node for node in around if node.tag == "figure"), picture)
    return None


def _stem(image: str) -> str:
    """Return the name of an image's file without its ending and size."""
    name = image.partition("?")[0].rstrip("/").rpartition("/")[2].rpartition(".")[0].lower()
    return _SIZE.sub("", _SIZE.sub("", name))


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
    is_within: list[bool] = []
    for index, element in enumerate(tree.elements):
        above = element.parent >= 0 and is_within[element.parent]
        is_within.append(above or index in notes)
    return {number for number, block in enumerate(tree.blocks) if is_within[block.owner]}


def _nearest_element(node: LexborNode, places: dict[int, int]) -> int:
    """Return the number of the element with text that a node is, or is in; the first if none."""
    around = (node, *ancestors(node, _LINK_LEVELS_UP))
    return next((places[one.mem_id] for one in around if one.mem_id in places), 0)


def is_below(node: LexborNode, dropped: Sequence[LexborNode]) -> bool:
    """Whether a node is one of some nodes or in one of them."""
    gone = {one.mem_id for one in dropped}
    above: LexborNode | None = node
    while above is not None:
        if above.mem_id in gone:
            return True
        above = above.parent
    return False

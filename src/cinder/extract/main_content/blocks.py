"""Reads a page into blocks: runs of text that stand together, each owned by an element."""

from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from cinder.extract.main_content.cues import read_cues

_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code"),
        *("data", "del", "dfn", "em", "font", "i", "img", "input", "ins", "kbd", "label"),
        *("cue", "meter", "output", "picture", "progress", "q", "rp", "rt", "ruby", "s"),
        *("samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "var", "wbr"),
    )
)

# A picture goes with the text around it, unless that is its own.
PICTURES = frozenset(("img", "picture", "video", "audio"))
# Inline elements that differ from what they stand in by more than their looks.
_APART = PICTURES | {"a"}

# Prose is a run of some length that is not mostly links.
_PROSE_MIN_WORDS = 10
_PROSE_MAX_LINK_SHARE = 1 / 3


@dataclass(slots=True)
class Element:
    """An element that stands on its own, and the text below it, in words between white space."""

    node: LexborNode
    parent: int
    tag: str
    depth: int
    wrapper: LexborNode | None
    """The outermost of the inline elements between it and its parent, if there are any."""
    cues: tuple[str, ...]
    """What it tells by its names."""
    class_name: str | None
    words: int = 0
    link_words: int = 0
    prose_words: int = 0
    blocks: int = 0

    @property
    def link_share(self) -> float:
        """The share of its words that are links."""
        return self.link_words / self.words if self.words else 0.0


@dataclass(slots=True)
class Block:
    """A run of text within one element, uninterrupted by others that stand on their own."""

    owner: int
    pieces: list[str] = field(default_factory=list)
    nodes: list[LexborNode] = field(default_factory=list)
    """The children of its owner that the run consists of."""
    words: int = 0
    link_words: int = 0

    @property
    def text(self) -> str:
        """The run's text; what stands in elements of its own is set apart by a space."""
        return " ".join(self.pieces)

    @property
    def prose_words(self) -> int:
        """Its words if they are prose, else none."""
        is_prose = (
            self.words >= _PROSE_MIN_WORDS and self.link_words <= self.words * _PROSE_MAX_LINK_SHARE
        )
        return self.words if is_prose else 0


@dataclass(frozen=True, slots=True)
class BlockTree:
    """The elements of a page that hold text, in document order, its blocks and its pictures."""

    elements: list[Element]
    blocks: list[Block]
    pictures: list[tuple[int, LexborNode]]
    """Each with the innermost element around it that holds text."""

    @property
    def root(self) -> Element:
        """The element that holds everything: the first."""
        return self.elements[0]


def read_blocks(root: LexborNode) -> BlockTree:
    """Return the blocks below an element from which all that is invisible has been removed."""
    reader = _Reader(root)
    reader.read()
    tree = BlockTree(reader.elements, reader.blocks, reader.find_pictures())
    _sum_up(tree)
    return tree


class _Place:
    """Where the text of an element goes: to itself, or to the element whose line it stands in."""

    __slots__ = ("above", "in_link", "index", "line", "node", "tag", "top")

    def __init__(
        self, node: LexborNode, tag: str, above: "_Place | None", top: LexborNode | None
    ) -> None:
        self.node = node
        self.tag = tag
        self.above = above
        self.top = top
        """The outermost element of the line, None for an element that stands on its own."""
        # Not itself: a cycle would keep the whole tree in memory.
        self.line: _Place | None = None if top is None or above is None else above.line or above
        """The element whose line it stands in, None for one that stands on its own."""
        self.in_link: bool = tag == "a" or (above is not None and above.in_link)
        self.index = -1
        """Its number among the elements, once some text of it was seen."""


class _Reader:
    def __init__(self, root: LexborNode) -> None:
        self.elements: list[Element] = []
        self.blocks: list[Block] = []
        self._block: Block | None = None
        self._root = _Place(root, root.tag or "", None, None)
        self._places = {root.mem_id: self._root}
        self._pictures: list[_Place] = []

    def read(self) -> None:
        """Go through all that is below the root."""
        self._number(self._root)
        nodes = self._root.node.traverse(include_text=True, skip_empty=True)
        # The root itself comes first.
        next(nodes, None)
        places = self._places
        for node in nodes:
            parent = node.parent
            above = places.get(parent.mem_id) if parent is not None else None
            if above is None:
                continue
            if node.is_text_node:
                self._add_text(node, above)
            elif node.is_element_node:
                self._add_element(node, above)

    def _add_element(self, node: LexborNode, above: _Place) -> None:
        tag = node.tag or ""
        # Whatever marks up the lines of a listing, the listing is one text.
        if tag in _INLINE or (above.line or above).tag == "pre":
            if tag == "br" and self._block is not None:
                self._block.pieces.append("\n")
            if above.top is not None and tag not in _APART:
                self._places[node.mem_id] = above
                return
            place = _Place(node, tag, above, above.top or node)
        else:
            place = _Place(node, tag, above, None)
            self._block = None
        self._places[node.mem_id] = place
        if tag in PICTURES:
            self._pictures.append(place)

    def _add_text(self, node: LexborNode, place: _Place) -> None:
        text = node.text_content or ""
        words = len(text.split())
        if not words:
            return
        holder = place.line or place
        owner = holder.index if holder.index >= 0 else self._number(holder)
        block = self._block
        if block is None or block.owner != owner:
            block = self._block = Block(owner)
            self.blocks.append(block)
        child = place.top or node
        if not block.nodes or block.nodes[-1].mem_id != child.mem_id:
            block.nodes.append(child)
        block.pieces.append(text)
        block.words += words
        if place.in_link:
            block.link_words += words

    def find_pictures(self) -> list[tuple[int, LexborNode]]:
        """Return the pictures of the page, when all of it was read."""
        return [(_first_numbered(place), place.node) for place in self._pictures if place.index < 0]

    def _number(self, place: _Place) -> int:
        """Take an element in, and those around it that no text has been seen of before."""
        fresh = []
        above: _Place | None = place
        while above is not None and above.index < 0:
            fresh.append(above)
            above = above.above
            above = above and (above.line or above)
        for each in reversed(fresh):
            each.index = len(self.elements)
            self.elements.append(self._element(each))
        return place.index

    def _element(self, place: _Place) -> Element:
        above = place.above
        if above is None:
            return Element(place.node, -1, place.tag, 0, None, (), None)
        parent = (above.line or above).index
        attributes = place.node.attributes
        return Element(
            place.node,
            parent,
            place.tag,
            self.elements[parent].depth + 1,
            above.top,
            read_cues(place.tag, attributes),
            attributes.get("class"),
        )


def _first_numbered(place: _Place) -> int:
    above = place.line or place
    while above.index < 0 and above.above is not None:
        above = above.above.line or above.above
    return above.index


def _sum_up(tree: BlockTree) -> None:
    elements = tree.elements
    for block in tree.blocks:
        owner = elements[block.owner]
        owner.words += block.words
        owner.link_words += block.link_words
        owner.prose_words += block.prose_words
        owner.blocks += 1
    for element in reversed(elements[1:]):
        parent = elements[element.parent]
        parent.words += element.words
        parent.link_words += element.link_words
        parent.prose_words += element.prose_words
        parent.blocks += element.blocks

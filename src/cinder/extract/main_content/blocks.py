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

# Prose is a run of some length that is not mostly links.
_PROSE_MIN_WORDS = 10
_PROSE_MAX_LINK_SHARE = 1 / 3


@dataclass(slots=True)
class Element:
    """An element of the page, and what text stands below it. Words are counted by white space."""

    node: LexborNode
    parent: int
    tag: str
    depth: int
    owner: int
    """The element itself or, for one inside a line of text, the block element around it."""
    top: LexborNode
    """The outermost element of the line of text that it stands in; the owner for block elements."""
    cues: tuple[str, ...] = ()
    """What it tells by its names; nothing for one inside a line of text."""
    class_name: str | None = None
    in_link: bool = False
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
    """All elements of a page in document order, the first being its root, and its blocks."""

    elements: list[Element]
    blocks: list[Block]

    @property
    def root(self) -> Element:
        """The element that holds everything."""
        return self.elements[0]


def read_blocks(root: LexborNode) -> BlockTree:
    """Return the blocks below an element from which all that is invisible has been removed."""
    reader = _Reader()
    for node in root.traverse(include_text=True, skip_empty=True):
        if node.is_text_node:
            reader.add_text(node)
        elif node.is_element_node:
            reader.add_element(node)
    tree = BlockTree(reader.elements, reader.blocks)
    _sum_up(tree)
    return tree


class _Reader:
    def __init__(self) -> None:
        self.elements: list[Element] = []
        self.blocks: list[Block] = []
        self._index_of: dict[int, int] = {}
        self._block: Block | None = None

    def add_element(self, node: LexborNode) -> None:
        tag = node.tag or ""
        index = len(self.elements)
        self._index_of[node.mem_id] = index
        parent_node = node.parent
        parent_index = self._index_of.get(parent_node.mem_id, -1) if parent_node else -1
        if parent_index < 0:
            self.elements.append(Element(node, -1, tag, 0, index, node))
            return
        parent = self.elements[parent_index]
        # Whatever marks up the lines of a listing, the listing is one text.
        if tag in _INLINE or self.elements[parent.owner].tag == "pre":
            top = node if parent.owner == parent_index else parent.top
            element = Element(node, parent_index, tag, parent.depth + 1, parent.owner, top)
            if tag == "br" and self._block is not None:
                self._block.pieces.append("\n")
        else:
            element = Element(node, parent_index, tag, parent.depth + 1, index, node)
            attributes = node.attributes
            element.cues = read_cues(tag, attributes)
            element.class_name = attributes.get("class")
            self._block = None
        element.in_link = parent.in_link or tag == "a"
        self.elements.append(element)

    def add_text(self, node: LexborNode) -> None:
        text = node.text_content or ""
        words = len(text.split())
        block = self._block
        if not words:
            return
        parent_node = node.parent
        parent_index = self._index_of.get(parent_node.mem_id, -1) if parent_node else -1
        if parent_index < 0:
            return
        parent = self.elements[parent_index]
        if block is None or block.owner != parent.owner:
            block = self._block = Block(parent.owner)
            self.blocks.append(block)
        child = node if parent.owner == parent_index else parent.top
        if not block.nodes or block.nodes[-1].mem_id != child.mem_id:
            block.nodes.append(child)
        block.pieces.append(text)
        block.words += words
        if parent.in_link:
            block.link_words += words


def _sum_up(tree: BlockTree) -> None:
    elements = tree.elements
    for block in tree.blocks:
        owner = elements[block.owner]
        owner.words += block.words
        owner.link_words += block.link_words
        owner.prose_words += block.prose_words
        owner.blocks += 1
    for element in reversed(elements[1:]):
        if element.words:
            parent = elements[element.parent]
            parent.words += element.words
            parent.link_words += element.link_words
            parent.prose_words += element.prose_words
            parent.blocks += element.blocks

"""Blocks of a page: runs of text, with the cues and the structure around them."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborNode

from cinder.html.vocabulary import load_vocabulary
from cinder.text.terms import extra_words

_CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]{2,}")
_MAX_CHARS = 400
_MAX_WORDS = 24
_MAX_LABEL_WORDS = 6
_MAX_VALUE_CHARS = 40
# Attributes by which scripts, tests and screen readers find an element: often the only meaningful
# ones if class names are generated.
_LABELS = ("data-testid", "data-component", "data-hook", "data-test", "aria-label")
_ENGLISH = {
    word: english for english, words in load_vocabulary()["cue_words"].items() for word in words
}
_FURTHER = frozenset(("role", "itemprop", "itemtype", "aria-hidden", *_LABELS))


def read_cues(tag: str, attributes: Mapping[str, str | None]) -> tuple[str, ...]:
    """Return the cues of an element; `<tag>` is the first."""
    if not attributes:
        return _cues_by_name(tag, "")
    get = attributes.get
    names = f"{(get('class') or '')[:_MAX_CHARS]} {(get('id') or '')[:_MAX_CHARS]}"
    cues = _cues_by_name(tag, names)
    if _FURTHER.isdisjoint(attributes):
        return cues
    further: list[str] = []
    if role := get("role"):
        further.append(f"role={role.lower()[:_MAX_VALUE_CHARS]}")
    if name := get("itemprop"):
        further.append(f"itemprop={name.lower()[:_MAX_VALUE_CHARS]}")
    if kind := get("itemtype"):
        kind = kind.rstrip("/").rpartition("/")[2].lower()
        further.append(f"itemtype={kind[:_MAX_VALUE_CHARS]}")
    if get("aria-hidden") == "true":
        further.append("aria-hidden")
    for name in _LABELS:
        words = _split((get(name) or "")[:_MAX_CHARS])[:_MAX_LABEL_WORDS]
        further += (f"{name}={word}" for word in words)
    return (*cues, *further)


CueWeights = Mapping[str, float]
"""The learned weights of cues: how much more, or less, of the text below them is content."""


@lru_cache(maxsize=20_000)
def _cues_by_name(tag: str, names: str) -> tuple[str, ...]:
    return (f"<{tag}>", *_split(names))


def _split(names: str) -> tuple[str, ...]:
    """Return the words in names, and each name of several words as a whole."""
    words = [word for name in names.split() for word in _words_of(name)]
    return tuple(dict.fromkeys(words))[:_MAX_WORDS]


@lru_cache(maxsize=20_000)
def _words_of(name: str) -> tuple[str, ...]:
    if name.isalpha() and name.islower():
        return (_ENGLISH.get(name, name),) if len(name) > 1 else ()
    found = _WORD.findall(name if name.islower() else _CAMEL_CASE.sub("-", name).lower())
    parts = [_ENGLISH.get(word, word) for word in found]
    return tuple(parts) if len(parts) < 2 else (*parts, "-".join(parts))


_INLINE = frozenset(
    (
        *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code"),
        *("data", "del", "dfn", "em", "font", "i", "img", "input", "ins", "kbd", "label"),
        *("cue", "meter", "output", "picture", "progress", "q", "rp", "rt", "ruby", "s"),
        *("samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time"),
        *("tt", "u", "var", "wbr"),
    )
)

# A picture belongs to the text around it, except its own caption.
PICTURES = frozenset(("img", "picture", "video", "audio"))
# Inline elements that are more than formatting.
_APART = PICTURES | {"a"}

# Prose is a run of a minimum length that is not mostly links.
_PROSE_MIN_WORDS = 10
_PROSE_MAX_LINK_SHARE = 1 / 3


@dataclass(slots=True)
class BlockElement:
    """A block-level element, with counts of the words below it."""

    node: LexborNode
    parent: int
    tag: str
    depth: int
    wrapper: LexborNode | None
    """The outermost of the inline elements between it and its parent, if there are any."""
    cues: tuple[str, ...]
    """The cues in its tag and attributes."""
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
class ContentBlock:
    """A run of text in one element that no block-level element interrupts."""

    owner: int
    pieces: list[str] = field(default_factory=list)
    nodes: list[LexborNode] = field(default_factory=list)
    """The children of its owner that the run consists of."""
    words: int = 0
    link_words: int = 0

    @property
    def text(self) -> str:
        """The text of the run; texts of different nodes are separated by a space."""
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
    """The elements of a page with text, in document order, its blocks and its pictures."""

    elements: list[BlockElement]
    blocks: list[ContentBlock]
    pictures: list[tuple[int, LexborNode]]
    """Each with the innermost element around it that has text."""

    @property
    def root(self) -> BlockElement:
        """The first element, which contains all others."""
        return self.elements[0]


def read_blocks(root: LexborNode) -> BlockTree:
    """Return the blocks below an element from which everything invisible has been removed."""
    reader = _Reader(root)
    reader.read()
    elements = reader.elements
    for block in reader.blocks:
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
    return BlockTree(elements, reader.blocks, reader.find_pictures())


class _TextOwner:
    """The element that owns the text of a node: itself, or for inline elements an ancestor."""

    __slots__ = ("above", "in_link", "index", "line", "node", "tag", "top")

    def __init__(
        self, node: LexborNode, tag: str, above: "_TextOwner | None", top: LexborNode | None
    ) -> None:
        self.node = node
        self.tag = tag
        self.above = above
        self.top = top
        """The outermost inline element around it, None for a block-level element."""
        # Not itself: a cycle would keep the whole tree in memory.
        self.line: _TextOwner | None = None if top is None or above is None else above.line or above
        """The block-level element around it, None for one that is block-level itself."""
        self.in_link: bool = tag == "a" or (above is not None and above.in_link)
        self.index = -1
        """Its number among the elements, once it has text."""


class _Reader:
    def __init__(self, root: LexborNode) -> None:
        self.elements: list[BlockElement] = []
        self.blocks: list[ContentBlock] = []
        self._block: ContentBlock | None = None
        self._root = _TextOwner(root, root.tag or "", None, None)
        self._places = {root.mem_id: self._root}
        self._pictures: list[_TextOwner] = []

    def read(self) -> None:
        """Read everything below the root."""
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

    def _add_element(self, node: LexborNode, above: _TextOwner) -> None:
        tag = node.tag or ""
        # A listing is one text, whatever elements mark up its lines.
        if tag in _INLINE or (above.line or above).tag == "pre":
            if tag == "br" and self._block is not None:
                self._block.pieces.append("\n")
            if above.top is not None and tag not in _APART:
                self._places[node.mem_id] = above
                return
            place = _TextOwner(node, tag, above, above.top or node)
        else:
            place = _TextOwner(node, tag, above, None)
            self._block = None
        self._places[node.mem_id] = place
        if tag in PICTURES:
            self._pictures.append(place)

    def _add_text(self, node: LexborNode, place: _TextOwner) -> None:
        text = node.text_content or ""
        words = len(text.split())
        if not words:
            return
        words += extra_words(text)
        holder = place.line or place
        owner = holder.index if holder.index >= 0 else self._number(holder)
        block = self._block
        if block is None or block.owner != owner:
            block = self._block = ContentBlock(owner)
            self.blocks.append(block)
        child = place.top or node
        if not block.nodes or block.nodes[-1].mem_id != child.mem_id:
            block.nodes.append(child)
        block.pieces.append(text)
        block.words += words
        if place.in_link:
            block.link_words += words

    def find_pictures(self) -> list[tuple[int, LexborNode]]:
        """Return the pictures of the page, after it was read."""
        found: list[tuple[int, LexborNode]] = []
        for place in self._pictures:
            above = place.line or place
            while above.index < 0 and above.above is not None:
                above = above.above.line or above.above
            if place.index < 0:
                found.append((above.index, place.node))
        return found

    def _number(self, place: _TextOwner) -> int:
        """Add an element, and its ancestors that had no text before."""
        fresh = []
        above: _TextOwner | None = place
        while above is not None and above.index < 0:
            fresh.append(above)
            above = above.above
            above = above and (above.line or above)
        for owner in reversed(fresh):
            owner.index = len(self.elements)
            holder = owner.above
            if holder is None:
                self.elements.append(BlockElement(owner.node, -1, owner.tag, 0, None, (), None))
                continue
            parent = (holder.line or holder).index
            attributes = owner.node.attributes
            cues = read_cues(owner.tag, attributes)
            depth, names = self.elements[parent].depth + 1, attributes.get("class")
            self.elements.append(
                BlockElement(owner.node, parent, owner.tag, depth, holder.top, cues, names)
            )
        return place.index


# Ancestors of a block whose distance is a feature.
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


# The lowest and highest weight of an element's own cues, and of all on the path down to it; and the
# sum along the path, in which distant ancestors count less. A plain tuple: there are thousands.
PathCues = tuple[float, float, float, float, float]


def read_paths(
    tree: BlockTree, weights: CueWeights
) -> tuple[list[tuple[int, ...]], list[PathCues]]:
    """Return, for each element, the depths of its `AROUND` ancestors and its cue weights."""
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
            found = [0.0, *(weights[cue] for cue in element.cues if cue in weights)]
            known[element.cues] = (min(found), max(found), kinds)
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
    """Return the smallest element with most of the prose, and its ancestors.

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
    """Return each element's nearest ancestor around the container, and its nearest large one.

    An element may itself be both. Large elements have a good share of the page's words.
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

"""The parsed page: its tree, its base URL, an index of its elements, and edits of the tree."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Self, TypeVar

import can_ada
from selectolax.lexbor import LexborHTMLParser, LexborNode, create_tag

from cinder.models.url import MAX_URL_LENGTH

WEB_SCHEMES = ("http:", "https:")

# Escape sequences in a title would reach the terminal that shows it.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WORD_SPLIT = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+")
_SPACED_NAME = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))


def parse_html(text: str) -> LexborHTMLParser:
    """Parse a page; every text has a tree."""
    # A lone surrogate has no UTF-8; it comes from a caller's JSON, never from a decoder.
    return LexborHTMLParser(text.encode("utf-8", "replace"))


def content_root(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the body, or the frameset page's root element, or None when it was removed."""
    return tree.body or tree.root


def document_base(tree: LexborHTMLParser, url: str) -> can_ada.URL | None:
    """Return the base URL of a page: `<base href>` if it is a web address, or else `url`.

    `url` is the page's own address; None is returned if that is no web address either.
    """
    element = tree.css_first("base[href]")
    return resolve_base(element.attributes.get("href") if element else None, url)


def resolve_base(href: str | None, url: str) -> can_ada.URL | None:
    """Return the base URL of a page whose first `<base>` has this href."""
    page = parse_http_url(url)
    base = join_url(page, href) if href else None
    return base if base is not None and base.protocol in WEB_SCHEMES else page


def parse_http_url(text: str) -> can_ada.URL | None:
    """Return an absolute http(s) URL, parsed, or None for other text."""
    parsed = join_url(None, text)
    return parsed if parsed is not None and parsed.protocol in WEB_SCHEMES else None


def join_url(base: can_ada.URL | None, reference: str) -> can_ada.URL | None:
    """Return `reference` resolved against `base`, of any scheme, or None."""
    reference = reference.strip()
    if len(reference) > MAX_URL_LENGTH:
        return None
    try:
        return base + reference if base is not None else can_ada.parse(reference)
    except ValueError:
        return None


def resolve_http_url(base: can_ada.URL | None, reference: str) -> str | None:
    """Return the absolute http(s) URL of a reference, or None."""
    joined = join_url(base, reference)
    return joined.href if joined is not None and joined.protocol in WEB_SCHEMES else None


def element_walk(root: LexborNode) -> Iterator[LexborNode]:
    """Yield `root` and every element below it, in document order."""
    return (node for node in root.traverse() if node.is_element_node)


def ancestors(node: LexborNode, limit: int) -> Iterator[LexborNode]:
    """Yield the elements around a node, the nearest first, up to a number of levels."""
    above = node.parent
    for _ in range(limit):
        if above is None:
            return
        yield above
        above = above.parent


def previous_element(node: LexborNode) -> LexborNode | None:
    """Return the sibling element before a node, if there is one."""
    before = node.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    return before


def detach(nodes: Iterable[LexborNode]) -> None:
    """Remove elements, with everything in them, from the tree; the root element stays."""
    for node in nodes:
        if node.parent is not None and node.tag != "html":
            # Not recursive: that would free nodes that other elements of the list may refer to.
            node.decompose(recursive=False)


def collapse(text: str | None) -> str:
    """Return the text with every run of white space and control characters as one space."""
    collapsed = " ".join((text or "").split())
    # Nearly all texts are printable by now, and the check is cheaper than the substitution.
    return collapsed if collapsed.isprintable() else " ".join(_CONTROLS.sub(" ", collapsed).split())


Attributes = Mapping[str, str | None]
_Key = TypeVar("_Key")


# The same classes occur many times on a page and on the pages of a site.
@lru_cache(maxsize=2_048)
def name_words(names: str) -> frozenset[str]:
    """Return the words in classes and ids, in lower case."""
    if names.isascii() and names.islower():
        words = names.translate(_SPACED_NAME).split()
        # As the pattern does: an empty word where a sign is at an end.
        is_bare = names[0].isalnum() and names[-1].isalnum()
        return frozenset(words if is_bare else (*words, ""))
    return frozenset(word.lower() for word in _WORD_SPLIT.split(names))


class Elements:
    """An index of an element and all elements below it, at the time of its creation.

    The place of an element is its number in document order. Comments and processing instructions
    are included, as elements without attributes.
    """

    def __init__(self, root: LexborNode) -> None:
        self._nodes = list(root.traverse())
        self._attributes: list[Attributes] = [node.attributes for node in self._nodes]
        # Reading the number of a tag takes half as long as reading its name.
        by_number = defaultdict[int, list[int]](list)
        for place, node in enumerate(self._nodes):
            by_number[node.tag_id].append(place)
        self._by_tag = {self._nodes[places[0]].tag: places for places in by_number.values()}
        self._first = 0

    @classmethod
    def of_page(cls, tree: LexborHTMLParser) -> Self:
        """Return all elements of a page.

        Raises:
            ValueError: it has none.
        """
        if tree.root is None:
            raise ValueError("A page without a root element.")
        return cls(tree.root)

    def within(self, root: LexborNode) -> Self:
        """Return the elements from `root` on, which must contain all that come after it.

        Raises:
            ValueError: `root` is none of the elements.
        """
        part = copy(self)
        alike = self.tagged(root.tag)
        part._first = alike[[node.mem_id for node in self.nodes(alike)].index(root.mem_id)]
        return part

    @property
    def root(self) -> LexborNode:
        """The element that contains all others."""
        return self._nodes[self._first]

    @cached_property
    def _by_attribute(self) -> Mapping[str, list[int]]:
        found = defaultdict[str, list[int]](list)
        for place, attributes in enumerate(self._attributes):
            for name in attributes:
                found[name].append(place)
        return found

    @cached_property
    def _by_class(self) -> Mapping[str | None, list[int]]:
        found = defaultdict[str | None, list[int]](list)
        for place in self._by_attribute.get("class", ()):
            found[self._attributes[place]["class"]].append(place)
        return found

    @cached_property
    def classes(self) -> frozenset[str]:
        """The values of all `class` attributes on the page."""
        return frozenset(filter(None, self._by_class))

    @cached_property
    def lower_classes(self) -> str:
        """The values of all `class` attributes on the page, in lower case, in one text."""
        return " ".join(self.classes).lower()

    def node(self, place: int) -> LexborNode:
        """Return the element at a place."""
        return self._nodes[place]

    def nodes(self, places: Iterable[int]) -> list[LexborNode]:
        """Return the elements at some places."""
        return [self._nodes[place] for place in places]

    def attributes(self, place: int) -> Attributes:
        """Return the attributes of the element at a place."""
        return self._attributes[place]

    def have_tag(self, *tags: str) -> bool:
        """Whether the page has an element of one of these tags."""
        return not self._by_tag.keys().isdisjoint(tags)

    def have_attribute(self, *names: str) -> bool:
        """Whether the page has one of these attributes."""
        return not self._by_attribute.keys().isdisjoint(names)

    def tagged(self, *tags: str | None) -> list[int]:
        """Return the places of the elements of these tags, in order."""
        return self._places(self._by_tag, tags)

    def having(self, *names: str) -> list[int]:
        """Return the places of the elements that have one of these attributes, in order."""
        return self._places(self._by_attribute, names)

    def classed(self, classes: Iterable[str | None]) -> list[int]:
        """Return the places of the elements with one of these as their whole `class`, in order."""
        return self._places(self._by_class, classes)

    def _places(self, index: Mapping[_Key, list[int]], keys: Iterable[_Key]) -> list[int]:
        """Return the places under any of the keys, each once, in order."""
        found = [index[key] for key in keys if key in index]
        if self._first:
            found = [places[bisect_left(places, self._first) :] for places in found]
        return found[0] if len(found) == 1 else sorted(set(chain.from_iterable(found)))


@cache
def _element_template(tag: str) -> LexborNode:
    # Creating an element creates a document; a copy of one costs nothing.
    return create_tag(tag)


# With a space: no parser reads such an attribute from a page.
HIDDEN_MARK = "cinder unseen"
BACKGROUND_MARK = "cinder background"
COLOUR_MARK = "cinder colour"
MARKS = (HIDDEN_MARK, BACKGROUND_MARK, COLOUR_MARK)


def set_mark(node: LexborNode, name: str, value: str) -> None:
    """Set a mark on an element: an attribute that pages cannot have."""
    # A function, because the library's type of `attrs` leaves out what it accepts.
    node.attrs[name] = value


def clear_marks(node: LexborNode) -> None:
    """Remove all marks from an element."""
    attributes = node.attributes
    for name in MARKS:
        if name in attributes:
            del node.attrs[name]


def child_nodes(node: LexborNode) -> list[LexborNode]:
    """Return the texts and elements directly in a node."""
    return list(node.iter(include_text=True))


def rename_element(node: LexborNode, tag: str) -> LexborNode:
    """Replace a node by an element of another tag, without attributes; return it."""
    new = insert_element_before(node, tag)
    move_into(new, child_nodes(node))
    detach([node])
    return new


def insert_element_before(node: LexborNode, tag: str) -> LexborNode:
    """Insert an empty element before a node and return it."""
    node.insert_before(_element_template(tag))
    new = node.prev
    if new is None:
        raise ValueError(f"No {tag} element could be inserted.")
    return new


def append_element(node: LexborNode, tag: str) -> LexborNode:
    """Insert an empty element at the end of a node and return it."""
    node.insert_child(_element_template(tag))
    new = node.last_child
    if new is None:
        raise ValueError(f"No {tag} element could be appended.")
    return new


def move_into(parent: LexborNode, nodes: Iterable[LexborNode]) -> None:
    """Move nodes to the end of a parent, in order."""
    for node in nodes:
        parent.insert_child(node, move=True)


def unwrap(node: LexborNode) -> None:
    """Replace a node by its content; an empty one is removed."""
    if node.parent is not None:
        node.unwrap(delete_empty=True)


def raw_text(node: LexborNode) -> str:
    """Return all text in a node, white space included."""
    return node.text(deep=True, separator="", strip=False)

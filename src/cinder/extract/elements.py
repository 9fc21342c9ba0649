"""The elements of a page by tag and attribute: one walk over its tree for all who look for some."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from copy import copy
from functools import cached_property
from itertools import chain
from typing import Self

from selectolax.lexbor import LexborHTMLParser, LexborNode

Attributes = Mapping[str, str | None]


class Elements:
    """An element and all below it, as they were when this was made.

    Each has a place: the number by which it comes in document order. Comments and instructions to
    processors are among them, as elements without attributes.
    """

    def __init__(self, root: LexborNode) -> None:
        self._nodes = list(root.traverse())
        self._attributes: list[Attributes] = [node.attributes for node in self._nodes]
        by_tag = defaultdict[str | None, list[int]](list)
        for place, node in enumerate(self._nodes):
            by_tag[node.tag].append(place)
        self._by_tag = by_tag
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
        """Return those from one of them on, below which stands all that comes after it.

        Raises:
            ValueError: it is none of them.
        """
        part = copy(self)
        alike = self.tagged(root.tag)
        part._first = alike[[node.mem_id for node in self.nodes(alike)].index(root.mem_id)]
        return part

    @property
    def root(self) -> LexborNode:
        """The one that holds all others."""
        return self._nodes[self._first]

    @cached_property
    def attribute_names(self) -> frozenset[str]:
        """The attributes that there are anywhere on the page."""
        return frozenset[str]().union(*self._attributes)

    @cached_property
    def classes(self) -> frozenset[str]:
        """What stands in `class` anywhere on the page."""
        said = {each["class"] for each in self._attributes if "class" in each}
        return frozenset(filter(None, said))

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
        """Whether there is an element of one of these tags anywhere on the page."""
        return not self._by_tag.keys().isdisjoint(tags)

    def have_attribute(self, *names: str) -> bool:
        """Whether there is one of these attributes anywhere on the page."""
        return not self.attribute_names.isdisjoint(names)

    def tagged(self, *tags: str | None) -> list[int]:
        """Return the places of the elements of these tags, in order."""
        found = [self._by_tag[tag] for tag in tags if tag in self._by_tag]
        if self._first:
            found = [places[bisect_left(places, self._first) :] for places in found]
        return found[0] if len(found) == 1 else sorted(chain.from_iterable(found))

    def having(self, *names: str) -> list[int]:
        """Return the places of the elements that have one of these attributes, in order."""
        wanted = self.attribute_names.intersection(names)
        places = range(self._first, len(self._nodes)) if wanted else ()
        return [place for place in places if not wanted.isdisjoint(self._attributes[place])]

    def classed(self, classes: Collection[str | None]) -> list[int]:
        """Return the places of the elements with one of these as their whole `class`, in order."""
        places = range(self._first, len(self._nodes)) if classes else ()
        return [place for place in places if self._attributes[place].get("class") in classes]

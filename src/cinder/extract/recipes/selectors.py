"""Selectors of recipes: a small part of CSS, read once and looked up over a page's elements.

A selector is a chain of parents, `div.offer > span.price`, with at most one ancestor further up:
`#main span.price`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from cinder.extract.fields.flat_page import Element, FlatPage

MAX_SELECTOR_CHARS = 300
MAX_SELECTED = 1_001
# Of all selectors together that are looked up on one page; what is beyond finds nothing.
MAX_STEPS = 3_000_000
_MAX_CHAIN = 8
_MAX_ANCESTORS = 200
_MAX_CLASSES = 12
ATTRIBUTE_VALUE = re.compile(r"[\w:./ -]{1,80}\Z")
_COMPOUND = re.compile(
    r"(?P<tag>[a-z][a-z0-9-]{0,40})?(?:#(?P<id>[\w-]{1,60}))?(?P<classes>(?:\.[\w-]{1,60}){0,4})"
    r"(?:\[(?P<name>[\w-]{1,40})=\"(?P<value>[\w:./ -]{1,80})\"\])?"
    r"(?::nth-of-type\((?P<nth>[1-9]\d{0,3})\))?"
)
_COMBINATOR = re.compile(r" > | (?![^\[]*\])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compound:
    """What one element of a selector must be."""

    tag: str = ""
    id: str = ""
    classes: tuple[str, ...] = ()
    attribute: tuple[str, str] | None = None
    nth: int | None = None
    """Its place among the elements of its tag in the same parent, from 1."""

    def __str__(self) -> str:
        id_ = f"#{self.id}" if self.id else ""
        classes = "".join(f".{name}" for name in self.classes)
        said = f'[{self.attribute[0]}="{self.attribute[1]}"]' if self.attribute else ""
        nth = f":nth-of-type({self.nth})" if self.nth else ""
        return f"{self.tag}{id_}{classes}{said}{nth}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """A chain of parents, the last of which is meant, and an ancestor of the first."""

    chain: tuple[Compound, ...]
    ancestor: Compound | None = None

    def __str__(self) -> str:
        chain = " > ".join(map(str, self.chain))
        return f"{self.ancestor} {chain}" if self.ancestor else chain


@lru_cache(maxsize=2_048)
def parse_selector(text: str) -> Selector | None:
    """Return a selector, read; None where it is none of a recipe's."""
    if len(text) > MAX_SELECTOR_CHARS:
        return None
    pieces = [_parse_compound(piece) for piece in _COMBINATOR.split(text)]
    marks = _COMBINATOR.findall(text)
    compounds = [piece for piece in pieces if piece is not None]
    if len(compounds) < len(pieces) or len(compounds) > _MAX_CHAIN or " " in marks[1:]:
        return None
    if marks and marks[0] == " ":
        return Selector(chain=tuple(compounds[1:]), ancestor=compounds[0])
    return Selector(chain=tuple(compounds))


def _parse_compound(text: str) -> Compound | None:
    found = _COMPOUND.fullmatch(text)
    if found is None or not text:
        return None
    return Compound(
        tag=found["tag"] or "",
        id=found["id"] or "",
        classes=tuple(found["classes"].split(".")[1:]),
        attribute=(found["name"], found["value"]) if found["name"] else None,
        nth=int(found["nth"]) if found["nth"] else None,
    )


def classes_of(element: Element) -> list[str]:
    """Return the classes of an element, as far as one looks."""
    return element.classes.split()[:_MAX_CLASSES]


class ElementIndex:
    """The elements of a page by what selectors name them by."""

    def __init__(self, page: FlatPage) -> None:
        self.page = page
        self._steps_left = MAX_STEPS
        self._by_key: dict[str, list[Element]] = {}
        for element in page.elements:
            for key in _keys_of(element):
                self._by_key.setdefault(key, []).append(element)

    @cached_property
    def nth_of_type(self) -> list[int]:
        """The place of each element among those of its tag in the same parent, from 1."""
        places = [1] * len(self.page.elements)
        for parent in self.page.elements:
            counts: Counter[str] = Counter()
            for child in self.page.children_of(parent):
                counts[child.tag] += 1
                places[child.index] = counts[child.tag]
        return places

    def select(
        self, selector: Selector, within: Element | None = None, limit: int = MAX_SELECTED
    ) -> list[Element]:
        """Return the elements that a selector means, in document order, the first of them.

        Those within an element come from what it holds, and so do the parents that are named.
        """
        alike = self._alike(selector.chain[-1], within)
        return list(islice((each for each in alike if self._fits(each, selector, within)), limit))

    def _alike(self, last: Compound, within: Element | None) -> Iterable[Element]:
        elements = self._by_key.get(_rarest_key(last), [])
        if within is None:
            return elements
        self._steps_left -= min(len(elements), within.end - within.index)
        if within.end - within.index < len(elements):
            return self.page.within(within)
        return (each for each in elements if within.index < each.index < within.end)

    def _fits(self, element: Element, selector: Selector, within: Element | None) -> bool:
        if self._steps_left <= 0:
            return False
        current: Element | None = element
        self._steps_left -= len(selector.chain)
        for compound in reversed(selector.chain):
            if current is None or current is within or not self._is(current, compound):
                return False
            current = self._parent(current)
        if selector.ancestor is None:
            return True
        for _ in range(_MAX_ANCESTORS):
            self._steps_left -= 1
            if current is None or current is within:
                return False
            if self._is(current, selector.ancestor):
                return True
            current = self._parent(current)
        return False

    def _parent(self, element: Element) -> Element | None:
        return self.page.elements[element.parent] if element.parent >= 0 else None

    def _is(self, element: Element, compound: Compound) -> bool:
        if compound.tag and compound.tag != element.tag:
            return False
        if compound.id and compound.id != element.attributes.get("id"):
            return False
        if compound.classes and not set(compound.classes).issubset(classes_of(element)):
            return False
        if compound.attribute and (
            element.attributes.get(compound.attribute[0]) != compound.attribute[1]
        ):
            return False
        return compound.nth is None or self.nth_of_type[element.index] == compound.nth


def _keys_of(element: Element) -> Iterator[str]:
    yield element.tag
    if id_ := element.attributes.get("id"):
        yield f"#{id_[:60]}"
    for name in dict.fromkeys(classes_of(element)):
        yield f".{name}"


def _rarest_key(compound: Compound) -> str:
    if compound.id:
        return f"#{compound.id}"
    return f".{compound.classes[0]}" if compound.classes else compound.tag

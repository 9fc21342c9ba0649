"""Parses the selectors of recipes, looks them up on a page, and builds them for elements.

A selector is a chain of children, `div.offer > span.price`, with at most one ancestor before it:
`#main span.price`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from cinder.extraction.flat_page import FlatPage, PageElement

MAX_SELECTOR_CHARS = 300
MAX_SELECTED = 1_001
# Of all selectors together that are looked up on one page; after that, selectors match nothing.
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
class CompoundSelector:
    """The conditions for one element of a selector."""

    tag: str = ""
    id: str = ""
    classes: tuple[str, ...] = ()
    attribute: tuple[str, str] | None = None
    nth: int | None = None
    """Its position among the elements of its tag in the same parent, from 1."""

    def __str__(self) -> str:
        id_ = f"#{self.id}" if self.id else ""
        classes = "".join(f".{name}" for name in self.classes)
        attribute = f'[{self.attribute[0]}="{self.attribute[1]}"]' if self.attribute else ""
        nth = f":nth-of-type({self.nth})" if self.nth else ""
        return f"{self.tag}{id_}{classes}{attribute}{nth}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeSelector:
    """A chain of children, the last of which is selected, and an ancestor of the first."""

    chain: tuple[CompoundSelector, ...]
    ancestor: CompoundSelector | None = None

    def __str__(self) -> str:
        chain = " > ".join(map(str, self.chain))
        return f"{self.ancestor} {chain}" if self.ancestor else chain


@lru_cache(maxsize=2_048)
def parse_selector(text: str) -> RecipeSelector | None:
    """Return a selector, parsed; None if recipes do not support it."""
    if len(text) > MAX_SELECTOR_CHARS:
        return None
    pieces = [_parse_compound(piece) for piece in _COMBINATOR.split(text)]
    marks = _COMBINATOR.findall(text)
    compounds = [piece for piece in pieces if piece is not None]
    if len(compounds) < len(pieces) or len(compounds) > _MAX_CHAIN or " " in marks[1:]:
        return None
    if marks and marks[0] == " ":
        return RecipeSelector(chain=tuple(compounds[1:]), ancestor=compounds[0])
    return RecipeSelector(chain=tuple(compounds))


def _parse_compound(text: str) -> CompoundSelector | None:
    found = _COMPOUND.fullmatch(text)
    if found is None or not text:
        return None
    return CompoundSelector(
        tag=found["tag"] or "",
        id=found["id"] or "",
        classes=tuple(found["classes"].split(".")[1:]),
        attribute=(found["name"], found["value"]) if found["name"] else None,
        nth=int(found["nth"]) if found["nth"] else None,
    )


def classes_of(element: PageElement) -> list[str]:
    """Return the first classes of an element."""
    return element.classes.split()[:_MAX_CLASSES]


class ElementIndex:
    """The elements of a page, indexed by tag, id and class."""

    def __init__(self, page: FlatPage) -> None:
        self.page = page
        self._steps_left = MAX_STEPS
        self._by_key: dict[str, list[PageElement]] = {}
        for element in page.elements:
            keys = [element.tag, *(f".{name}" for name in dict.fromkeys(classes_of(element)))]
            if id_ := element.attributes.get("id"):
                keys.append(f"#{id_[:60]}")
            for key in keys:
                self._by_key.setdefault(key, []).append(element)

    @cached_property
    def nth_of_type(self) -> list[int]:
        """The position of each element among those of its tag in the same parent, from 1."""
        positions = [1] * len(self.page.elements)
        for parent in self.page.elements:
            counts: Counter[str] = Counter()
            for child in self.page.children_of(parent):
                counts[child.tag] += 1
                positions[child.index] = counts[child.tag]
        return positions

    def select(
        self, selector: RecipeSelector, within: PageElement | None = None, limit: int = MAX_SELECTED
    ) -> list[PageElement]:
        """Return the first elements that match a selector, in document order.

        With `within`, all elements of the selector must be descendants of that element.
        """
        last = selector.chain[-1]
        rarest = f".{last.classes[0]}" if last.classes else last.tag
        elements = self._by_key.get(f"#{last.id}" if last.id else rarest, [])
        candidates: Iterable[PageElement] = elements
        if within is not None:
            self._steps_left -= min(len(elements), within.end - within.index)
            if within.end - within.index < len(elements):
                candidates = self.page.within(within)
            else:
                candidates = (e for e in elements if within.index < e.index < within.end)
        return list(islice((e for e in candidates if self._fits(e, selector, within)), limit))

    def _fits(
        self, element: PageElement, selector: RecipeSelector, within: PageElement | None
    ) -> bool:
        if self._steps_left <= 0:
            return False
        current: PageElement | None = element
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

    def _parent(self, element: PageElement) -> PageElement | None:
        return self.page.elements[element.parent] if element.parent >= 0 else None

    def _is(self, element: PageElement, compound: CompoundSelector) -> bool:
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


_MAX_NAME_CHARS = 60
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[-_]+")
_LETTERS_AND_DIGITS = re.compile(r"[a-z]*\d+[a-z]|[a-z]*\d{3}", re.IGNORECASE)
_NUMBERED = re.compile(r"[A-Za-z]+\d{1,2}\Z")
_VOWELS = frozenset("aeiouyAEIOUY")
_LEAST_WORD = 3
# Words about position and look, which the next redesign changes.
_LAYOUT = frozenset(
    (
        *("flex", "grid", "row", "rows", "col", "cols", "column", "columns", "container", "wrap"),
        *("wrapper", "inner", "outer", "left", "right", "center", "middle", "top", "bottom"),
        *("block", "inline", "box", "text", "font", "bold", "italic", "small", "medium", "large"),
        *("big", "light", "dark", "bg", "mt", "mb", "ml", "mr", "mx", "my", "pt", "pb", "pl"),
        *("pr", "px", "py", "sm", "md", "lg", "xl", "xs", "gap", "space", "justify", "items"),
        *("self", "border", "rounded", "shadow", "hover", "focus", "active", "first", "last"),
        *("odd", "even", "hidden", "visible", "clearfix", "clear", "float", "pull", "push"),
        *("offset", "span", "width", "w", "height", "h", "full", "auto", "none", "between"),
        *("start", "end", "leading", "tracking", "color", "red", "green", "blue", "gray", "grey"),
        *("black", "white", "muted", "uppercase", "mobile", "desktop", "tablet", "layout"),
        *("module", "component", "section", "js", "is"),
    )
)


def is_meaningful_name(name: str) -> bool:
    """Whether a class or an id describes the content, and is likely to last."""
    if len(name) > _MAX_NAME_CHARS or not _PLAIN.match(name):
        return False
    parts = [part for part in _PARTS.split(name) if part]
    if any(_LETTERS_AND_DIGITS.match(part) and not _NUMBERED.match(part) for part in parts):
        return False
    words = [part for part in parts if not part.isdigit()]
    has_word = any(len(word) >= _LEAST_WORD and not _VOWELS.isdisjoint(word) for word in words)
    return has_word and not all(word.lower() in _LAYOUT for word in words)


# Attributes for programs that look elements up, the most widely used first.
_NAMING_ATTRIBUTES = (
    *("itemprop", "data-testid", "data-test", "data-qa", "data-field", "data-name", "data-label"),
    *("data-role", "data-type", "property", "rel"),
)
_TELLING_TAGS = frozenset(("main", "article", "header", "h1", "time", "address", "figure"))
_MAX_GIVEN = 3
_MAX_NAMED_ANCESTORS = 8
_MAX_PARENTS = 4
_MAX_HOLDER_NAMES = 2
_MAX_STEPS_FROM_ROOT = 8


def names_of(element: PageElement) -> Iterator[CompoundSelector]:
    """Yield selectors of an element by its tag and a name, the most reliable first."""
    id_ = element.attributes.get("id") or ""
    if is_meaningful_name(id_):
        yield CompoundSelector(tag=element.tag, id=id_)
    for attribute in _NAMING_ATTRIBUTES:
        name = element.attributes.get(attribute)
        if name and ATTRIBUTE_VALUE.match(name) and not any(map(str.isdigit, name)):
            yield CompoundSelector(tag=element.tag, attribute=(attribute, name))
    classes = [name for name in classes_of(element) if is_meaningful_name(name)][:_MAX_GIVEN]
    for name in classes:
        yield CompoundSelector(tag=element.tag, classes=(name,))
    if len(classes) > 1:
        yield CompoundSelector(tag=element.tag, classes=tuple(classes))
    if element.tag in _TELLING_TAGS:
        yield CompoundSelector(tag=element.tag)


def named_selectors(
    index: ElementIndex, element: PageElement, within: PageElement | None = None
) -> Iterator[RecipeSelector]:
    """Yield selectors of an element by its own names, then by those of its ancestors as well."""
    own = list(names_of(element))
    if "itemprop" in element.attributes:
        # A property such as `name` needs the property of the item that it belongs to.
        for ancestor in _ancestors(index, element, within):
            if ancestor.attribute and ancestor.attribute[0] == "itemprop":
                yield from (RecipeSelector(chain=(each,), ancestor=ancestor) for each in own)
    for compound in own:
        yield RecipeSelector(chain=(compound,))
    for compound in own:
        for ancestor in _ancestors(index, element, within):
            yield RecipeSelector(chain=(compound,), ancestor=ancestor)


def labelled_selectors(element: PageElement) -> Iterator[RecipeSelector]:
    """Yield selectors of an element that is identified by its label."""
    for compound in (*names_of(element), CompoundSelector(tag=element.tag)):
        yield RecipeSelector(chain=(compound,))


def bare_selectors(
    index: ElementIndex, element: PageElement, within: PageElement | None = None
) -> Iterator[RecipeSelector]:
    """Yield selectors of an element by its tag and the names of its ancestors."""
    for ancestor in _ancestors(index, element, within):
        yield RecipeSelector(chain=(CompoundSelector(tag=element.tag),), ancestor=ancestor)


def placed_selectors(
    index: ElementIndex, element: PageElement, within: PageElement | None = None
) -> Iterator[RecipeSelector]:
    """Yield selectors of an element by its position among its siblings."""
    if within is not None:
        yield RecipeSelector(chain=(CompoundSelector(tag=element.tag),))
    steps: list[CompoundSelector] = []
    current = element
    for _ in range(_MAX_PARENTS if within is None else _MAX_STEPS_FROM_ROOT):
        nth = index.nth_of_type[current.index]
        steps.insert(0, CompoundSelector(tag=current.tag, nth=nth))
        if within is not None:
            yield RecipeSelector(chain=tuple(steps))
        parent = index.page.elements[current.parent] if current.parent >= 0 else None
        if parent is None or parent is within:
            return
        for name in list(names_of(parent))[:_MAX_HOLDER_NAMES] if within is None else ():
            yield RecipeSelector(chain=(name, *steps))
        current = parent


def record_selectors(index: ElementIndex, records: list[PageElement]) -> Iterator[RecipeSelector]:
    """Yield selectors by names for all of some elements, which have one parent."""
    shared = _shared_names(records)
    for name in shared:
        yield RecipeSelector(chain=(name,))
    parent = index.page.elements[records[0].parent]
    for name in (*shared, CompoundSelector(tag=records[0].tag)):
        for holder in list(names_of(parent))[:_MAX_HOLDER_NAMES]:
            yield RecipeSelector(chain=(holder, name))
        for ancestor in _ancestors(index, parent, None):
            yield RecipeSelector(chain=(name,), ancestor=ancestor)


def labelled_record_selectors(
    index: ElementIndex, records: list[PageElement]
) -> Iterator[RecipeSelector]:
    """Yield selectors of records that are identified by the label of their list."""
    parent = index.page.elements[records[0].parent]
    yield RecipeSelector(
        chain=(CompoundSelector(tag=parent.tag), CompoundSelector(tag=records[0].tag))
    )


def placed_record_selectors(
    index: ElementIndex, records: list[PageElement]
) -> Iterator[RecipeSelector]:
    """Yield selectors of records by the position of their parent."""
    name = next(iter(_shared_names(records)), CompoundSelector(tag=records[0].tag))
    for placed in placed_selectors(index, index.page.elements[records[0].parent]):
        yield RecipeSelector(chain=(*placed.chain, name))


def _shared_names(records: list[PageElement]) -> list[CompoundSelector]:
    names = [name for name in names_of(records[0]) if not name.id]
    return [name for name in names if all(name in list(names_of(each)) for each in records)]


def _ancestors(
    index: ElementIndex, element: PageElement, within: PageElement | None
) -> Iterator[CompoundSelector]:
    current = element
    for _ in range(_MAX_NAMED_ANCESTORS):
        if current.parent < 0:
            return
        current = index.page.elements[current.parent]
        if current is within:
            return
        yield from list(names_of(current))[:_MAX_HOLDER_NAMES]

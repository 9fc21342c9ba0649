"""Parses the selectors of recipes, looks them up on a page, and builds them for elements.

A selector is a chain of parents, `div.offer > span.price`, with at most one ancestor further up:
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
class CompoundSelector:
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
class RecipeSelector:
    """A chain of parents, the last of which is meant, and an ancestor of the first."""

    chain: tuple[CompoundSelector, ...]
    ancestor: CompoundSelector | None = None

    def __str__(self) -> str:
        chain = " > ".join(map(str, self.chain))
        return f"{self.ancestor} {chain}" if self.ancestor else chain


@lru_cache(maxsize=2_048)
def parse_selector(text: str) -> RecipeSelector | None:
    """Return a selector, read; None where it is none of a recipe's."""
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
    """Return the classes of an element, as far as one looks."""
    return element.classes.split()[:_MAX_CLASSES]


class ElementIndex:
    """The elements of a page by what selectors name them by."""

    def __init__(self, page: FlatPage) -> None:
        self.page = page
        self._steps_left = MAX_STEPS
        self._by_key: dict[str, list[PageElement]] = {}
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
        self, selector: RecipeSelector, within: PageElement | None = None, limit: int = MAX_SELECTED
    ) -> list[PageElement]:
        """Return the elements that a selector means, in document order, the first of them.

        Those within an element come from what it holds, and so do the parents that are named.
        """
        alike = self._alike(selector.chain[-1], within)
        return list(islice((each for each in alike if self._fits(each, selector, within)), limit))

    def _alike(self, last: CompoundSelector, within: PageElement | None) -> Iterable[PageElement]:
        elements = self._by_key.get(_rarest_key(last), [])
        if within is None:
            return elements
        self._steps_left -= min(len(elements), within.end - within.index)
        if within.end - within.index < len(elements):
            return self.page.within(within)
        return (each for each in elements if within.index < each.index < within.end)

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


def _keys_of(element: PageElement) -> Iterator[str]:
    yield element.tag
    if id_ := element.attributes.get("id"):
        yield f"#{id_[:60]}"
    for name in dict.fromkeys(classes_of(element)):
        yield f".{name}"


def _rarest_key(compound: CompoundSelector) -> str:
    if compound.id:
        return f"#{compound.id}"
    return f".{compound.classes[0]}" if compound.classes else compound.tag


_MAX_NAME_CHARS = 60
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[-_]+")
_LETTERS_AND_DIGITS = re.compile(r"[a-z]*\d+[a-z]|[a-z]*\d{3}", re.IGNORECASE)
_NUMBERED = re.compile(r"[A-Za-z]+\d{1,2}\Z")
_VOWELS = frozenset("aeiouyAEIOUY")
_LEAST_WORD = 3
# Words that tell where a thing stands and how it looks, which the next redesign changes.
_LAYOUT = frozenset(
    (
        *("flex", "grid", "row", "rows", "col", "cols", "column", "columns", "container", "wrap"),
        *(
            "wrapper",
            "inner",
            "outer",
            "left",
            "right",
            "center",
            "middle",
            "top",
            "bottom",
            "block",
        ),
        *("inline", "box", "text", "font", "bold", "italic", "small", "medium", "large", "big"),
        *("light", "dark", "bg", "mt", "mb", "ml", "mr", "mx", "my", "pt", "pb", "pl", "pr", "px"),
        *("py", "sm", "md", "lg", "xl", "xs", "gap", "space", "justify", "items", "self", "border"),
        *(
            "rounded",
            "shadow",
            "hover",
            "focus",
            "active",
            "first",
            "last",
            "odd",
            "even",
            "hidden",
        ),
        *("visible", "clearfix", "clear", "float", "pull", "push", "offset", "span", "width", "w"),
        *("height", "h", "full", "auto", "none", "between", "start", "end", "leading", "tracking"),
        *("color", "red", "green", "blue", "gray", "grey", "black", "white", "muted", "uppercase"),
        *("mobile", "desktop", "tablet", "layout", "module", "component", "section", "js", "is"),
    )
)


# A page repeats its classes, and a site's pages share them.
@lru_cache(maxsize=4_096)
def is_meaningful_name(name: str) -> bool:
    """Whether a class or an id is one that says what a thing is, and likely to stay."""
    if len(name) > _MAX_NAME_CHARS or not _PLAIN.match(name):
        return False
    parts = [part for part in _PARTS.split(name) if part]
    if any(_LETTERS_AND_DIGITS.match(part) and not _NUMBERED.match(part) for part in parts):
        return False
    words = [part for part in parts if not part.isdigit()]
    return any(_is_word(word) for word in words) and not all(
        word.lower() in _LAYOUT for word in words
    )


def _is_word(part: str) -> bool:
    return len(part) >= _LEAST_WORD and not _VOWELS.isdisjoint(part)


# What is written for machines that find things by it, first what is written for all of them.
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
    """Yield what names an element by itself, the surest first; its tag is part of it."""
    id_ = element.attributes.get("id") or ""
    if is_meaningful_name(id_):
        yield CompoundSelector(tag=element.tag, id=id_)
    for attribute in _NAMING_ATTRIBUTES:
        said = element.attributes.get(attribute)
        if said and ATTRIBUTE_VALUE.match(said) and not any(each.isdigit() for each in said):
            yield CompoundSelector(tag=element.tag, attribute=(attribute, said))
    given = [name for name in classes_of(element) if is_meaningful_name(name)][:_MAX_GIVEN]
    for name in given:
        yield CompoundSelector(tag=element.tag, classes=(name,))
    if len(given) > 1:
        yield CompoundSelector(tag=element.tag, classes=tuple(given))
    if element.tag in _TELLING_TAGS:
        yield CompoundSelector(tag=element.tag)


def named_selectors(
    index: ElementIndex, element: PageElement, within: PageElement | None = None
) -> Iterator[RecipeSelector]:
    """Yield selectors of an element by its own names, then by those of what holds it as well."""
    own = list(names_of(element))
    if "itemprop" in element.attributes:
        # Everything has a name: of what, the property says that holds it.
        for ancestor in _ancestors(index, element, within):
            if ancestor.attribute and ancestor.attribute[0] == "itemprop":
                yield from (RecipeSelector(chain=(each,), ancestor=ancestor) for each in own)
    for compound in own:
        yield RecipeSelector(chain=(compound,))
    for compound in own:
        for ancestor in _ancestors(index, element, within):
            yield RecipeSelector(chain=(compound,), ancestor=ancestor)


def labelled_selectors(element: PageElement) -> Iterator[RecipeSelector]:
    """Yield selectors of an element that leave it to its label to tell it from others."""
    for compound in (*names_of(element), CompoundSelector(tag=element.tag)):
        yield RecipeSelector(chain=(compound,))


def bare_selectors(
    index: ElementIndex, element: PageElement, within: PageElement | None = None
) -> Iterator[RecipeSelector]:
    """Yield selectors of an element by its tag and the names of what holds it."""
    for ancestor in _ancestors(index, element, within):
        yield RecipeSelector(chain=(CompoundSelector(tag=element.tag),), ancestor=ancestor)


def placed_selectors(
    index: ElementIndex, element: PageElement, within: PageElement | None = None
) -> Iterator[RecipeSelector]:
    """Yield selectors of an element that rest on its place among others."""
    if within is not None:
        yield RecipeSelector(chain=(CompoundSelector(tag=element.tag),))
    steps: list[CompoundSelector] = []
    current = element
    for _ in range(_MAX_PARENTS if within is None else _MAX_STEPS_FROM_ROOT):
        steps.insert(0, _placed(index, current))
        if within is not None:
            yield RecipeSelector(chain=tuple(steps))
        parent = index.page.elements[current.parent] if current.parent >= 0 else None
        if parent is None or parent is within:
            return
        for name in list(names_of(parent))[:_MAX_HOLDER_NAMES] if within is None else ():
            yield RecipeSelector(chain=(name, *steps))
        current = parent


def record_selectors(index: ElementIndex, records: list[PageElement]) -> Iterator[RecipeSelector]:
    """Yield selectors by names that may mean all of some elements, which have one parent."""
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
    """Yield selectors that leave it to the label of a list to tell its records from others."""
    parent = index.page.elements[records[0].parent]
    yield RecipeSelector(
        chain=(CompoundSelector(tag=parent.tag), CompoundSelector(tag=records[0].tag))
    )


def placed_record_selectors(
    index: ElementIndex, records: list[PageElement]
) -> Iterator[RecipeSelector]:
    """Yield selectors of records by the place of what holds them."""
    name = next(iter(_shared_names(records)), CompoundSelector(tag=records[0].tag))
    for placed in placed_selectors(index, index.page.elements[records[0].parent]):
        yield RecipeSelector(chain=(*placed.chain, name))


def _shared_names(records: list[PageElement]) -> list[CompoundSelector]:
    names = [name for name in names_of(records[0]) if not name.id]
    return [name for name in names if all(name in list(names_of(each)) for each in records)]


def _ancestors(
    index: ElementIndex, element: PageElement, within: PageElement | None
) -> Iterator[CompoundSelector]:
    for holder in _holders(index, element, within):
        yield from list(names_of(holder))[:_MAX_HOLDER_NAMES]


def _placed(index: ElementIndex, element: PageElement) -> CompoundSelector:
    return CompoundSelector(tag=element.tag, nth=index.nth_of_type[element.index])


def _holders(
    index: ElementIndex, element: PageElement, within: PageElement | None
) -> Iterator[PageElement]:
    current = element
    for _ in range(_MAX_NAMED_ANCESTORS):
        if current.parent < 0:
            return
        current = index.page.elements[current.parent]
        if current is within:
            return
        yield current

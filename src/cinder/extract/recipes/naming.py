"""Names elements by short selectors that are likely to mean their like on a site's other pages."""

from collections.abc import Iterator

from cinder.extract.fields.flat_page import Element
from cinder.extract.recipes.names import is_given_name
from cinder.extract.recipes.selectors import (
    ATTRIBUTE_VALUE,
    Compound,
    ElementIndex,
    Selector,
    classes_of,
)

# What is written for machines that find things by it, first what is written for all of them.
_NAMING_ATTRIBUTES = (
    *("itemprop", "data-testid", "data-test", "data-qa", "data-field", "data-name", "data-label"),
    *("data-role", "data-type", "property", "rel"),
)
_TELLING_TAGS = frozenset(("main", "article", "header", "h1", "time", "address", "figure"))
_MAX_GIVEN = 3
_MAX_ANCESTORS = 8
_MAX_PARENTS = 4
_MAX_HOLDER_NAMES = 2
_MAX_STEPS_FROM_ROOT = 8


def names_of(element: Element) -> Iterator[Compound]:
    """Yield what names an element by itself, the surest first; its tag is part of it."""
    id_ = element.attributes.get("id") or ""
    if is_given_name(id_):
        yield Compound(tag=element.tag, id=id_)
    for attribute in _NAMING_ATTRIBUTES:
        said = element.attributes.get(attribute)
        if said and ATTRIBUTE_VALUE.match(said) and not any(each.isdigit() for each in said):
            yield Compound(tag=element.tag, attribute=(attribute, said))
    given = [name for name in classes_of(element) if is_given_name(name)][:_MAX_GIVEN]
    for name in given:
        yield Compound(tag=element.tag, classes=(name,))
    if len(given) > 1:
        yield Compound(tag=element.tag, classes=tuple(given))
    if element.tag in _TELLING_TAGS:
        yield Compound(tag=element.tag)


def named_selectors(
    index: ElementIndex, element: Element, within: Element | None = None
) -> Iterator[Selector]:
    """Yield selectors of an element by its own names, then by those of what holds it as well."""
    own = list(names_of(element))
    if "itemprop" in element.attributes:
        # Everything has a name: of what, the property says that holds it.
        for ancestor in _ancestors(index, element, within):
            if ancestor.attribute and ancestor.attribute[0] == "itemprop":
                yield from (Selector(chain=(each,), ancestor=ancestor) for each in own)
    for compound in own:
        yield Selector(chain=(compound,))
    for compound in own:
        for ancestor in _ancestors(index, element, within):
            yield Selector(chain=(compound,), ancestor=ancestor)


def labelled_selectors(element: Element) -> Iterator[Selector]:
    """Yield selectors of an element that leave it to its label to tell it from others."""
    for compound in (*names_of(element), Compound(tag=element.tag)):
        yield Selector(chain=(compound,))


def bare_selectors(
    index: ElementIndex, element: Element, within: Element | None = None
) -> Iterator[Selector]:
    """Yield selectors of an element by its tag and the names of what holds it."""
    for ancestor in _ancestors(index, element, within):
        yield Selector(chain=(Compound(tag=element.tag),), ancestor=ancestor)


def placed_selectors(
    index: ElementIndex, element: Element, within: Element | None = None
) -> Iterator[Selector]:
    """Yield selectors of an element that rest on its place among others."""
    if within is not None:
        yield Selector(chain=(Compound(tag=element.tag),))
    steps: list[Compound] = []
    current = element
    for _ in range(_MAX_PARENTS if within is None else _MAX_STEPS_FROM_ROOT):
        steps.insert(0, _placed(index, current))
        if within is not None:
            yield Selector(chain=tuple(steps))
        parent = index.page.elements[current.parent] if current.parent >= 0 else None
        if parent is None or parent is within:
            return
        for name in list(names_of(parent))[:_MAX_HOLDER_NAMES] if within is None else ():
            yield Selector(chain=(name, *steps))
        current = parent


def record_selectors(index: ElementIndex, records: list[Element]) -> Iterator[Selector]:
    """Yield selectors by names that may mean all of some elements, which have one parent."""
    shared = _shared_names(records)
    for name in shared:
        yield Selector(chain=(name,))
    parent = index.page.elements[records[0].parent]
    for name in (*shared, Compound(tag=records[0].tag)):
        for holder in list(names_of(parent))[:_MAX_HOLDER_NAMES]:
            yield Selector(chain=(holder, name))
        for ancestor in _ancestors(index, parent, None):
            yield Selector(chain=(name,), ancestor=ancestor)


def labelled_record_selectors(index: ElementIndex, records: list[Element]) -> Iterator[Selector]:
    """Yield selectors that leave it to the label of a list to tell its records from others."""
    parent = index.page.elements[records[0].parent]
    yield Selector(chain=(Compound(tag=parent.tag), Compound(tag=records[0].tag)))


def placed_record_selectors(index: ElementIndex, records: list[Element]) -> Iterator[Selector]:
    """Yield selectors of records by the place of what holds them."""
    name = next(iter(_shared_names(records)), Compound(tag=records[0].tag))
    for placed in placed_selectors(index, index.page.elements[records[0].parent]):
        yield Selector(chain=(*placed.chain, name))


def _shared_names(records: list[Element]) -> list[Compound]:
    names = [name for name in names_of(records[0]) if not name.id]
    return [name for name in names if all(name in list(names_of(each)) for each in records)]


def _ancestors(index: ElementIndex, element: Element, within: Element | None) -> Iterator[Compound]:
    for holder in _holders(index, element, within):
        yield from list(names_of(holder))[:_MAX_HOLDER_NAMES]


def _placed(index: ElementIndex, element: Element) -> Compound:
    return Compound(tag=element.tag, nth=index.nth_of_type[element.index])


def _holders(index: ElementIndex, element: Element, within: Element | None) -> Iterator[Element]:
    current = element
    for _ in range(_MAX_ANCESTORS):
        if current.parent < 0:
            return
        current = index.page.elements[current.parent]
        if current is within:
            return
        yield current

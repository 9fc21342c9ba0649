"""Labelled values that a page lays out: definition lists, lines, rows of two, headings."""

from collections.abc import Iterator
from itertools import islice

from cinder.extract.fields.candidates import MAX_TEXT_CHARS, Candidate, CandidateList
from cinder.extract.fields.flat_page import Element, FlatPage
from cinder.extract.fields.labels import (
    is_label,
    labelled_parts,
    split_dash,
    split_label,
    without_colon,
)
from cinder.extract.fields.words import words_of
from cinder.model.extracted_data import Method

MAX_ITEMS = 500
_MAX_VALUE_CHARS = 600
_MAX_DEFINITIONS = 100
_BOLD = frozenset(("b", "strong"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "legend", "caption"))
_LISTS = frozenset(("ul", "ol"))
_REVERSED = 0.85
_UNMARKED = 0.9
_PAIR = 2
_MAX_PARTS = 10
# What a class alone calls so, and is longer, is the layout of something else.
_MAX_NAMED_CHARS = 80


def read_definitions(page: FlatPage, term: Element) -> tuple[list[Candidate], list[CandidateList]]:
    """Return what follows a `dt`: one value, or several."""
    label = page.text_of(term, 200)
    found: list[Candidate] = []
    following = page.next_sibling(term)
    for _ in range(_MAX_DEFINITIONS):
        if following is None or following.tag != "dd":
            break
        found += _valued(page, label, following, Method.DEFINITION_LIST)
        following = page.next_sibling(following)
    if len(found) > 1:
        return found[:1], [_listed(label, found, term)]
    lists = list(_list_within(page, label, found)) if found else []
    return found, lists


def _list_within(page: FlatPage, label: str, found: list[Candidate]) -> Iterator[CandidateList]:
    holder = page.elements[found[0].at]
    for inner in page.children_of(holder):
        if inner.tag in _LISTS:
            yield from _item_list(page, label, inner, Method.DEFINITION_LIST)


def read_lines(page: FlatPage, block: Element) -> Iterator[Candidate]:
    """Yield what the lines of a block without blocks say with a colon, a dash or bold words."""
    for line in islice(page.lines_of(block), 50):
        said = False
        for label, value in labelled_parts(line):
            said = True
            yield _candidate(label, value, block, Method.LABEL)
        if not said and (pair := split_dash(line)):
            yield _candidate(*pair, block, Method.LABEL, weight=_UNMARKED)
    yield from _bold_pair(page, block)


def _bold_pair(page: FlatPage, block: Element) -> Iterator[Candidate]:
    """Yield `<b>Label</b> value`, which needs no colon."""
    children = page.children_of(block)
    if not children or children[0].tag not in _BOLD or not block.has_own_text:
        return
    label, text = page.text_of(children[0], 200), page.text_of(block)
    value = text.removeprefix(label).strip(" :-\u2013\u2014")
    if value != text and value and is_label(label):
        yield _candidate(label, value, block, Method.LABEL, weight=_UNMARKED)


def read_rows_of_two(page: FlatPage, block: Element) -> Iterator[Candidate]:
    """Yield what a block with just two children says: a label and its value, in either order."""
    # Icons and other pictures hold no text.
    children = [each for each in page.children_of(block)[:_MAX_PARTS] if each.stop > each.start]
    if len(children) != _PAIR or block.has_own_text or block.tag in ("tr", "dl"):
        return
    first, second = children
    if first.holds_blocks or first.tag in _HEADINGS or page.length_of(second) > _MAX_VALUE_CHARS:
        return
    label, value = page.text_of(first, 200), page.text_of(second)
    if label and value and split_label(label) is None:
        if is_label(label):
            yield _candidate(label, value, second, Method.LABEL)
        if is_label(value) and first.tag != "dt":
            yield _candidate(value, label, first, Method.LABEL, weight=_REVERSED)


def read_alternating(page: FlatPage, block: Element) -> Iterator[Candidate]:
    """Yield the pairs of a grid, where labels and values alternate and differ in class or tag."""
    children = page.children_of(block)
    if len(children) < 2 * _PAIR or len(children) % _PAIR or len(children) > 2 * MAX_ITEMS:
        return
    looks = {(each.tag, each.classes) for each in children[::2]}
    others = {(each.tag, each.classes) for each in children[1::2]}
    if len(looks) != 1 or len(others) != 1 or looks == others or block.tag in ("dl", "tr"):
        return
    if any(each.holds_blocks for each in children):
        return
    for label, value in zip(children[::2], children[1::2], strict=True):
        if is_label(said := page.text_of(label, 200)) and label.tag not in _HEADINGS:
            yield from _valued(page, said, value, Method.LABEL)


def read_headed(page: FlatPage, heading: Element) -> tuple[list[Candidate], list[CandidateList]]:
    """Return what stands right after a heading, or a bold line: a short text, or a list."""
    label = page.text_of(heading, 200)
    following = page.next_sibling(heading)
    if following is None or not is_label(label) or following.tag in _HEADINGS:
        return [], []
    is_list = following.tag in _LISTS or _is_inline_list(page, following)
    lists = following if is_list else _only_list(page, following)
    if lists is not None:
        return [], list(_item_list(page, label, lists, Method.HEADING))
    if following.holds_blocks or following.tag in ("table", "dl"):
        return [], []
    return list(_valued(page, label, following, Method.HEADING)), []


def _is_inline_list(page: FlatPage, element: Element) -> bool:
    """Whether an element holds nothing but inline elements of one tag: tags, as a rule."""
    children = page.children_of(element)
    if len(children) < _PAIR or element.has_own_text or element.holds_blocks:
        return False
    return len({each.tag for each in children}) == 1 and not children[0].is_block


def _only_list(page: FlatPage, element: Element) -> Element | None:
    children = page.children_of(element)
    return children[0] if len(children) == 1 and children[0].tag in _LISTS else None


def is_heading(page: FlatPage, element: Element) -> bool:
    """Whether an element is a heading, or a paragraph that is bold as a whole."""
    if element.tag in _HEADINGS:
        return True
    if element.tag not in ("p", "div") or element.has_own_text or len(element.children) != 1:
        return False
    return page.elements[element.children[0]].tag in _BOLD


def _item_list(
    page: FlatPage, label: str, element: Element, method: Method
) -> Iterator[CandidateList]:
    items = [
        _candidate(label, text, item, method)
        for item in page.children_of(element)[:MAX_ITEMS]
        if (item.tag == "li" or not item.is_block) and (text := page.text_of(item))
    ]
    if items:
        yield _listed(label, items, element)


def read_named_lists(page: FlatPage, element: Element) -> Iterator[CandidateList]:
    """Yield a list whose class says what it lists."""
    names = f"{element.classes} {element.attributes.get('id') or ''}".strip()
    if names and (element.tag in _LISTS or _is_inline_list(page, element)):
        for found in _item_list(page, names, element, Method.NAMED_ELEMENT):
            if all(len(item.text) <= _MAX_NAMED_CHARS for item in found.items):
                yield found


def _listed(label: str, items: list[Candidate], element: Element) -> CandidateList:
    said = without_colon(label)
    return CandidateList(
        items=tuple(items),
        label=words_of(said),
        said=said,
        at=element.index,
        is_chrome=element.is_chrome,
    )


def _valued(page: FlatPage, label: str, element: Element, method: Method) -> Iterator[Candidate]:
    text = page.text_of(element)
    if text and is_label(label):
        yield _candidate(label, text, element, method)


def _candidate(
    label: str, text: str, element: Element, method: Method, *, weight: float = 1.0
) -> Candidate:
    said = without_colon(label)
    return Candidate(
        text=text[:MAX_TEXT_CHARS],
        label=words_of(said),
        said=said,
        method=method,
        at=element.index,
        weight=weight,
        is_chrome=element.is_chrome,
    )

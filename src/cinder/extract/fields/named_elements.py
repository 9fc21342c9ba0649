"""Elements whose classes, ids or attributes name what they hold, and texts of a telling form."""

import re
from collections.abc import Iterator
from dataclasses import replace

from cinder.extract.fields.candidates import Candidate
from cinder.extract.fields.flat_page import Element, FlatPage
from cinder.extract.fields.labels import split_label
from cinder.extract.fields.typed_texts import find_email, find_price, find_rating, find_stock
from cinder.extract.fields.words import Words, words_of
from cinder.model.extracted_data import Method

_MAX_VALUE_CHARS = 400
_MAX_HELD = 12
_MAX_NAMES = 6
_NAMING = ("id", "data-testid", "data-field", "data-name", "data-label", "property", "rel")
_SAYING = ("data-value", "data-price", "data-rating", "data-sku", "data-date")
_NEVER_NAMED = frozenset(("html", "body", "main", "table", "tbody", "thead", "ul", "ol", "dl"))
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# Classes that say how something is laid out as often as what it is.
_LAYOUT_NAMES = frozenset(
    (
        *("about", "cell", "channel", "close", "content", "cover", "details", "display", "end"),
        *("group", "host", "item", "label", "left", "level", "link", "main", "make", "media"),
        *("module", "open", "overview", "page", "period", "position", "post", "right", "role"),
        *("score", "screen", "section", "site", "size", "start", "state", "term", "text"),
        *("title", "top", "unit", "was", "when", "where"),
    )
)
_MAX_LAYOUT_CHARS = 40
_BLOCK_PART = re.compile(r"__|--")
_TYPED = (
    (find_price, "price"),
    (find_rating, "rating"),
    (find_email, "email"),
    (find_stock, "in stock"),
)
_SECOND = 0.75
_LINK_SCHEMES = {"mailto:": "email", "tel:": "phone"}
_MAX_ADDRESS_CHARS = 2_000


def read_named(page: FlatPage, element: Element) -> Iterator[Candidate]:
    """Yield what an element of few parts holds, under each of its names."""
    names = list(_names_of(element))
    if not names or element.tag in _NEVER_NAMED:
        return
    if page.length_of(element) > _MAX_VALUE_CHARS or element.end - element.index > _MAX_HELD:
        return
    text = page.text_of(element)
    if pair := split_label(text):
        text = pair[1]
    is_short = len(text) <= _MAX_LAYOUT_CHARS and not element.holds_blocks
    for name in names if text else ():
        if (label := words_of(name)) and (is_short or name.lower() not in _LAYOUT_NAMES):
            yield _candidate(element, text, label, name, Method.NAMED_ELEMENT)


def _names_of(element: Element) -> Iterator[str]:
    for token in element.classes.split()[:_MAX_NAMES]:
        # What stands before is the block that the element is a part of.
        yield _BLOCK_PART.split(token)[-1] if "__" in token else token.partition("--")[0]
    for attribute in _NAMING:
        if said := element.attributes.get(attribute):
            yield said[:100]


def read_attributes(element: Element) -> Iterator[Candidate]:
    """Yield what attributes say: addresses, dates, machine-readable values."""
    attributes = element.attributes
    for name in _SAYING:
        if said := attributes.get(name):
            label = words_of(name.removeprefix("data-"))
            named = next(_names_of(element), "") if name == "data-value" else ""
            yield _candidate(element, said[:_MAX_VALUE_CHARS], words_of(named) or label, name)
    if element.tag == "time" and (when := attributes.get("datetime")):
        yield _candidate(element, when[:100], words_of("date"), "datetime", Method.TYPED)
    if element.tag == "a" and (address := attributes.get("href")):
        yield from _linked(element, address[:_MAX_ADDRESS_CHARS])
    if element.tag == "img" and (source := attributes.get("src")):
        yield _candidate(element, source[:_MAX_ADDRESS_CHARS], words_of("image"), "src")
    if spoken := attributes.get("aria-label"):
        yield from _typed(element, spoken[:_MAX_VALUE_CHARS])


def _linked(element: Element, address: str) -> Iterator[Candidate]:
    for scheme, meaning in _LINK_SCHEMES.items():
        if address.lower().startswith(scheme):
            said = address[len(scheme) :].partition("?")[0]
            yield _candidate(element, said, words_of(meaning), scheme, Method.TYPED)
            return
    yield _candidate(element, address, words_of("url"), "href")


def read_typed(page: FlatPage, block: Element) -> Iterator[Candidate]:
    """Yield the prices, ratings and addresses that the text of a block without blocks holds."""
    return _typed(block, page.text_of(block, _MAX_VALUE_CHARS))


def _typed(element: Element, text: str) -> Iterator[Candidate]:
    for find, meaning in _TYPED:
        if found := find(text):
            yield _candidate(element, found, words_of(meaning), "", Method.TYPED)


def read_heading(page: FlatPage, element: Element) -> Iterator[Candidate]:
    """Yield the page's own heading as its name."""
    # The mark of a link to the heading itself is not part of it.
    if element.tag == "h1" and (text := page.text_of(element, 500).rstrip("\u00b6# ")):
        yield _candidate(element, text, words_of("name"), element.tag, Method.HEADING)


def read_address(page: FlatPage, element: Element) -> Iterator[Candidate]:
    """Yield a postal address as it stands, and its lines divided, for it to be taken apart."""
    is_named = element.tag == "address" or "address" in element.classes.lower()
    if not is_named or page.length_of(element) > _MAX_VALUE_CHARS:
        return
    text, divided = page.text_of(element), ", ".join(page.lines_of(element))
    address = _candidate(element, text, words_of("address"), element.tag)
    yield address
    if divided != text:
        yield replace(address, text=divided, weight=_SECOND)


def name_of_record(page: FlatPage, first: int, end: int) -> Candidate | None:
    """Return what names a record: its heading, else its first bold or linked text, else a line."""
    elements = page.elements[first : min(end, first + 60)]
    for tags in (_HEADINGS, ("b", "strong", "a"), ("td", "span", "p", "div", "li")):
        for element in elements:
            is_innermost = element.has_own_text or tags is _HEADINGS
            if element.tag in tags and is_innermost and not element.holds_blocks:
                text = next(page.lines_of(element, 300), "")
                if text and split_label(text) is None:
                    weight = 1.0 if tags is _HEADINGS else _SECOND
                    return _named(element, text, weight)
    return None


def _named(element: Element, text: str, weight: float) -> Candidate:
    return Candidate(
        text=text,
        label=words_of("name"),
        method=Method.HEADING,
        at=element.index,
        weight=weight,
        is_record_only=True,
    )


def _candidate(
    element: Element,
    text: str,
    label: Words,
    said: str,
    method: Method = Method.NAMED_ELEMENT,
) -> Candidate:
    return Candidate(
        text=text,
        label=label,
        said=said[:100],
        method=method,
        at=element.index,
        is_chrome=element.is_chrome,
    )

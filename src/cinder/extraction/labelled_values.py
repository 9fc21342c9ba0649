"""Reads values that a label, a class name, an attribute or their own form identifies."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise

from cinder.extraction.candidates import (
    Candidate,
    CandidateList,
    labelled_candidate,
    without_colon,
)
from cinder.extraction.flat_page import FlatPage, PageElement
from cinder.extraction.synonyms import Words, words_of
from cinder.extraction.values import find_email, find_price, find_rating, find_stock
from cinder.models.extraction import Method

MAX_LABEL_CHARS = 48
_MAX_LABEL_WORDS = 6
_MAX_LINE_CHARS = 2_000
_PARTS = re.compile(r"\s[|•·▪]\s")
_COLON = re.compile(r"\s?[:\uff1a](?=\s|$)\s?")
_DASH = re.compile(r"\s[-\u2013\u2014]\s")
# Another label in the same line, where pages put several into one: `SKU: A4 Category: Cups`.
_NEXT_LABEL = re.compile(r"(?<=[^\s:]\s)[A-Z][a-z]{2,20}s?(?=:\s)")
_MAX_LABELLED_PARTS = 20


def is_label(text: str) -> bool:
    """Whether a text can be a label: short, with letters, and no sentence."""
    text = without_colon(text)
    return (
        0 < len(text) <= MAX_LABEL_CHARS
        and len(text.split()) <= _MAX_LABEL_WORDS
        and any(character.isalpha() for character in text)
        and not text.endswith((".", "!", "?", ","))
        and "@" not in text
    )


def split_label(line: str) -> tuple[str, str] | None:
    """Return label and value of a line of the form `Label: value`."""
    line = line[:_MAX_LINE_CHARS]
    if (colon := _COLON.search(line[: MAX_LABEL_CHARS + 4])) is None:
        return None
    label, value = line[: colon.start()].strip("-\u2013\u2014\u2022* "), line[colon.end() :].strip()
    return (label, value) if is_label(label) and value else None


def labelled_parts(line: str) -> Iterator[tuple[str, str]]:
    """Yield the labels and values of a line, which may have several, with or without bars."""
    for part in _PARTS.split(line[:_MAX_LINE_CHARS])[:_MAX_LABELLED_PARTS]:
        if found := split_label(part):
            label, value = found
            starts = [each.start() for each in _NEXT_LABEL.finditer(value)][:_MAX_LABELLED_PARTS]
            yield label, value[: starts[0]].strip() if starts else value
            for start, end in pairwise((*starts, len(value))):
                if following := split_label(value[start:end]):
                    yield following


def split_dash(line: str) -> tuple[str, str] | None:
    """Return label and value of a line of the form `Label - value`."""
    if (dash := _DASH.search(line[: MAX_LABEL_CHARS + 4])) is None:
        return None
    label, value = line[: dash.start()].strip(), line[dash.end() :].strip()
    return (label, value) if is_label(label) and value else None


MAX_ITEMS = 500
_MAX_PAIR_CHARS = 600
_MAX_DEFINITIONS = 100
_BOLD = frozenset(("b", "strong"))
_HEADING_TAGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "legend", "caption"))
_LISTS = frozenset(("ul", "ol"))
_REVERSED = 0.85
_UNMARKED = 0.9
_PAIR = 2
_MAX_PARTS = 10
# A list that only its class names, with longer items, is layout.
_MAX_NAMED_CHARS = 80


def read_definitions(
    page: FlatPage, term: PageElement
) -> tuple[list[Candidate], list[CandidateList]]:
    """Return the values of the `dd` elements after a `dt`: one value, or several."""
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
    inner = page.children_of(page.elements[found[0].at]) if found else []
    lists = [
        each
        for child in inner
        if child.tag in _LISTS
        for each in _item_list(page, label, child, Method.DEFINITION_LIST)
    ]
    return found, lists


def read_lines(page: FlatPage, block: PageElement) -> Iterator[Candidate]:
    """Yield the values in a block's lines after a label with a colon, a dash or in bold."""
    for line in islice(page.lines_of(block), 50):
        is_labelled = False
        for label, value in labelled_parts(line):
            is_labelled = True
            yield labelled_candidate(label, value, Method.LABEL, block)
        if not is_labelled and (pair := split_dash(line)):
            yield labelled_candidate(*pair, Method.LABEL, block, weight=_UNMARKED)
    # `<b>Label</b> value` needs no colon.
    children = page.children_of(block)
    if not children or children[0].tag not in _BOLD or not block.has_own_text:
        return
    label, text = page.text_of(children[0], 200), page.text_of(block)
    value = text.removeprefix(label).strip(" :-\u2013\u2014")
    if value != text and value and is_label(label):
        yield labelled_candidate(label, value, Method.LABEL, block, weight=_UNMARKED)


def read_rows_of_two(page: FlatPage, block: PageElement) -> Iterator[Candidate]:
    """Yield the value of a block with two children: a label and its value, in either order."""
    # Icons and other pictures have no text.
    children = [each for each in page.children_of(block)[:_MAX_PARTS] if each.stop > each.start]
    if len(children) != _PAIR or block.has_own_text or block.tag in ("tr", "dl"):
        return
    first, second = children
    if first.holds_blocks or first.tag in _HEADING_TAGS or page.length_of(second) > _MAX_PAIR_CHARS:
        return
    label, value = page.text_of(first, 200), page.text_of(second)
    if label and value and split_label(label) is None:
        if is_label(label):
            yield labelled_candidate(label, value, Method.LABEL, second)
        if is_label(value) and first.tag != "dt":
            yield labelled_candidate(value, label, Method.LABEL, first, weight=_REVERSED)


def read_alternating(page: FlatPage, block: PageElement) -> Iterator[Candidate]:
    """Yield the values of a grid of labels and values in turn, which differ in class or tag."""
    children = page.children_of(block)
    if len(children) < 2 * _PAIR or len(children) % _PAIR or len(children) > 2 * MAX_ITEMS:
        return
    looks = {(child.tag, child.classes) for child in children[::2]}
    others = {(child.tag, child.classes) for child in children[1::2]}
    if len(looks) != 1 or len(others) != 1 or looks == others or block.tag in ("dl", "tr"):
        return
    if any(child.holds_blocks for child in children):
        return
    for label, value in zip(children[::2], children[1::2], strict=True):
        if label.tag not in _HEADING_TAGS:
            yield from _valued(page, page.text_of(label, 200), value, Method.LABEL)


def read_headed(
    page: FlatPage, heading: PageElement
) -> tuple[list[Candidate], list[CandidateList]]:
    """Return the short text or the list right after a heading or a bold line."""
    label = page.text_of(heading, 200)
    following = page.next_sibling(heading)
    if following is None or not is_label(label) or following.tag in _HEADING_TAGS:
        return [], []
    children = page.children_of(following)
    if following.tag in _LISTS or _is_inline_list(page, following):
        return [], list(_item_list(page, label, following, Method.HEADING))
    if len(children) == 1 and children[0].tag in _LISTS:
        return [], list(_item_list(page, label, children[0], Method.HEADING))
    if following.holds_blocks or following.tag in ("table", "dl"):
        return [], []
    return list(_valued(page, label, following, Method.HEADING)), []


def _is_inline_list(page: FlatPage, element: PageElement) -> bool:
    """Whether an element has only inline children of one tag, such as a row of keywords."""
    children = page.children_of(element)
    if len(children) < _PAIR or element.has_own_text or element.holds_blocks:
        return False
    return len({each.tag for each in children}) == 1 and not children[0].is_block


def is_heading(page: FlatPage, element: PageElement) -> bool:
    """Whether an element is a heading, or a paragraph that is bold as a whole."""
    return element.tag in _HEADING_TAGS or (element.tag in ("p", "div") and is_bold(page, element))


def is_bold(page: FlatPage, element: PageElement) -> bool:
    """Whether all text of an element is in one bold child."""
    if element.has_own_text or len(element.children) != 1:
        return False
    return page.elements[element.children[0]].tag in _BOLD


def _item_list(
    page: FlatPage, label: str, element: PageElement, method: Method
) -> Iterator[CandidateList]:
    items = [
        labelled_candidate(label, text, method, item)
        for item in page.children_of(element)[:MAX_ITEMS]
        if (item.tag == "li" or not item.is_block) and (text := page.text_of(item))
    ]
    if items:
        yield _listed(label, items, element)


def read_named_lists(page: FlatPage, element: PageElement) -> Iterator[CandidateList]:
    """Yield a list that is named by its class or id."""
    names = f"{element.classes} {element.attributes.get('id') or ''}".strip()
    if names and (element.tag in _LISTS or _is_inline_list(page, element)):
        for found in _item_list(page, names, element, Method.NAMED_ELEMENT):
            if all(len(item.text) <= _MAX_NAMED_CHARS for item in found.items):
                yield found


def _listed(label: str, items: list[Candidate], element: PageElement) -> CandidateList:
    return CandidateList(
        items=tuple(items),
        label=words_of(without_colon(label)),
        at=element.index,
        is_chrome=element.is_chrome,
    )


def _valued(
    page: FlatPage, label: str, element: PageElement, method: Method
) -> Iterator[Candidate]:
    text = page.text_of(element)
    if text and is_label(label):
        yield labelled_candidate(label, text, method, element)


_MAX_NAMED_VALUE_CHARS = 400
_MAX_HELD = 12
_MAX_NAMES = 6
_NAMING = ("id", "data-testid", "data-field", "data-name", "data-label", "property", "rel")
_VALUE_ATTRIBUTES = ("data-value", "data-price", "data-rating", "data-sku", "data-date")
_NEVER_NAMED = frozenset(("html", "body", "main", "table", "tbody", "thead", "ul", "ol", "dl"))
_RANKED_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# Classes that describe the layout as often as the content.
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
_MAX_URL_CHARS = 2_000


def read_named(page: FlatPage, element: PageElement) -> Iterator[Candidate]:
    """Yield the text of an element with few parts, under each of its names."""
    names = list(_names_of(element))
    if not names or element.tag in _NEVER_NAMED:
        return
    if page.length_of(element) > _MAX_NAMED_VALUE_CHARS or element.end - element.index > _MAX_HELD:
        return
    text = page.text_of(element)
    if pair := split_label(text):
        text = pair[1]
    is_short = len(text) <= _MAX_LAYOUT_CHARS and not element.holds_blocks
    for name in names if text else ():
        if (label := words_of(name)) and (is_short or name.lower() not in _LAYOUT_NAMES):
            yield _named_candidate(element, text, label, name, Method.NAMED_ELEMENT)


def _names_of(element: PageElement) -> Iterator[str]:
    for token in element.classes.split()[:_MAX_NAMES]:
        # In BEM, the name of the block comes before that of the element, and a modifier after it.
        yield _BLOCK_PART.split(token)[-1] if "__" in token else token.partition("--")[0]
    for attribute in _NAMING:
        if name := element.attributes.get(attribute):
            yield name[:100]


def read_attributes(element: PageElement) -> Iterator[Candidate]:
    """Yield the values of attributes: URLs, dates, machine-readable values."""
    attributes = element.attributes
    for name in _VALUE_ATTRIBUTES:
        if value := attributes.get(name):
            label = words_of(name.removeprefix("data-"))
            named = next(_names_of(element), "") if name == "data-value" else ""
            yield _named_candidate(
                element, value[:_MAX_NAMED_VALUE_CHARS], words_of(named) or label, name
            )
    if element.tag == "time" and (when := attributes.get("datetime")):
        yield _named_candidate(element, when[:100], words_of("date"), "datetime", Method.TYPED)
    if element.tag == "a" and (href := attributes.get("href")):
        url = href[:_MAX_URL_CHARS]
        scheme = next((each for each in _LINK_SCHEMES if url.lower().startswith(each)), None)
        if scheme is None:
            yield _named_candidate(element, url, words_of("url"), "href")
        else:
            value, meaning = url[len(scheme) :].partition("?")[0], words_of(_LINK_SCHEMES[scheme])
            yield _named_candidate(element, value, meaning, scheme, Method.TYPED)
    if element.tag == "img" and (source := attributes.get("src")):
        yield _named_candidate(element, source[:_MAX_URL_CHARS], words_of("image"), "src")
    if spoken := attributes.get("aria-label"):
        yield from _typed(element, spoken[:_MAX_NAMED_VALUE_CHARS])


def read_typed(page: FlatPage, block: PageElement) -> Iterator[Candidate]:
    """Yield the prices, ratings and mail addresses in the text of an innermost block."""
    return _typed(block, page.text_of(block, _MAX_NAMED_VALUE_CHARS))


def _typed(element: PageElement, text: str) -> Iterator[Candidate]:
    for find, meaning in _TYPED:
        if found := find(text):
            yield _named_candidate(element, found, words_of(meaning), "", Method.TYPED)


def read_heading(page: FlatPage, element: PageElement) -> Iterator[Candidate]:
    """Yield the page's own heading as its name."""
    # The sign of a link to the heading itself is not part of it.
    if element.tag == "h1" and (text := page.text_of(element, 500).rstrip("\u00b6# ")):
        yield _named_candidate(element, text, words_of("name"), element.tag, Method.HEADING)


def read_address(page: FlatPage, element: PageElement) -> Iterator[Candidate]:
    """Yield a postal address as one text, and with commas between its lines for splitting."""
    is_named = element.tag == "address" or "address" in element.classes.lower()
    if not is_named or page.length_of(element) > _MAX_NAMED_VALUE_CHARS:
        return
    text, divided = page.text_of(element), ", ".join(page.lines_of(element))
    address = _named_candidate(element, text, words_of("address"), element.tag)
    yield address
    if divided != text:
        yield replace(address, text=divided, weight=_SECOND)


def name_of_record(page: FlatPage, first: int, end: int) -> Candidate | None:
    """Return the name of a record: its heading, else its first bold or linked text, else a line."""
    elements = page.elements[first : min(end, first + 60)]
    for tags in (_RANKED_HEADINGS, ("b", "strong", "a"), ("td", "span", "p", "div", "li")):
        for element in elements:
            is_innermost = element.has_own_text or tags is _RANKED_HEADINGS
            if element.tag in tags and is_innermost and not element.holds_blocks:
                text = next(page.lines_of(element, 300), "")
                if text and split_label(text) is None:
                    return Candidate(
                        text=text,
                        label=words_of("name"),
                        method=Method.HEADING,
                        at=element.index,
                        weight=1.0 if tags is _RANKED_HEADINGS else _SECOND,
                        is_record_only=True,
                    )
    return None


def _named_candidate(
    element: PageElement,
    text: str,
    label: Words,
    label_text: str,
    method: Method = Method.NAMED_ELEMENT,
) -> Candidate:
    return Candidate(
        text=text,
        label=label,
        label_text=label_text[:100],
        method=method,
        at=element.index,
        is_chrome=element.is_chrome,
    )

"""Finds the elements that a grounded value came from, and reads values out of elements."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import unescape
from itertools import islice

from cinder.extraction.candidates import without_colon
from cinder.extraction.flat_page import FlatPage, PageElement
from cinder.extraction.grounding import condense, find_condensed
from cinder.extraction.labelled_values import is_label, split_label
from cinder.html.tree import collapse
from cinder.models.extraction import Evidence, FieldValue, QuotedText
from cinder.models.recipe import Locator

_MAX_ATTRIBUTE_CHARS = 2_000
_MAX_LABEL_WINDOW = 200
_MAX_CUT_CHARS = 200
_MAX_BEFORE_CHARS = 40
_MAX_AFTER_CHARS = 20


def read_element(page: FlatPage, element: PageElement, locator: Locator) -> str | None:
    """Return the text of an element that a locator points at; None if it does not apply."""
    if locator.label and label_before(page, element) != locator.label:
        return None
    if locator.attribute:
        value = element.attributes.get(locator.attribute)
        return collapse(value[:_MAX_ATTRIBUTE_CHARS]) if value else None
    text = page.text_of(element)
    start = 0
    if locator.before:
        found = text.find(locator.before)
        if found < 0:
            return None
        start = found + len(locator.before)
    end = text.find(locator.after, start) if locator.after else len(text)
    return text[start:end].strip() or None if end >= 0 else None


def label_before(page: FlatPage, element: PageElement) -> str:
    """Return the label right before an element, in lower case and without its colon."""
    window = page.text[max(0, element.start - _MAX_LABEL_WINDOW) : element.start]
    line = next((line for each in reversed(window.split("\n")) if (line := collapse(each))), "")
    label = without_colon(line).casefold()
    # A line with a value or a number differs from page to page.
    is_variable = any(map(str.isdigit, label)) or split_label(line) is not None
    return label if is_label(label) and not is_variable else ""


def cuts_around(text: str, part: str) -> Iterator[tuple[str, str]]:
    """Yield the words before and after a part of a short text, which may occur on other pages too.

    The words after may be empty: parsing the value often ignores them.
    """
    start = text.find(part) if len(text) <= _MAX_CUT_CHARS else -1
    if start < 0:
        return
    before = _last_words(text[:start])
    after = _first_words(text[start + len(part) :])
    if text[:start].strip() and not before:
        return
    if after or start + len(part) == len(text):
        yield before, after
    if before:
        yield before, ""


def _last_words(text: str) -> str:
    """Return the last words of a text after the last number, which differs from page to page."""
    kept = ""
    for word in reversed(text.split(" ")):
        longer = f"{word} {kept}" if kept else word
        if len(longer) > _MAX_BEFORE_CHARS or any(each.isdigit() for each in word):
            break
        kept = longer
    return kept if kept.strip() else ""


def _first_words(text: str) -> str:
    kept = ""
    for word in text.split(" "):
        longer = f"{kept} {word}" if kept or not word else word
        if len(longer) > _MAX_AFTER_CHARS or any(each.isdigit() for each in word):
            break
        kept = longer
    return kept if kept.strip() else ""


_MAX_OCCURRENCES = 40
_MAX_NODES = 6
_MAX_SAME_TEXT = 2
# `https:`, nothing, and the host.
_ORIGIN_PARTS = 3
_CONTEXT_CHARS = 120
_MAX_ATTRIBUTES = 100_000
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,500}\)?")
_VALUE_ATTRIBUTES = frozenset(
    ("href", "src", "content", "datetime", "value", "title", "alt", "aria-label", "itemid")
)


@dataclass(frozen=True, slots=True)
class NodeRef:
    """An element that has a value in its text or in an attribute."""

    element: PageElement
    attribute: str = ""


class NodeFinder:
    """Finds the elements of a page that values were extracted from."""

    def __init__(self, page: FlatPage, markdown: str | None) -> None:
        self._page = page
        self._markdown = markdown or ""
        self._condensed = condense(page.text)
        self._attributes: dict[str, list[NodeRef]] = {}
        values = (
            (element, name, value)
            for element in page.elements
            for name, value in element.attributes.items()
            if value and (name in _VALUE_ATTRIBUTES or name.startswith("data-"))
        )
        for element, name, value in islice(values, _MAX_ATTRIBUTES):
            nodes = self._attributes.setdefault(collapse(value[:_MAX_ATTRIBUTE_CHARS]), [])
            if len(nodes) < _MAX_NODES:
                nodes.append(NodeRef(element, name))

    def nodes_of(self, value: FieldValue) -> list[NodeRef]:
        """Return the elements that may have a value, the most likely first."""
        found: dict[tuple[int, str], NodeRef] = {}
        for evidence in value.evidence:
            for node in self._nodes_by(evidence, value):
                found.setdefault((node.element.index, node.attribute), node)
        return list(found.values())[:_MAX_NODES]

    def _nodes_by(self, evidence: Evidence, value: FieldValue) -> Iterator[NodeRef]:
        texts = [collapse(evidence.quote), collapse(unescape(evidence.quote))]
        if isinstance(value.value, str):
            texts.append(collapse(value.value))
            # A page may write a URL of its own site without the origin.
            parts = value.value.split("/", 3)
            if parts[0] in ("http:", "https:") and len(parts) > _ORIGIN_PARTS:
                texts.append(f"/{parts[3]}")
        needles = list(dict.fromkeys(filter(None, texts)))
        for needle in needles:
            found = islice(find_condensed(needle, *self._condensed), _MAX_OCCURRENCES)
            spans = [span for span in found if self._is_whole(*span)]
            for start, end in sorted(spans, key=self._similarity(evidence), reverse=True):
                yield from map(NodeRef, self._around(start, end))
        for needle in needles:
            yield from self._attributes.get(needle, ())

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether a span is no part of a longer word; an element's border also ends a word."""
        text, element = self._page.text, self._innermost(start, end)
        before = text[start - 1] if start > element.start else ""
        after = text[end] if end < element.stop else ""
        # A unit may follow its number without a space.
        is_unit = text[end - 1].isdigit() and after.isalpha()
        return not (
            (before.isalnum() and text[start].isalnum())
            or (after.isalnum() and text[end - 1].isalnum() and not is_unit)
        )

    def _similarity(self, evidence: Evidence) -> Callable[[tuple[int, int]], int]:
        """Return a function that counts the letters shared around a quote and a span."""
        start, end = evidence.start, evidence.end
        before = after = ""
        if evidence.text is QuotedText.MARKDOWN and start is not None and end is not None:
            before = self._markdown[max(0, start - _CONTEXT_CHARS) : start]
            after = self._markdown[end : end + _CONTEXT_CHARS]
        before, after = _letters(before)[::-1], _letters(after)
        text = self._page.text

        def count_shared(span: tuple[int, int]) -> int:
            near_before = _letters(text[max(0, span[0] - _CONTEXT_CHARS) : span[0]])[::-1]
            near_after = _letters(text[span[1] : span[1] + _CONTEXT_CHARS])
            return _shared_prefix(before, near_before) + _shared_prefix(after, near_after)

        return count_shared

    def _around(self, start: int, end: int) -> Iterator[PageElement]:
        """Yield the innermost element around a span, and its parents with the same text."""
        element = self._innermost(start, end)
        yield element
        text = self._page.text_of(element)
        for _ in range(_MAX_SAME_TEXT):
            if element.parent < 0:
                return
            element = self._page.elements[element.parent]
            if self._page.text_of(element) != text:
                return
            yield element

    def _innermost(self, start: int, end: int) -> PageElement:
        elements = self._page.elements
        element = elements[0]
        while True:
            last = bisect_right(element.children, start, key=lambda n: elements[n].start) - 1
            child = elements[element.children[last]] if last >= 0 else None
            if child is None or child.stop < end:
                return element
            element = child


def _letters(text: str) -> str:
    return "".join(each for each in _LINK_TARGET.sub("]", text) if each.isalnum())


def _shared_prefix(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))

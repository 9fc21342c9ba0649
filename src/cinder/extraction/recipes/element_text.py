"""Finds the elements that a proved value came from, and reads values out of elements."""

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from operator import itemgetter

from cinder.extraction.flat_page import FlatPage, PageElement
from cinder.extraction.labelled_values import is_label, split_label, without_colon
from cinder.html.tree import collapse
from cinder.models.extraction import Evidence, FieldValue, QuotedText
from cinder.models.recipe import Locator

_MAX_ATTRIBUTE_CHARS = 2_000
_MAX_LABEL_WINDOW = 200
_MAX_CUT_CHARS = 200
_MAX_BEFORE_CHARS = 40
_MAX_AFTER_CHARS = 20


def read_element(page: FlatPage, element: PageElement, locator: Locator) -> str | None:
    """Return the text that a locator means in an element; None where it has not what is named."""
    if locator.label and label_before(page, element) != locator.label:
        return None
    if locator.attribute:
        said = element.attributes.get(locator.attribute)
        return collapse(said[:_MAX_ATTRIBUTE_CHARS]) if said else None
    text = page.text_of(element)
    return _between(text, locator.before, locator.after) or None


def label_before(page: FlatPage, element: PageElement) -> str:
    """Return the label right before an element, without what leads over to the value."""
    window = page.text[max(0, element.start - _MAX_LABEL_WINDOW) : element.start]
    lines = [line for each in window.split("\n") if (line := collapse(each))]
    line = lines[-1] if lines else ""
    label = without_colon(line).casefold()
    # A label with its value, or with a figure, is another on the next page.
    is_telling = any(each.isdigit() for each in label) or split_label(line) is not None
    return label if is_label(label) and not is_telling else ""


def cuts_around(text: str, part: str) -> Iterator[tuple[str, str]]:
    """Yield what stands before and after a part of a short text, as words that may recur.

    What follows may be left open: it is often read along with the part.
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


def _between(text: str, before: str, after: str) -> str:
    start = 0
    if before:
        found = text.find(before)
        if found < 0:
            return ""
        start = found + len(before)
    end = text.find(after, start) if after else len(text)
    return text[start:end].strip() if end >= 0 else ""


def _last_words(text: str) -> str:
    """Return the last words of a text, up to a figure: what others say there is not known."""
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
_CONTEXT_CHARS = 120
_MAX_ATTRIBUTES = 100_000
_MARKS = frozenset("\\*_`~<>")
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,500}\)?")
_SAYING = frozenset(
    ("href", "src", "content", "datetime", "value", "title", "alt", "aria-label", "itemid")
)


@dataclass(frozen=True, slots=True)
class NodeRef:
    """An element that says a value: in its text, or in an attribute."""

    element: PageElement
    attribute: str = ""


class NodeFinder:
    """Finds where a page says what was taken from it."""

    def __init__(self, page: FlatPage, markdown: str | None) -> None:
        self._page = page
        self._markdown = markdown or ""
        self._condensed, self._offsets = _condense(page.text)
        self._attributes = _attributes_of(page)

    def nodes_of(self, value: FieldValue) -> list[NodeRef]:
        """Return the elements that may have said a value, the likeliest first."""
        found: dict[tuple[int, str], NodeRef] = {}
        for evidence in value.evidence:
            for place in self._nodes_by(evidence, value):
                found.setdefault((place.element.index, place.attribute), place)
        return list(found.values())[:_MAX_NODES]

    def _nodes_by(self, evidence: Evidence, value: FieldValue) -> Iterator[NodeRef]:
        said = [collapse(evidence.quote), collapse(unescape(evidence.quote))]
        if isinstance(value.value, str):
            said += [collapse(value.value), _without_origin(value.value)]
        needles = list(dict.fromkeys(filter(None, said)))
        for needle in needles:
            spans = list(self._spans_of(needle))
            for start, end in sorted(spans, key=self._likeness(evidence), reverse=True):
                yield from map(NodeRef, self._around(start, end))
        for needle in needles:
            yield from self._attributes.get(needle, ())

    def _spans_of(self, text: str) -> Iterator[tuple[int, int]]:
        wanted, _ = _condense(text)
        found = self._condensed.find(wanted) if wanted else -1
        for _ in range(_MAX_OCCURRENCES):
            if found < 0:
                return
            span = self._offsets[found], self._offsets[found + len(wanted) - 1] + 1
            if self._is_whole(*span):
                yield span
            found = self._condensed.find(wanted, found + 1)

    def _is_whole(self, start: int, end: int) -> bool:
        """Whether a span is no part of a longer word; elements may stand without a gap."""
        text, element = self._page.text, self._innermost(start, end)
        before = text[start - 1] if start > element.start else ""
        after = text[end] if end < element.stop else ""
        # A unit may follow its figure without a gap.
        is_unit = text[end - 1].isdigit() and after.isalpha()
        return not (
            (before.isalnum() and text[start].isalnum())
            or (after.isalnum() and text[end - 1].isalnum() and not is_unit)
        )

    def _likeness(self, evidence: Evidence) -> "_ContextSimilarity":
        start, end = evidence.start, evidence.end
        if evidence.text is not QuotedText.MARKDOWN or start is None or end is None:
            return _ContextSimilarity(self._page.text, "", "")
        before = self._markdown[max(0, start - _CONTEXT_CHARS) : start]
        after = self._markdown[end : end + _CONTEXT_CHARS]
        return _ContextSimilarity(self._page.text, before, after)

    def _around(self, start: int, end: int) -> Iterator[PageElement]:
        """Yield the innermost element around a span, and those that hold nothing else."""
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
        element = self._page.elements[0]
        while True:
            place = bisect_right(element.children, start, key=self._start_of) - 1
            child = self._page.elements[element.children[place]] if place >= 0 else None
            if child is None or child.stop < end:
                return element
            element = child

    def _start_of(self, index: int) -> int:
        return self._page.elements[index].start


class _ContextSimilarity:
    """Tells how much of what stands around a quote stands around a span of the page's text."""

    def __init__(self, page_text: str, before: str, after: str) -> None:
        self._text = page_text
        self._before = _letters(before)[-_CONTEXT_CHARS:]
        self._after = _letters(after)[:_CONTEXT_CHARS]

    def __call__(self, span: tuple[int, int]) -> int:
        start, end = span
        before = _letters(self._text[max(0, start - _CONTEXT_CHARS) : start])
        after = _letters(self._text[end : end + _CONTEXT_CHARS])
        return _shared(reversed(self._before), reversed(before)) + _shared(
            iter(self._after), iter(after)
        )


def _without_origin(address: str) -> str:
    """Return an address as a page of its site may write it; nothing for what is none."""
    parts = address.split("/", 3)
    is_address = parts[0] in ("http:", "https:") and len(parts) > 3
    return f"/{parts[3]}" if is_address else ""


def _shared(one: Iterator[str], other: Iterator[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _letters(text: str) -> str:
    return "".join(each for each in _LINK_TARGET.sub("]", text) if each.isalnum())


def _condense(text: str) -> tuple[str, "array[int]"]:
    """Return a text without white space and marks, and where each character stood."""
    kept = [
        (place, each)
        for place, each in enumerate(text)
        if not each.isspace() and each not in _MARKS
    ]
    return "".join(map(itemgetter(1), kept)), array("L", map(itemgetter(0), kept))


def _attributes_of(page: FlatPage) -> dict[str, list[NodeRef]]:
    found: dict[str, list[NodeRef]] = {}
    left = _MAX_ATTRIBUTES
    for element in page.elements:
        for name, said in element.attributes.items():
            if not said or not (name in _SAYING or name.startswith("data-")):
                continue
            left -= 1
            if left < 0:
                return found
            places = found.setdefault(collapse(said[:_MAX_ATTRIBUTE_CHARS]), [])
            if len(places) < _MAX_NODES:
                places.append(NodeRef(element, name))
    return found

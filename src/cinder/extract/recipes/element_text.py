"""What an element says to a recipe: its text or an attribute, or the part between two texts."""

from collections.abc import Iterator

from cinder.extract.fields.flat_page import Element, FlatPage
from cinder.extract.fields.labels import is_label, split_label, without_colon
from cinder.extract.html_tree import collapse
from cinder.model.recipe import Locator

_MAX_ATTRIBUTE_CHARS = 2_000
_MAX_LABEL_WINDOW = 200
_MAX_CUT_CHARS = 200
_MAX_BEFORE_CHARS = 40
_MAX_AFTER_CHARS = 20


def read_element(page: FlatPage, element: Element, locator: Locator) -> str | None:
    """Return the text that a locator means in an element; None where it has not what is named."""
    if locator.label and label_before(page, element) != locator.label:
        return None
    if locator.attribute:
        said = element.attributes.get(locator.attribute)
        return collapse(said[:_MAX_ATTRIBUTE_CHARS]) if said else None
    text = page.text_of(element)
    return _between(text, locator.before, locator.after) or None


def label_before(page: FlatPage, element: Element) -> str:
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

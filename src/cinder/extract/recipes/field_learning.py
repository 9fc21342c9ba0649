"""Learns where one value stands: by names if there are some, else by its label or its place."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from cinder.extract.fields.flat_page import Element
from cinder.extract.fields.labels import is_label, split_label
from cinder.extract.fields.values import read_value
from cinder.extract.fields.wanted import FieldKind, Wanted
from cinder.extract.html_tree import collapse
from cinder.extract.recipes.applying import RecipeReader, read_as
from cinder.extract.recipes.element_text import cuts_around, label_before, read_element
from cinder.extract.recipes.judging import is_same
from cinder.extract.recipes.locating import Place
from cinder.extract.recipes.naming import (
    bare_selectors,
    labelled_selectors,
    named_selectors,
    placed_selectors,
)
from cinder.extract.recipes.selectors import Selector, parse_selector
from cinder.model.document import Json
from cinder.model.extracted_data import FieldValue
from cinder.model.recipe import FieldRule, Locator

# As what a text is read where the schema wants any.
_FORMATS = ("", "date", "date-time", "uri")
_MAX_TRIED = 60
_MAX_GAP = 20
_AFTER_LABELS = ("td", "dd")


class FieldLearner:
    """Learns rules for single values of a page."""

    def __init__(self, reader: RecipeReader) -> None:
        self._reader = reader
        self._index = reader.index

    def rules_for(
        self,
        path: tuple[str, ...],
        wanted: Wanted,
        value: FieldValue,
        places: Sequence[Place],
        within: Element | None = None,
    ) -> Iterator[FieldRule]:
        """Yield rules that give a value, those first that are likely to hold on other pages."""
        parts = [(place, self._part(place, wanted, value)) for place in places]
        readable = [(place, part) for place, part in parts if part is not None]
        for ways in (self._sure_ways, self._weak_ways):
            for place, (part, format_) in readable:
                for locators in ways(place, part, within):
                    rule = FieldRule(path=path, locators=locators, format=format_)
                    if self._gives(rule, wanted, value.value, within):
                        yield rule

    def _sure_ways(
        self, place: Place, part: Locator, within: Element | None
    ) -> Iterator[tuple[Locator, ...]]:
        """Yield locators by names and labels; both together where both are there."""
        element = place.element
        named = self._locators(place, part, named_selectors(self._index, element, within))
        label = "" if part.before else label_before(self._index.page, element)
        is_told_apart = bool(label or is_label_cut(part)) and not place.attribute
        selectors = labelled_selectors(element) if is_told_apart else ()
        labelled = list(self._locators(place, part, selectors, label=label))
        is_certain = label and (element.tag in _AFTER_LABELS or self._follows_colon(element))
        for locator in islice(named, _MAX_TRIED):
            if is_certain:
                yield locator, labelled[-1]
            yield (locator,)
        yield from ((each,) for each in labelled)

    def _follows_colon(self, element: Element) -> bool:
        before = self._index.page.text[max(0, element.start - _MAX_GAP) : element.start]
        return before.rstrip().endswith((":", "\uff1a"))

    def _weak_ways(
        self, place: Place, part: Locator, within: Element | None
    ) -> Iterator[tuple[Locator, ...]]:
        element = place.element
        if within is element:
            yield (part,)
        elif not part.before and split_label(self._index.page.text_of(element)):
            # By its place alone, another labelled value would be taken for it.
            return
        for selectors in (
            bare_selectors(self._index, element, within),
            placed_selectors(self._index, element, within),
        ):
            for locator in islice(self._locators(place, part, selectors), _MAX_TRIED):
                yield (locator,)

    def _locators(
        self, place: Place, part: Locator, selectors: Iterable[Selector], label: str = ""
    ) -> Iterator[Locator]:
        for selector in selectors:
            said = str(selector)
            # What of a page's names the language of selectors has no words for is left out.
            if parse_selector(said) == selector:
                yield Locator(
                    selector=said,
                    attribute=place.attribute,
                    label=label,
                    before=part.before,
                    after=part.after,
                )

    def _part(self, place: Place, wanted: Wanted, value: FieldValue) -> tuple[Locator, str] | None:
        """Return which part of an element's text is the value, and as what it is read."""
        for part in self._parts(place, value):
            text = read_element(self._index.page, place.element, part)
            for format_ in _FORMATS if _is_open(wanted) else ("",):
                reading = text and read_value(read_as(wanted, format_), text, self._reader.base)
                if reading and is_same(reading.value, value.value):
                    return part, format_
        return None

    def _parts(self, place: Place, value: FieldValue) -> Iterator[Locator]:
        """Yield what of an element may be meant: after a label in it, all of it, or a part."""
        whole = Locator(selector="", attribute=place.attribute)
        text = read_element(self._index.page, place.element, whole) or ""
        quotes = [collapse(each.quote) for each in value.evidence]
        cuts = [
            Locator(selector="", before=cut[0], after=cut[1])
            for quote in (*quotes, collapse(str(value.value)))
            if quote and not place.attribute
            for cut in cuts_around(text, quote)
        ]
        labelled = [each for each in cuts if is_label_cut(each)]
        yield from labelled
        yield whole
        yield from (each for each in cuts if each not in labelled)

    def _gives(self, rule: FieldRule, wanted: Wanted, value: Json, within: Element | None) -> bool:
        reading = self._reader.read_field(rule, wanted, within)
        return reading is not None and is_same(reading.value, value)


def is_label_cut(part: Locator) -> bool:
    """Whether the value stands after a label in its element's text."""
    return part.before.endswith((":", "\uff1a")) and is_label(part.before)


def _is_open(wanted: Wanted) -> bool:
    return wanted.kind is FieldKind.STRING and not wanted.format and not wanted.choices

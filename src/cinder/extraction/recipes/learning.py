"""Learns a recipe from a page and its grounded values."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from cinder.extraction.field_specs import FieldKind, FieldSpec
from cinder.extraction.filling import extract_fields
from cinder.extraction.flat_page import PageElement
from cinder.extraction.labelled_values import is_label, split_label
from cinder.extraction.recipes.applying import (
    RecipeReader,
    field_spec_at,
    is_contradicted,
    is_same_value,
    with_format,
)
from cinder.extraction.recipes.element_selectors import (
    RecipeSelector,
    bare_selectors,
    labelled_record_selectors,
    labelled_selectors,
    named_selectors,
    parse_selector,
    placed_record_selectors,
    placed_selectors,
    record_selectors,
)
from cinder.extraction.recipes.element_text import (
    NodeFinder,
    NodeRef,
    cuts_around,
    label_before,
    read_element,
)
from cinder.extraction.values import parse_value
from cinder.html.bombs import find_bomb
from cinder.html.tree import collapse
from cinder.models.document import Json
from cinder.models.extraction import FieldPath, FieldValue
from cinder.models.recipe import FieldRule, ListRule, Locator, Recipe, is_worth_learning

# The formats to try for a text field of the schema without one.
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
        spec: FieldSpec,
        value: FieldValue,
        nodes: Sequence[NodeRef],
        within: PageElement | None = None,
    ) -> Iterator[FieldRule]:
        """Yield rules that give a value, those first that likely hold on other pages."""
        parts = [(node, self._part(node, spec, value)) for node in nodes]
        readable = [(node, part) for node, part in parts if part is not None]
        for find_locators in (self._reliable_locators, self._weak_locators):
            for node, (part, format_) in readable:
                for locators in find_locators(node, part, within):
                    rule = FieldRule(path=path, locators=locators, format=format_)
                    parsed = self._reader.read_field(rule, spec, within)
                    if parsed is not None and is_same_value(parsed.value, value.value):
                        yield rule

    def _reliable_locators(
        self, node: NodeRef, part: Locator, within: PageElement | None
    ) -> Iterator[tuple[Locator, ...]]:
        """Yield locators by names and by labels; combined if an element has both."""
        element, page = node.element, self._index.page
        named = self._locators(node, part, named_selectors(self._index, element, within))
        label = "" if part.before else label_before(page, element)
        is_distinguished = bool(label or is_label_cut(part)) and not node.attribute
        selectors = labelled_selectors(element) if is_distinguished else ()
        labelled = list(self._locators(node, part, selectors, label=label))
        before = page.text[max(0, element.start - _MAX_GAP) : element.start].rstrip()
        is_certain = label and (element.tag in _AFTER_LABELS or before.endswith((":", "\uff1a")))
        for locator in islice(named, _MAX_TRIED):
            if is_certain:
                yield locator, labelled[-1]
            yield (locator,)
        yield from ((locator,) for locator in labelled)

    def _weak_locators(
        self, node: NodeRef, part: Locator, within: PageElement | None
    ) -> Iterator[tuple[Locator, ...]]:
        """Yield locators by tag and by position."""
        element = node.element
        if within is element:
            yield (part,)
        elif not part.before and split_label(self._index.page.text_of(element)):
            # On another page, a value with another label may have this position.
            return
        for selectors in (
            bare_selectors(self._index, element, within),
            placed_selectors(self._index, element, within),
        ):
            for locator in islice(self._locators(node, part, selectors), _MAX_TRIED):
                yield (locator,)

    def _locators(
        self, node: NodeRef, part: Locator, selectors: Iterable[RecipeSelector], label: str = ""
    ) -> Iterator[Locator]:
        for selector in selectors:
            text = str(selector)
            # Some names of a page cannot be written as a recipe's selector.
            if parse_selector(text) == selector:
                yield replace(part, selector=text, attribute=node.attribute, label=label)

    def _part(
        self, node: NodeRef, spec: FieldSpec, value: FieldValue
    ) -> tuple[Locator, str] | None:
        """Return the part of an element's text that is the value, and the format to parse it in."""
        is_open = spec.kind is FieldKind.STRING and not spec.format and not spec.choices
        for part in self._parts(node, value):
            text = read_element(self._index.page, node.element, part)
            for format_ in _FORMATS if is_open else ("",):
                parsed = text and parse_value(with_format(spec, format_), text, self._reader.base)
                if parsed and is_same_value(parsed.value, value.value):
                    return part, format_
        return None

    def _parts(self, node: NodeRef, value: FieldValue) -> Iterator[Locator]:
        """Yield possible parts of an element: after a label in it, all of it, or another part."""
        whole = Locator(selector="", attribute=node.attribute)
        text = read_element(self._index.page, node.element, whole) or ""
        quotes = [collapse(each.quote) for each in value.evidence]
        cuts = [
            Locator(selector="", before=before, after=after)
            for quote in (*quotes, collapse(str(value.value)))
            if quote and not node.attribute
            for before, after in cuts_around(text, quote)
        ]
        labelled = [cut for cut in cuts if is_label_cut(cut)]
        yield from labelled
        yield whole
        yield from (cut for cut in cuts if cut not in labelled)


def is_label_cut(part: Locator) -> bool:
    """Whether the value comes after a label in its element's text."""
    return part.before.endswith((":", "\uff1a")) and is_label(part.before)


_LEAST_RECORDS = 2
_MAX_RECORDS = 200
_MAX_FIELDS = 30
_MAX_SKIPPED = 1
_MAX_SELECTORS = 40
_MAX_RULES = 40
_MAX_TELLING = 3

Names = tuple[str, ...]
Record = Mapping[Names, FieldValue]


class ListLearner:
    """Learns rules for the arrays of a page, each whole or not at all."""

    def __init__(self, reader: RecipeReader, finder: NodeFinder, fields: FieldLearner) -> None:
        self._reader = reader
        self._index = reader.index
        self._finder = finder
        self._fields = fields

    def learn(self, path: Names, spec: FieldSpec, records: Mapping[int, Record]) -> ListRule | None:
        """Return a rule that gives all records of an array again, or None."""
        is_learnable = _LEAST_RECORDS <= len(records) <= _MAX_RECORDS
        if spec.kind is not FieldKind.ARRAY or not is_learnable:
            return None
        known = [records[index] for index in sorted(records)]
        names = list(dict.fromkeys(name for record in known for name in record))
        if len(names) > _MAX_FIELDS:
            return None
        shared = [name for name in names if all(name in record for record in known)]
        # A field with a different value in each record identifies the records best.
        shared.sort(key=lambda name: -len({str(record[name].value) for record in known}))
        for identifier in shared[:_MAX_TELLING]:
            nodes = [self._finder.nodes_of(record[identifier])[:1] for record in known]
            firsts = [node.element for found in nodes for node in found]
            elements = self._branches(firsts) if len(firsts) == len(known) else []
            fields = []
            for name in names if elements else ():
                field = field_spec_at(spec.item, name)
                rule = self._learn_field(field, name, known, elements) if field else None
                if rule is None:
                    break
                fields.append(rule)
            if fields and len(fields) == len(names):
                expected: dict[FieldPath, Json] = {
                    (index, *name): value.value
                    for index, record in enumerate(known)
                    for name, value in record.items()
                }
                candidates = self._rules(path, elements, tuple(fields))
                for candidate in islice(candidates, _MAX_SELECTORS):
                    read = self._reader.read(candidate)
                    found = {each.path[len(path) :]: each.value for each in read}
                    if found.keys() == expected.keys() and all(
                        is_same_value(found[key], value) for key, value in expected.items()
                    ):
                        return candidate
                return None
        return None

    def _branches(self, elements: list[PageElement]) -> list[PageElement]:
        """Return the siblings below the common ancestor, one for each element; empty if shared."""
        lines = []
        for element in elements:
            line = [element.index]
            while (above := self._index.page.elements[line[-1]].parent) >= 0:
                line.append(above)
            lines.append(line[::-1])
        depth = 0
        while all(len(line) > depth for line in lines) and (
            len({line[depth] for line in lines}) == 1
        ):
            depth += 1
        if any(len(line) <= depth for line in lines):
            return []
        found = [self._index.page.elements[line[depth]] for line in lines]
        is_apart = len({each.index for each in found}) == len(found)
        return found if is_apart and len({each.tag for each in found}) == 1 else []

    def _learn_field(
        self, field: FieldSpec, name: Names, known: list[Record], elements: list[PageElement]
    ) -> FieldRule | None:
        """Return a rule that gives a field in every record that has it, and in no other."""
        sample = next(index for index, record in enumerate(known) if name in record)
        holder, value = elements[sample], known[sample][name]
        nodes = [
            node
            for node in self._finder.nodes_of(value)
            if holder.index <= node.element.index < holder.end
        ]
        for rule in islice(self._fields.rules_for(name, field, value, nodes, holder), _MAX_RULES):
            for record, element in zip(known, elements, strict=True):
                parsed, expected = self._reader.read_field(rule, field, element), record.get(name)
                if parsed is None or expected is None:
                    if parsed is not None or expected is not None:
                        break
                elif not is_same_value(parsed.value, expected.value):
                    break
            else:
                return rule
        return None

    def _rules(
        self, path: Names, elements: list[PageElement], fields: tuple[FieldRule, ...]
    ) -> Iterator[ListRule]:
        """Yield rules for records by names, then by their list's label, then by its position."""
        label = label_before(self._index.page, self._index.page.elements[elements[0].parent])
        selectors = (
            *((each, "") for each in record_selectors(self._index, elements)),
            *((each, label) for each in labelled_record_selectors(self._index, elements) if label),
            *((each, "") for each in placed_record_selectors(self._index, elements)),
        )
        for selector, label_ in selectors:
            text = str(selector)
            if parse_selector(text) == selector:
                for skipped in range(_MAX_SKIPPED + 1):
                    yield ListRule(
                        path=path, selector=text, fields=fields, label=label_, skipped=skipped
                    )


MAX_FIELDS = 100
MAX_LISTS = 10


def learn_recipe(
    html: str,
    markdown: str | None,
    *,
    url: str,
    schema: Mapping[str, Json],
    values: Sequence[FieldValue],
) -> Recipe:
    """Return the rules that find these values again on the page.

    Args:
        html: the page as received, decoded.
        markdown: the markdown of the page.
        url: the URL of the page.
        schema: a valid JSON Schema.
        values: the values of the schema's fields; only grounded ones are learned from.
    """
    if find_bomb(html):
        return Recipe()
    reader = RecipeReader(html, markdown, url=url, schema=schema)
    finder = NodeFinder(reader.index.page, markdown)
    learner = FieldLearner(reader)
    fields: list[FieldRule] = []
    single = [
        (names, value)
        for value in values
        if len(names := tuple(part for part in value.path if isinstance(part, str)))
        == len(value.path)
        and is_worth_learning(value)
    ]
    for path, value in single[:MAX_FIELDS]:
        spec = field_spec_at(reader.root, path)
        if spec is not None and spec.is_scalar:
            fields += islice(learner.rules_for(path, spec, value, finder.nodes_of(value)), 1)
    lists: list[ListRule] = []
    for path, records in islice(_records(values).items(), MAX_LISTS):
        spec = field_spec_at(reader.root, path)
        if spec is not None and records:
            rule = ListLearner(reader, finder, learner).learn(path, spec, records)
            lists += [rule] if rule is not None else []
    recipe = Recipe(fields=tuple(fields), lists=tuple(lists))
    # Rules that this page contradicts would be dropped on the next one.
    applied, found = reader.apply(recipe), extract_fields(html, markdown, url=url, schema=schema)
    return Recipe(
        fields=tuple(each for each in recipe.fields if not is_contradicted(each, applied, found)),
        lists=tuple(each for each in recipe.lists if not is_contradicted(each, applied, found)),
    )


Records = dict[int, dict[tuple[str, ...], FieldValue]]


def _records(values: Sequence[FieldValue]) -> dict[tuple[str, ...], Records | None]:
    """Return the values of arrays by path; None for an array that cannot be learned whole."""
    found: dict[tuple[str, ...], Records | None] = {}
    for value in values:
        path = value.path
        position = next((n for n, part in enumerate(path) if isinstance(part, int)), None)
        if position is None:
            continue
        names = tuple(part for part in path[:position] if isinstance(part, str))
        below = tuple(part for part in path[position + 1 :] if isinstance(part, str))
        records = found.setdefault(names, {})
        if len(below) < len(path) - position - 1 or not is_worth_learning(value):
            found[names] = None
        elif records is not None:
            records.setdefault(int(path[position]), {})[below] = value
    return found

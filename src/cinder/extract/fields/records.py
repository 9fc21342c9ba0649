"""Finds lists of records: rows, cards and items that stand together and are built alike."""

from collections import Counter
from collections.abc import Iterable, Iterator

from cinder.extract.fields.candidates import Candidate, Finds, Group, Span, Thing
from cinder.extract.fields.flat_page import Element, FlatPage
from cinder.extract.fields.named_elements import name_of_record
from cinder.extract.fields.words import words_of

MAX_GROUPS = 300
MAX_RECORDS = 1_000
# Of all groups together: groups within groups share their elements.
_MAX_ALL_RECORDS = 6_000
_MAX_CANDIDATES = 80
_MIN_ALIKE = 2
_MIN_HEADED = 3
_HEADINGS = ("h2", "h3", "h4", "h5")
_LABEL_TAGS = frozenset((*_HEADINGS, "h1", "h6", "caption", "legend", "summary"))
_NEVER_RECORDS = frozenset(
    ("br", "hr", "td", "th", "option", "dt", "dd", "col", "thead", "tbody", "p", "b", "img", "tr")
)
_MAX_LOOKS_BACK = 3
_MAX_LABEL_CHARS = 200


def find_groups(page: FlatPage, finds: Finds, table_rows: list[list[Span]]) -> list[Group]:
    """Return the groups of records of a page, in document order, within bounds."""
    groups: list[Group] = []
    left = _MAX_ALL_RECORDS
    for spans, first in _all_spans(page, table_rows):
        if len(groups) >= MAX_GROUPS or left <= 0:
            break
        groups.append(_group(page, finds, spans[:left], first))
        left -= len(spans)
    return groups


def repeated_candidates(groups: Iterable[Group]) -> set[int]:
    """Return the identities of candidates that several records of one group have alike."""
    found: set[int] = set()
    for group in groups:
        counts = Counter(key for record in group.records for key in _labels_of(record))
        found.update(
            id(each)
            for record in group.records
            for each in record.candidates
            if counts[(each.method, each.label)] > 1
        )
    return found


def _labels_of(record: Thing) -> set[object]:
    return {(each.method, each.label) for each in record.candidates}


def _all_spans(
    page: FlatPage, table_rows: list[list[Span]]
) -> Iterator[tuple[list[Span], Element]]:
    for spans in table_rows:
        if spans:
            yield spans, _table_of(page, spans[0])
    for holder in page.elements:
        for spans in _alike_spans(page, holder):
            yield spans, page.elements[spans[0].first]


def _table_of(page: FlatPage, row: Span) -> Element:
    element = page.elements[row.first]
    while element.tag != "table" and element.parent >= 0:
        element = page.elements[element.parent]
    return element


def _alike_spans(page: FlatPage, holder: Element) -> Iterator[list[Span]]:
    children = page.children_of(holder)
    if len(children) < _MIN_ALIKE:
        return
    alike: dict[tuple[str, str], list[Element]] = {}
    for child in children:
        if child.tag not in _NEVER_RECORDS and child.stop > child.start:
            alike.setdefault((child.tag, _look(page, child)), []).append(child)
    for (tag, _), members in alike.items():
        if tag in _HEADINGS:
            if len(members) >= _MIN_HEADED:
                yield _headed_spans(members, holder)
        elif len(members) >= _MIN_ALIKE:
            yield [Span(each.index, each.end) for each in members[:MAX_RECORDS]]


def _look(page: FlatPage, element: Element) -> str:
    """Return what elements of one list share: the first class, or the tags of what they hold."""
    if element.tag == "li":
        return ""
    names = element.classes.split()
    if names:
        return names[0]
    return " ".join(child.tag for child in page.children_of(element)[:3])


def _headed_spans(headings: list[Element], holder: Element) -> list[Span]:
    """Return the stretches from each heading up to the next."""
    ends = [*(each.index for each in headings[1:]), holder.end]
    pairs = zip(headings, ends, strict=True)
    return [Span(heading.index, end) for heading, end in pairs][:MAX_RECORDS]


def _group(page: FlatPage, finds: Finds, spans: list[Span], first: Element) -> Group:
    said = _label_before(page, first)
    return Group(
        records=tuple(_record(page, finds, span) for span in spans[:MAX_RECORDS]),
        label=words_of(said),
        said=said,
        is_chrome=first.is_chrome,
    )


def _record(page: FlatPage, finds: Finds, span: Span) -> Thing:
    name = name_of_record(page, span.first, span.end)
    own: list[Candidate] = [name] if name is not None else []
    return Thing(
        candidates=(*own, *finds.within(span)[:_MAX_CANDIDATES]),
        lists=tuple(finds.lists_within(span)[:_MAX_CANDIDATES]),
        anchor=name.text if name is not None else "",
    )


def _label_before(page: FlatPage, element: Element) -> str:
    """Return the heading that a list stands under, or its caption."""
    for inner in page.children_of(element)[:1]:
        if inner.tag == "caption":
            return page.text_of(inner, _MAX_LABEL_CHARS)
    for _ in range(_MAX_LOOKS_BACK):
        if element.parent < 0:
            break
        before = page.elements[element.parent].children
        place = before.index(element.index) if len(before) <= MAX_RECORDS else 0
        for index in reversed(before[max(0, place - _MAX_LOOKS_BACK) : place]):
            other = page.elements[index]
            if other.tag in _LABEL_TAGS or _is_bold_line(page, other):
                return page.text_of(other, _MAX_LABEL_CHARS)
        element = page.elements[element.parent]
    return ""


def _is_bold_line(page: FlatPage, element: Element) -> bool:
    if element.has_own_text or len(element.children) != 1:
        return False
    return page.elements[element.children[0]].tag in ("b", "strong")

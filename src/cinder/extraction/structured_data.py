"""Reads candidates from JSON-LD, microdata and the meta tags of a page."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Union

from selectolax.lexbor import LexborHTMLParser

from cinder.extraction.candidates import Candidate, CandidateList, Entity, RecordGroup
from cinder.extraction.synonyms import Words, words_of
from cinder.html.metadata.dates import DATE_LENGTH
from cinder.html.tree import ancestors, collapse
from cinder.html.visible_text import visible_text
from cinder.models.document import Json, PageMetadata
from cinder.models.extraction import Method

MAX_ITEMS = 1_000
_MAX_DEPTH = 8
_MAX_VALUES = 500
_MAX_PROPERTIES = 100
_MAX_VALUE_CHARS = 5_000
_SITE_PARTS = frozenset(("BreadcrumbList", "SearchAction", "SiteNavigationElement"))
# The properties whose text can represent a whole item.
_NAMES = ("name", "text", "value", "@value", "headline", "ratingValue", "item")
_ONE_OF_SEVERAL = 0.85
# Some pages repeat the same item for each of its properties.
_MAX_ALIKE = 5

Value = Union[str, "LinkedDataItem"]


@dataclass(slots=True, kw_only=True)
class LinkedDataItem:
    """An item of linked data: its types, and the values of each property."""

    method: Method
    kinds: tuple[str, ...] = ()
    properties: dict[str, list[Value]] = field(default_factory=dict)

    def add(self, name: str, value: Value) -> None:
        """Add a value, unless the item is full."""
        if name in self.properties or len(self.properties) < _MAX_PROPERTIES:
            values = self.properties.setdefault(name, [])
            if len(values) < _MAX_VALUES:
                values.append(value)

    @property
    def is_part_of_site(self) -> bool:
        """Whether it describes the site's navigation, not the page's content."""
        return not _SITE_PARTS.isdisjoint(self.kinds)


class JsonLdReader:
    """Builds items from JSON-LD objects, following references, within bounds."""

    def __init__(self, objects: Sequence[Mapping[str, Json]]) -> None:
        self._objects = objects
        self._by_id = {named: each for each in objects if isinstance(named := each.get("@id"), str)}
        self._left = MAX_ITEMS

    def read(self) -> list[LinkedDataItem]:
        """Return the top-level items."""
        return [self._item(each, 0) for each in self._objects]

    def _item(self, data: Mapping[str, Json], depth: int) -> LinkedDataItem:
        self._left -= 1
        identifier = data.get("@id")
        if isinstance(identifier, str) and len(data) == 1:
            data = self._by_id.get(identifier, data)
        kinds = data.get("@type")
        names = kinds if isinstance(kinds, list) else [kinds]
        item = LinkedDataItem(
            method=Method.JSON_LD,
            kinds=tuple(name.rpartition("/")[2] for name in names if isinstance(name, str)),
        )
        for name, value in data.items():
            if not name.startswith("@"):
                self._add(item, name, value, depth)
        return item

    def _add(self, item: LinkedDataItem, name: str, value: Json, depth: int) -> None:
        if isinstance(value, Mapping):
            if depth < _MAX_DEPTH and self._left > 0:
                item.add(name, self._item(value, depth + 1))
        elif isinstance(value, Sequence) and not isinstance(value, str):
            for each in value[:_MAX_VALUES]:
                if not isinstance(each, Sequence) or isinstance(each, str):
                    self._add(item, name, each, depth)
        elif isinstance(value, bool):
            item.add(name, "true" if value else "false")
        elif isinstance(value, int | float):
            item.add(name, str(value))
        # Some templates escape text for HTML even within a script.
        elif isinstance(value, str) and (text := collapse(unescape(value[:_MAX_VALUE_CHARS]))):
            item.add(name, text)


def describe_item(item: LinkedDataItem) -> Entity:
    """Return the candidates of an item and of the items nested in it."""
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    groups: list[RecordGroup] = []
    for path, name, owner, is_one_of_several in _walk(item):
        values = owner.properties[name]
        texts = [value for value in values if isinstance(value, str)]
        items = []
        for value in values:
            if isinstance(value, LinkedDataItem):
                # An entry of a list has the actual item as a property.
                inner = value.properties.get("item", [])[:1]
                items.append(next((i for i in inner if isinstance(i, LinkedDataItem)), value))
        texts += [text for each in items if (text := _representative_text(each))]
        weight = _ONE_OF_SEVERAL if is_one_of_several else 1.0
        _add_candidates((found, lists), path, name, texts, method=owner.method, weight=weight)
        if items:
            groups.append(_group(name, _path_words(path), items))
    return Entity(
        candidates=tuple(found), lists=tuple(lists), groups=tuple(groups), anchor=_name_of(item)
    )


def _add_candidates(
    into: tuple[list[Candidate], list[CandidateList]],
    path: tuple[str, ...],
    name: str,
    texts: Sequence[str],
    *,
    method: Method,
    weight: float = 1.0,
) -> None:
    if not texts:
        return
    found, lists = into
    label, context, label_text = words_of(name), _path_words(path), ".".join((*path, name))
    items = tuple(
        Candidate(
            text=text,
            label=label,
            path=context,
            label_text=label_text,
            method=method,
            weight=weight,
        )
        for text in texts
    )
    found.append(items[0])
    if path:
        # The names of owner and property together may be a known phrase.
        joined = words_of(f"{path[-1]} {name}")
        found.append(replace(items[0], label=joined, path=_path_words(path[:-1])))
    lists.append(CandidateList(items=items, label=label, path=context))


def _walk(item: LinkedDataItem) -> Iterator[tuple[tuple[str, ...], str, LinkedDataItem, bool]]:
    """Yield each property of an item and its nested items: path, name, owner, is one of several."""
    waiting: deque[tuple[tuple[str, ...], LinkedDataItem, bool]] = deque([((), item, False)])
    for _ in range(MAX_ITEMS):
        if not waiting:
            return
        path, owner, is_one_of_several = waiting.popleft()
        for name, values in owner.properties.items():
            yield path, name, owner, is_one_of_several
            inner = [value for value in values if isinstance(value, LinkedDataItem)]
            for each in inner[:_MAX_ALIKE] if len(path) < _MAX_DEPTH else ():
                waiting.append(((*path, name), each, is_one_of_several or len(inner) > 1))


def _group(name: str, path: Words, items: Sequence[LinkedDataItem]) -> RecordGroup:
    return RecordGroup(
        records=tuple(_describe_record(item) for item in items),
        label=words_of(name),
        path=path,
    )


def _describe_record(item: LinkedDataItem) -> Entity:
    """Return the candidates of an item without its groups, which are collected separately."""
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    for path, name, owner, _ in _walk(item):
        texts = [
            text
            for value in owner.properties[name]
            if (text := value if isinstance(value, str) else _representative_text(value))
        ]
        _add_candidates((found, lists), path, name, texts, method=owner.method)
    return Entity(candidates=tuple(found), lists=tuple(lists), anchor=_name_of(item))


def sibling_groups(items: Sequence[LinkedDataItem]) -> Iterator[RecordGroup]:
    """Yield the top-level items of one type as the records of a list."""
    by_kind: dict[str, list[LinkedDataItem]] = {}
    for item in items:
        for kind in item.kinds[:1]:
            by_kind.setdefault(kind, []).append(item)
    for kind, alike in by_kind.items():
        if len(alike) > 1:
            yield _group(kind, (), alike)


def _path_words(path: tuple[str, ...]) -> Words:
    return tuple(word for name in path for word in words_of(name))


def _representative_text(item: LinkedDataItem) -> str:
    """Return the text that represents an item; of a nameless place, its town."""
    for name in ("text", *_NAMES) if "HowToStep" in item.kinds else _NAMES:
        for value in item.properties.get(name, [])[:1]:
            if isinstance(value, str):
                return value
    for address in item.properties.get("address", [])[:1]:
        if isinstance(address, LinkedDataItem):
            towns = address.properties.get("addressLocality", [])
            return next((town for town in towns if isinstance(town, str)), "")
    return ""


def _name_of(item: LinkedDataItem) -> str:
    return next((v for v in item.properties.get("name", []) if isinstance(v, str)), "")


_MAX_ELEMENTS = 5_000
_MAX_ANCESTORS = 60
_MAX_NAMES = 4
_MAX_TEXT_CHARS = 5_000
# The attribute that has the value of an element, instead of its text.
_VALUE_ATTRIBUTES = {
    "time": "datetime",
    **dict.fromkeys(("a", "link", "area"), "href"),
    **dict.fromkeys(("img", "audio", "video", "source", "iframe"), "src"),
    **dict.fromkeys(("data", "meter"), "value"),
}


def read_microdata(tree: LexborHTMLParser) -> list[LinkedDataItem]:
    """Return the top-level items of a page."""
    items: dict[int, LinkedDataItem] = {}
    top: list[LinkedDataItem] = []
    for element in tree.css("[itemscope], [itemprop]")[:_MAX_ELEMENTS]:
        item = None
        if "itemscope" in element.attributes and len(items) < MAX_ITEMS:
            kinds = (element.attributes.get("itemtype") or "").split()[:_MAX_NAMES]
            item = LinkedDataItem(
                method=Method.MICRODATA, kinds=tuple(kind.rpartition("/")[2] for kind in kinds)
            )
            item = items.setdefault(element.mem_id, item)
        names = (element.attributes.get("itemprop") or "").split()[:_MAX_NAMES]
        around = ancestors(element, _MAX_ANCESTORS) if names else ()
        owner = next((items[above.mem_id] for above in around if above.mem_id in items), None)
        if owner is not None:
            value: Value | None = item
            if value is None:
                source = _VALUE_ATTRIBUTES.get(element.tag or "", "content")
                text = element.attributes.get("content") or element.attributes.get(source)
                value = collapse((text or visible_text(element))[:_MAX_TEXT_CHARS])
            for name in names:
                owner.add(name, value)
        elif item is not None:
            top.append(item)
    return top


_IGNORED_META = frozenset(("og:type", "og:locale", "og:site_name", "og:url", "og:title"))
_MAX_KEYWORDS = 50
_DECLARED = 0.95
# Metadata weighs more than linked data alone: it considers all that a page declares and shows,
# while linked data often comes from a template.
_DERIVED = 1.15


def read_declared_values(
    metadata: PageMetadata,
    meta: dict[str, str],
    headings: Collection[str],
    as_written: Callable[[str], str | None],
) -> Iterator[Candidate]:
    """Yield what the page declares about itself: title, author, dates, properties of a product.

    Args:
        metadata: the metadata that was derived from the page.
        meta: the meta tags.
        headings: the texts of the page's `h1` headings.
        as_written: returns how the page itself writes a value, or None if it does not.
    """
    title_weight = _DERIVED if metadata.title in headings else _DECLARED
    declared = (
        (metadata.title, "name", title_weight),
        (metadata.description, "description", _DECLARED),
        (metadata.author, "author", _DERIVED),
        (metadata.published, "published date", _DERIVED),
        (metadata.modified, "modified date", _DERIVED),
        (metadata.language, "language code", _DECLARED),
        (metadata.canonical, "url", _DECLARED),
        (metadata.site_name, "site name", _DECLARED),
        (metadata.images[0] if metadata.images else None, "image", _DECLARED),
    )
    for value, meaning, weight in declared:
        if value and (text := as_written(value)):
            # A date that was only found near the heading may be about something else.
            is_literal = text[:DATE_LENGTH] == value[:DATE_LENGTH]
            yield _candidate(text, meaning, weight if is_literal else _DECLARED)
    for name, text in meta.items():
        # Names without a prefix describe the delivery of the page.
        if ":" in name and name not in _IGNORED_META:
            yield _candidate(text, name.partition(":")[2].replace(":", " "), 1.0)


def read_keywords(metadata: PageMetadata) -> Iterator[CandidateList]:
    """Yield the page's keywords as a list."""
    items = tuple(_candidate(word, "keywords", _DECLARED) for word in metadata.keywords)
    if items:
        yield CandidateList(items=items[:_MAX_KEYWORDS], label=words_of("keywords"))


def _candidate(text: str, meaning: str, weight: float) -> Candidate:
    return Candidate(
        text=text, label=words_of(meaning), label_text=meaning, method=Method.META, weight=weight
    )

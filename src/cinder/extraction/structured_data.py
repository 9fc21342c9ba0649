"""Reads candidates from JSON-LD, microdata and the meta tags of a page."""

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Union

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.extraction.candidates import Candidate, CandidateList, Entity, RecordGroup
from cinder.extraction.synonyms import Words, words_of
from cinder.html.tree import collapse
from cinder.html.visible_text import visible_text
from cinder.models.document import Json, PageMetadata
from cinder.models.extraction import Method

MAX_ITEMS = 1_000
_MAX_DEPTH = 8
_MAX_VALUES = 500
_MAX_PROPERTIES = 100
_MAX_VALUE_CHARS = 5_000
_SITE_PARTS = frozenset(("BreadcrumbList", "SearchAction", "SiteNavigationElement"))
# An item that says hardly more than its name stands for it.
_NAMES = ("name", "text", "value", "@value", "headline", "ratingValue", "item")
_ONE_OF_SEVERAL = 0.85
# Some pages begin the same item anew for each of its properties.
_MAX_ALIKE = 5

Value = Union[str, "LinkedDataItem"]


@dataclass(slots=True, kw_only=True)
class LinkedDataItem:
    """A thing that linked data describes: its types, and the values of each property."""

    method: Method
    kinds: tuple[str, ...] = ()
    properties: dict[str, list[Value]] = field(default_factory=dict)

    def add(self, name: str, value: Value) -> None:
        """Add a value, as far as there is room."""
        if name in self.properties or len(self.properties) < _MAX_PROPERTIES:
            values = self.properties.setdefault(name, [])
            if len(values) < _MAX_VALUES:
                values.append(value)

    @property
    def is_part_of_site(self) -> bool:
        """Whether it describes how the site is used, not what the page is about."""
        return not _SITE_PARTS.isdisjoint(self.kinds)


class JsonLdReader:
    """Makes items of JSON-LD objects, following references, within bounds."""

    def __init__(self, objects: Sequence[Mapping[str, Json]]) -> None:
        self._objects = objects
        self._by_id = {named: each for each in objects if isinstance(named := each.get("@id"), str)}
        self._left = MAX_ITEMS

    def read(self) -> list[LinkedDataItem]:
        """Return the top items."""
        return [self._item(each, 0) for each in self._objects]

    def _item(self, said: Mapping[str, Json], depth: int) -> LinkedDataItem:
        self._left -= 1
        named = said.get("@id")
        if isinstance(named, str) and len(said) == 1:
            said = self._by_id.get(named, said)
        item = LinkedDataItem(method=Method.JSON_LD, kinds=_kinds(said.get("@type")))
        for name, value in said.items():
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
        elif (text := _text(value)) is not None:
            item.add(name, text)


def _text(value: Json) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    # Templates escape for HTML what they write into a script.
    return collapse(unescape(value[:_MAX_VALUE_CHARS])) or None if isinstance(value, str) else None


def _kinds(said: Json) -> tuple[str, ...]:
    names = said if isinstance(said, list) else [said]
    return tuple(name.rpartition("/")[2] for name in names if isinstance(name, str))


def describe_item(item: LinkedDataItem) -> Entity:
    """Return what an item says of itself and of what belongs to it."""
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    groups: list[RecordGroup] = []
    for path, name, owner, is_one_of_several in _walk(item):
        values = owner.properties[name]
        texts = [value for value in values if isinstance(value, str)]
        items = [_unwrapped(value) for value in values if isinstance(value, LinkedDataItem)]
        texts += [text for each in items if (text := _stands_for(each))]
        weight = _ONE_OF_SEVERAL if is_one_of_several else 1.0
        made = _candidates(path, name, texts, owner.method, weight)
        found += made[:1]
        found += _joined(made[:1], path, name)
        lists += _listed(made)
        if items:
            groups.append(_group(name, _path_words(path), items))
    return Entity(
        candidates=tuple(found), lists=tuple(lists), groups=tuple(groups), anchor=_name_of(item)
    )


def _candidates(
    path: tuple[str, ...], name: str, texts: Sequence[str], method: Method, weight: float
) -> list[Candidate]:
    label, context, said = words_of(name), _path_words(path), ".".join((*path, name))
    return [
        Candidate(text=text, label=label, path=context, said=said, method=method, weight=weight)
        for text in texts
    ]


def _joined(made: Sequence[Candidate], path: tuple[str, ...], name: str) -> Iterator[Candidate]:
    """Yield the same under the name of its owner and its own, which together may be a word."""
    for each in made if path else ():
        label = words_of(f"{path[-1]} {name}")
        yield replace(each, label=label, path=_path_words(path[:-1]))


def _listed(made: Sequence[Candidate]) -> Iterator[CandidateList]:
    if made:
        first = made[0]
        yield CandidateList(items=tuple(made), label=first.label, path=first.path, said=first.said)


def _walk(item: LinkedDataItem) -> Iterator[tuple[tuple[str, ...], str, LinkedDataItem, bool]]:
    """Yield each property of an item and of the items beneath it: path, name, owner."""
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
        records=tuple(_describe_alone(item) for item in items),
        label=words_of(name),
        path=path,
        said=name,
    )


def _describe_alone(item: LinkedDataItem) -> Entity:
    """Return what an item says without the groups within it, which would be read again."""
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    for path, name, owner, _ in _walk(item):
        texts = [
            text
            for value in owner.properties[name]
            if (text := value if isinstance(value, str) else _stands_for(value))
        ]
        made = _candidates(path, name, texts, owner.method, 1.0)
        found += made[:1]
        found += _joined(made[:1], path, name)
        lists += _listed(made)
    return Entity(candidates=tuple(found), lists=tuple(lists), anchor=_name_of(item))


def sibling_groups(items: Sequence[LinkedDataItem]) -> Iterator[RecordGroup]:
    """Yield the top items of one type as the records of a list."""
    by_kind: dict[str, list[LinkedDataItem]] = {}
    for item in items:
        for kind in item.kinds[:1]:
            by_kind.setdefault(kind, []).append(item)
    for kind, alike in by_kind.items():
        if len(alike) > 1:
            yield _group(kind, (), alike)


def _path_words(path: tuple[str, ...]) -> Words:
    return tuple(word for name in path for word in words_of(name))


def _unwrapped(item: LinkedDataItem) -> LinkedDataItem:
    """Return what an entry of a list is about."""
    inner = item.properties.get("item", [])
    return inner[0] if inner and isinstance(inner[0], LinkedDataItem) else item


def _stands_for(item: LinkedDataItem) -> str:
    names = ("text", *_NAMES) if "HowToStep" in item.kinds else _NAMES
    for name in names:
        for value in item.properties.get(name, [])[:1]:
            if isinstance(value, str):
                return value
    return _town_of(item)


def _town_of(item: LinkedDataItem) -> str:
    """Return the town of a place that has no name."""
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
# Which attribute of which element says what its text does not.
_SAID_BY = {
    "meta": "content",
    "time": "datetime",
    "a": "href",
    "link": "href",
    "area": "href",
    "img": "src",
    "audio": "src",
    "video": "src",
    "source": "src",
    "iframe": "src",
    "data": "value",
    "meter": "value",
}


def read_microdata(tree: LexborHTMLParser) -> list[LinkedDataItem]:
    """Return the items of a page that belong to no other."""
    items: dict[int, LinkedDataItem] = {}
    top: list[LinkedDataItem] = []
    for element in tree.css("[itemscope], [itemprop]")[:_MAX_ELEMENTS]:
        item = None
        if "itemscope" in element.attributes and len(items) < MAX_ITEMS:
            kinds = (element.attributes.get("itemtype") or "").split()[:_MAX_NAMES]
            item = LinkedDataItem(
                method=Method.MICRODATA, kinds=tuple(kind.rpartition("/")[2] for kind in kinds)
            )
            items.setdefault(element.mem_id, item)
            item = items[element.mem_id]
        names = (element.attributes.get("itemprop") or "").split()[:_MAX_NAMES]
        owner = _owner(element, items) if names else None
        if owner is not None:
            for name in names:
                owner.add(name, item if item is not None else _text_of(element))
        elif item is not None:
            top.append(item)
    return top


def _owner(element: LexborNode, items: dict[int, LinkedDataItem]) -> LinkedDataItem | None:
    above = element.parent
    for _ in range(_MAX_ANCESTORS):
        if above is None:
            return None
        if above.mem_id in items:
            return items[above.mem_id]
        above = above.parent
    return None


def _text_of(element: LexborNode) -> str:
    attributes = element.attributes
    said = attributes.get("content") or attributes.get(_SAID_BY.get(element.tag or "", "content"))
    if said:
        return collapse(said[:_MAX_TEXT_CHARS])
    return collapse(visible_text(element)[:_MAX_TEXT_CHARS])


_UNTELLING = frozenset(("og:type", "og:locale", "og:site_name", "og:url", "og:title"))
_MAX_KEYWORDS = 50
_DATE_LENGTH = len("2025-01-31")
_TOLD = 0.95
# What cinder made out of all that a page declares and shows; linked data is a part of that, and
# often that of a template.
_MADE_OUT = 1.15


def read_declared_values(
    metadata: PageMetadata,
    meta: dict[str, str],
    headings: Collection[str],
    as_written: Callable[[str], str | None],
) -> Iterator[Candidate]:
    """Yield what the page says about itself: title, author, dates, properties of a product.

    Args:
        metadata: what was made of all that the page declares and shows.
        meta: the meta tags.
        headings: the texts of the page's first-rank headings.
        as_written: returns how the page itself writes a value, or None where it does not.
    """
    title_weight = _MADE_OUT if metadata.title in headings else _TOLD
    told = (
        (metadata.title, "name", title_weight),
        (metadata.description, "description", _TOLD),
        (metadata.author, "author", _MADE_OUT),
        (metadata.published, "published date", _MADE_OUT),
        (metadata.modified, "modified date", _MADE_OUT),
        (metadata.language, "language code", _TOLD),
        (metadata.canonical, "url", _TOLD),
        (metadata.site_name, "site name", _TOLD),
        (metadata.images[0] if metadata.images else None, "image", _TOLD),
    )
    for value, meaning, weight in told:
        if value and (text := as_written(value)):
            # A day that only stands beside the heading may be of something else.
            is_said = text[:_DATE_LENGTH] == value[:_DATE_LENGTH]
            yield _candidate(text, meaning, weight if is_said else _TOLD)
    for name, text in meta.items():
        # Those of other kinds speak of the page's delivery.
        if ":" in name and name not in _UNTELLING:
            yield _candidate(text, name.partition(":")[2].replace(":", " "), 1.0)


def read_keywords(metadata: PageMetadata) -> Iterator[CandidateList]:
    """Yield the page's keywords as a list."""
    items = tuple(_candidate(word, "keywords", _TOLD) for word in metadata.keywords)
    if items:
        label = words_of("keywords")
        yield CandidateList(items=items[:_MAX_KEYWORDS], label=label, said="keywords")


def _candidate(text: str, meaning: str, weight: float) -> Candidate:
    return Candidate(
        text=text, label=words_of(meaning), said=meaning, method=Method.META, weight=weight
    )

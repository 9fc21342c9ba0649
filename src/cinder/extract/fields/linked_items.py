"""Items of linked data, whether JSON-LD or microdata, and the candidates that they give."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from typing import Union

from cinder.extract.fields.candidates import Candidate, CandidateList, Group, Thing
from cinder.extract.fields.words import Words, words_of
from cinder.extract.html_tree import collapse
from cinder.model.document import Json
from cinder.model.extracted_data import Method

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

Value = Union[str, "Item"]


@dataclass(slots=True, kw_only=True)
class Item:
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

    def read(self) -> list[Item]:
        """Return the top items."""
        return [self._item(each, 0) for each in self._objects]

    def _item(self, said: Mapping[str, Json], depth: int) -> Item:
        self._left -= 1
        named = said.get("@id")
        if isinstance(named, str) and len(said) == 1:
            said = self._by_id.get(named, said)
        item = Item(method=Method.JSON_LD, kinds=_kinds(said.get("@type")))
        for name, value in said.items():
            if not name.startswith("@"):
                self._add(item, name, value, depth)
        return item

    def _add(self, item: Item, name: str, value: Json, depth: int) -> None:
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


def describe_item(item: Item) -> Thing:
    """Return what an item says of itself and of what belongs to it."""
    found: list[Candidate] = []
    lists: list[CandidateList] = []
    groups: list[Group] = []
    for path, name, owner, is_one_of_several in _walk(item):
        values = owner.properties[name]
        texts = [value for value in values if isinstance(value, str)]
        items = [_unwrapped(value) for value in values if isinstance(value, Item)]
        texts += [text for each in items if (text := _stands_for(each))]
        weight = _ONE_OF_SEVERAL if is_one_of_several else 1.0
        made = _candidates(path, name, texts, owner.method, weight)
        found += made[:1]
        found += _joined(made[:1], path, name)
        lists += _listed(made)
        if items:
            groups.append(_group(name, _path_words(path), items))
    return Thing(
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


def _walk(item: Item) -> Iterator[tuple[tuple[str, ...], str, Item, bool]]:
    """Yield each property of an item and of the items beneath it: path, name, owner."""
    waiting: deque[tuple[tuple[str, ...], Item, bool]] = deque([((), item, False)])
    for _ in range(MAX_ITEMS):
        if not waiting:
            return
        path, owner, is_one_of_several = waiting.popleft()
        for name, values in owner.properties.items():
            yield path, name, owner, is_one_of_several
            inner = [value for value in values if isinstance(value, Item)]
            for each in inner[:_MAX_ALIKE] if len(path) < _MAX_DEPTH else ():
                waiting.append(((*path, name), each, is_one_of_several or len(inner) > 1))


def _group(name: str, path: Words, items: Sequence[Item]) -> Group:
    return Group(
        records=tuple(_describe_alone(item) for item in items),
        label=words_of(name),
        path=path,
        said=name,
    )


def _describe_alone(item: Item) -> Thing:
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
    return Thing(candidates=tuple(found), lists=tuple(lists), anchor=_name_of(item))


def sibling_groups(items: Sequence[Item]) -> Iterator[Group]:
    """Yield the top items of one type as the records of a list."""
    by_kind: dict[str, list[Item]] = {}
    for item in items:
        for kind in item.kinds[:1]:
            by_kind.setdefault(kind, []).append(item)
    for kind, alike in by_kind.items():
        if len(alike) > 1:
            yield _group(kind, (), alike)


def _path_words(path: tuple[str, ...]) -> Words:
    return tuple(word for name in path for word in words_of(name))


def _unwrapped(item: Item) -> Item:
    """Return what an entry of a list is about."""
    inner = item.properties.get("item", [])
    return inner[0] if inner and isinstance(inner[0], Item) else item


def _stands_for(item: Item) -> str:
    names = ("text", *_NAMES) if "HowToStep" in item.kinds else _NAMES
    for name in names:
        for value in item.properties.get(name, [])[:1]:
            if isinstance(value, str):
                return value
    return _town_of(item)


def _town_of(item: Item) -> str:
    """Return the town of a place that has no name."""
    for address in item.properties.get("address", [])[:1]:
        if isinstance(address, Item):
            towns = address.properties.get("addressLocality", [])
            return next((town for town in towns if isinstance(town, str)), "")
    return ""


def _name_of(item: Item) -> str:
    return next((v for v in item.properties.get("name", []) if isinstance(v, str)), "")

"""Reads the microdata of a page into items."""

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.extract.fields.linked_items import MAX_ITEMS, Item
from cinder.extract.html_tree import collapse
from cinder.extract.visible_text import visible_text
from cinder.model.extracted_data import Method

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


def read_microdata(tree: LexborHTMLParser) -> list[Item]:
    """Return the items of a page that belong to no other."""
    items: dict[int, Item] = {}
    top: list[Item] = []
    for element in tree.css("[itemscope], [itemprop]")[:_MAX_ELEMENTS]:
        item = None
        if "itemscope" in element.attributes and len(items) < MAX_ITEMS:
            kinds = (element.attributes.get("itemtype") or "").split()[:_MAX_NAMES]
            item = Item(
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


def _owner(element: LexborNode, items: dict[int, Item]) -> Item | None:
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

"""A page as a list of its elements in document order, over one text that they are parts of."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from cinder.html.tree import collapse, name_words
from cinder.html.visible_text import INLINE_TAGS

MAX_ELEMENTS = 40_000
_MAX_CLASS_CHARS = 300
_NOT_TEXT = frozenset(("script", "style", "template", "noscript", "svg", "select", "textarea"))
_EMPTY_TAGS = frozenset(("br", "hr", "img", "input", "picture", "video", "audio"))
_CHROME_TAGS = frozenset(("nav", "footer", "aside", "form", "menu"))
_NEVER_CHROME = frozenset(("html", "body", "main", "article"))
_CHROME_WORDS = frozenset(
    (
        *("nav", "navbar", "navigation", "menu", "footer", "foot", "sidebar", "aside", "related"),
        *("recommended", "recommendations", "popular", "trending", "similar", "breadcrumb"),
        *("breadcrumbs", "crumbs", "cookie", "cookies", "newsletter", "promo", "teaser", "teasers"),
        *("advert", "advertisement", "comments", "upsell", "widget", "masthead", "topbar"),
    )
)


@dataclass(slots=True)
class PageElement:
    """An element: its position in the list, in the tree and in the text."""

    index: int
    tag: str
    attributes: dict[str, str | None]
    parent: int
    start: int
    is_chrome: bool
    stop: int = 0
    end: int = 0
    """The index of the first element after it and its descendants."""
    children: list[int] = field(default_factory=list)
    holds_blocks: bool = False
    has_own_text: bool = False
    """Whether some text is directly in it, not in a child."""

    @property
    def is_block(self) -> bool:
        """Whether it is rendered on lines of its own."""
        return self.tag not in INLINE_TAGS

    @property
    def classes(self) -> str:
        """Its classes, cut to a length limit."""
        return (self.attributes.get("class") or "")[:_MAX_CLASS_CHARS]


class FlatPage:
    """The first MAX_ELEMENTS elements of a page, and their text."""

    def __init__(self, root: LexborNode) -> None:
        self.elements: list[PageElement] = []
        self._pieces: list[str] = []
        self._length = 0
        self.is_cut = False
        # The open elements: identity and index, which is None for those that are skipped.
        opened: list[tuple[int, int | None]] = []
        for node in root.traverse(include_text=True):
            parent = node.parent
            above = parent.mem_id if parent is not None else 0
            while opened and opened[-1][0] != above:
                self._close(opened.pop()[1])
            holder = opened[-1][1] if opened else -1
            if node.is_text_node:
                if holder is not None and holder >= 0:
                    text = node.text_content or ""
                    if text.strip():
                        self.elements[holder].has_own_text = True
                    self._add(" ".join(text.split("\n")))
                continue
            if len(self.elements) >= MAX_ELEMENTS:
                self.is_cut = True
                break
            opened.append((node.mem_id, self._open(node, holder)))
        while opened:
            self._close(opened.pop()[1])
        self.text = "".join(self._pieces)

    def text_of(self, element: PageElement, max_chars: int = 2_000) -> str:
        """Return the text of an element in one line."""
        return collapse(self.text[element.start : min(element.stop, element.start + max_chars)])

    def lines_of(self, element: PageElement, max_chars: int = 4_000) -> Iterator[str]:
        """Yield the lines of an element that are not empty."""
        part = self.text[element.start : min(element.stop, element.start + max_chars)]
        return filter(None, map(collapse, part.split("\n")))

    def length_of(self, element: PageElement) -> int:
        """Return the length of an element's text, white space included."""
        return element.stop - element.start

    def children_of(self, element: PageElement) -> list[PageElement]:
        """Return the child elements of an element."""
        return [self.elements[index] for index in element.children]

    def within(self, element: PageElement) -> Iterator[PageElement]:
        """Yield the descendants of an element, in document order."""
        return (self.elements[index] for index in range(element.index + 1, element.end))

    def next_sibling(self, element: PageElement) -> PageElement | None:
        """Return the element that follows in the same parent."""
        if element.parent < 0 or element.end >= len(self.elements):
            return None
        following = self.elements[element.end]
        return following if following.parent == element.parent else None

    def _open(self, node: LexborNode, holder: int | None) -> int | None:
        tag = node.tag or ""
        if holder is None or tag in _NOT_TEXT or not node.is_element_node:
            return None
        attributes = node.attributes
        above = self.elements[holder] if holder >= 0 else None
        element = PageElement(
            index=len(self.elements),
            tag=tag,
            attributes=attributes,
            parent=holder,
            start=0,
            is_chrome=(above is not None and above.is_chrome) or _is_chrome(tag, attributes),
        )
        if above is not None:
            above.children.append(element.index)
        if element.is_block:
            self._add("\n")
            if tag not in _EMPTY_TAGS:
                while above is not None and not above.holds_blocks:
                    above.holds_blocks = True
                    above = self.elements[above.parent] if above.parent >= 0 else None
        element.start = self._length
        self.elements.append(element)
        return element.index

    def _close(self, index: int | None) -> None:
        if index is None:
            return
        element = self.elements[index]
        element.stop, element.end = self._length, len(self.elements)
        if element.is_block:
            self._add("\n")

    def _add(self, text: str) -> None:
        self._pieces.append(text)
        self._length += len(text)


def _is_chrome(tag: str, attributes: dict[str, str | None]) -> bool:
    if tag in _NEVER_CHROME:
        return False
    if tag in _CHROME_TAGS or attributes.get("role") in ("navigation", "contentinfo", "search"):
        return True
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"
    return names != " " and not _CHROME_WORDS.isdisjoint(name_words(names[:_MAX_CLASS_CHARS]))

"""The texts in and around an element: where bylines and dates are that no markup marks."""

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import count, islice

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import collapse

_MAX_NODES_AFTER = 160
_MAX_NODES_BEFORE = 60
_MAX_NODES_WITHIN = 80
_MAX_TEXT_CHARS = 200
_NOT_TEXT = frozenset(("script", "style", "noscript", "template", "svg", "select", "head"))


class Surroundings:
    """The texts around a page's heading, read when first asked for; there may be no heading."""

    def __init__(self, heading: LexborNode | None) -> None:
        self._heading = heading

    @cached_property
    def after(self) -> Iterable[str]:
        """The texts that follow the heading, in document order, as far as one looks."""
        return _Texts(_texts_after(self._heading)) if self._heading is not None else ()

    @cached_property
    def before(self) -> Iterable[str]:
        """The texts that precede the heading, the nearest first, as far as one looks."""
        return _Texts(_texts_before(self._heading)) if self._heading is not None else ()


class _Texts:
    """Texts that are read only as far as somebody goes, and kept for whoever comes next."""

    def __init__(self, unread: Iterator[str]) -> None:
        self._unread = unread
        self._read: list[str] = []

    def __iter__(self) -> Iterator[str]:
        for place in count():
            if place == len(self._read):
                text = next(self._unread, None)
                if text is None:
                    return
                self._read.append(text)
            yield self._read[place]


def nodes_within(element: LexborNode) -> Iterator[LexborNode]:
    """Yield an element and what it holds, in document order, as far as one looks."""
    return islice(element.traverse(include_text=True), _MAX_NODES_WITHIN)


def texts_within(element: LexborNode) -> list[str]:
    """Return the texts of an element, as far as one looks."""
    texts = (node for node in nodes_within(element) if node.is_text_node)
    visible = (node for node in texts if node.parent is None or node.parent.tag not in _NOT_TEXT)
    return list(filter(None, map(_text_of, visible)))


def _texts_after(element: LexborNode) -> Iterator[str]:
    node = _next_outside(element)
    for _ in range(_MAX_NODES_AFTER):
        if node is None:
            return
        inside = None
        if node.is_text_node:
            if said := _text_of(node):
                yield said
        elif node.tag not in _NOT_TEXT:
            inside = node.first_child
        node = inside or _next_outside(node)


def _texts_before(element: LexborNode) -> Iterator[str]:
    node = _previous_outside(element)
    for _ in range(_MAX_NODES_BEFORE):
        if node is None:
            return
        inside = None
        if node.is_text_node:
            if said := _text_of(node):
                yield said
        elif node.tag not in _NOT_TEXT:
            inside = node.last_child
        node = inside or _previous_outside(node)


def _text_of(node: LexborNode) -> str:
    text = node.text_content
    return collapse(text[:_MAX_TEXT_CHARS]) if text and not text.isspace() else ""


def _next_outside(node: LexborNode | None) -> LexborNode | None:
    """Return the node that follows in document order, passing over what the node holds."""
    while node is not None:
        if (following := node.next) is not None:
            return following
        node = node.parent
    return None


def _previous_outside(node: LexborNode | None) -> LexborNode | None:
    while node is not None:
        if (preceding := node.prev) is not None:
            return preceding
        node = node.parent
    return None

"""The edits that passes over a tree are made of: renaming, moving and rewriting elements."""

from collections.abc import Iterable
from functools import cache
from html import escape

from selectolax.lexbor import LexborNode, create_tag

from cinder.extract.html_tree import detach


@cache
def _pattern(tag: str) -> LexborNode:
    # Building an element costs a document of its own; a copy of one costs nothing.
    return create_tag(tag)


def children(node: LexborNode) -> list[LexborNode]:
    """Return the texts and elements directly in a node."""
    return list(node.iter(include_text=True))


def rename(node: LexborNode, tag: str) -> LexborNode:
    """Put an element of another tag, without attributes, in a node's place; return it."""
    new = insert_element_before(node, tag)
    move_into(new, children(node))
    detach([node])
    return new


def insert_element_before(node: LexborNode, tag: str) -> LexborNode:
    """Insert an empty element before a node and return it."""
    node.insert_before(_pattern(tag))
    new = node.prev
    if new is None:
        raise ValueError(f"No {tag} element could be inserted.")
    return new


def append_element(node: LexborNode, tag: str) -> LexborNode:
    """Insert an empty element at the end of a node and return it."""
    node.insert_child(_pattern(tag))
    new = node.last_child
    if new is None:
        raise ValueError(f"No {tag} element could be appended.")
    return new


def move_into(parent: LexborNode, nodes: Iterable[LexborNode]) -> None:
    """Move nodes to the end of a parent, in order."""
    for node in nodes:
        parent.insert_child(node, move=True)


def wrap_children(node: LexborNode, tag: str) -> LexborNode:
    """Put all that a node holds into one new child element and return that."""
    inside = children(node)
    wrapper = append_element(node, tag)
    move_into(wrapper, inside)
    return wrapper


def replace_with_html(node: LexborNode, html: str) -> None:
    """Put an HTML fragment in a node's place; the node must be one that may hold it."""
    node.inner_html = html
    unwrap(node)


def unwrap(node: LexborNode) -> None:
    """Put what a node holds in its place; an empty one just goes."""
    if node.parent is not None:
        node.unwrap(delete_empty=True)


def escaped(text: str) -> str:
    """Return a text as HTML."""
    return escape(text, quote=False)


def text_of(node: LexborNode) -> str:
    """Return all the text in a node as it stands, white space included."""
    return node.text(deep=True, separator="", strip=False)

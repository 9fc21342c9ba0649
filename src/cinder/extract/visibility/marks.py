"""Marks that cinder sets on elements while it reads a page, under names that no page can write."""

from selectolax.lexbor import LexborNode

# With a space: no parser reads such a name off a page.
UNSEEN = "cinder unseen"
# At the end of what a mark says: that a browser has found it so.
COMPUTED = "!"
BACKGROUND = "cinder background"
COLOUR = "cinder colour"
MARKS = frozenset((UNSEEN, BACKGROUND, COLOUR))


def mark(node: LexborNode, name: str, value: str) -> None:
    """Set a mark on an element."""
    # The library's own type of a value leaves out what it takes.
    node.attrs[name] = value


def unmark(node: LexborNode) -> None:
    """Take all marks off an element."""
    attributes = node.attributes
    for name in MARKS:
        if name in attributes:
            del node.attrs[name]

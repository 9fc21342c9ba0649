"""Puts in place the parts of a page that its server sent later, for a script to move.

React sends a fallback with a marked template first and the real part, hidden, at the end of the
page; a visitor sees the part where the template stands.
"""

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import detach
from cinder.extract.tree_edits import children

_PARTS = 'div[hidden][id^="S:"]'
_PLACES = 'template[id^="B:"], template[id^="P:"]'
_MAX_PARTS = 1_000
_MAX_FALLBACK_NODES = 1_000


def place_streamed_parts(root: LexborNode) -> bool:
    """Move every late part below `root` to its place; one without a place is shown where it is.

    Returns whether there are any.
    """
    parts = root.css(_PARTS)[:_MAX_PARTS]
    if not parts:
        return False
    places = {place.id: place for place in root.css(_PLACES)}
    for part in parts:
        number = (part.id or "").partition(":")[2]
        place = places.get(f"B:{number}") or places.get(f"P:{number}")
        if place is None or _is_inside(place, part):
            del part.attrs["hidden"]
        else:
            _move(part, place)
    return True


def _move(part: LexborNode, place: LexborNode) -> None:
    if (place.id or "").startswith("B:"):
        detach(_fallback_after(place))
    for node in children(part):
        place.insert_before(node, move=True)
    detach([place, part])


def _fallback_after(place: LexborNode) -> list[LexborNode]:
    """Return what stands between a template and the comment that ends its boundary."""
    found: list[LexborNode] = []
    depth = 0
    node = place.next
    while node is not None and len(found) < _MAX_FALLBACK_NODES:
        mark = (node.comment_content or "").strip() if node.is_comment_node else ""
        if mark == "/$":
            if depth == 0:
                return found
            depth -= 1
        elif mark.startswith("$"):
            depth += 1
        found.append(node)
        node = node.next
    # Without an end there is no telling what is fallback.
    return []


def _is_inside(node: LexborNode, part: LexborNode) -> bool:
    return any(inner.mem_id == node.mem_id for inner in part.css(_PLACES))

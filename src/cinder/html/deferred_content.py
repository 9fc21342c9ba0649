"""Content that scripts place or draw: streamed parts, `noscript`, formulas and lazy images.

Forum software sends whole threads that way, for search engines, and draws them by script for all
others; on other pages the part asks to switch scripts on, and stays out of sight.

React sends a fallback with a marked template first and the real part, hidden, at the end of the
page; a visitor sees the part where the template stands.
"""

from selectolax.lexbor import LexborNode

from cinder.html.formulas import may_hold_formulas, normalise_formulas
from cinder.html.links import resolve_lazy_images, restore_images
from cinder.html.tree import Elements, child_nodes, detach
from cinder.html.visible_text import visible_text

_MIN_NOSCRIPT_CHARS = 400
# How many times as much text as the rest of the page such a part has to have.
_MIN_NOSCRIPT_RATIO = 1.5


def unwrap_noscript(root: LexborNode) -> bool:
    """Unwrap the largest `noscript` below `root` if the page is in it; return whether it is."""
    parts = [part for part in root.css("noscript") if len(part.text()) >= _MIN_NOSCRIPT_CHARS]
    sizes = [len(visible_text(part)) for part in parts]
    if max(sizes, default=0) < _MIN_NOSCRIPT_CHARS:
        return False
    size, largest = max(zip(sizes, parts, strict=True), key=lambda pair: pair[0])
    if size < (len(visible_text(root)) - sum(sizes)) * _MIN_NOSCRIPT_RATIO:
        return False
    largest.unwrap()
    return True


_STREAMED_PARTS = 'div[hidden][id^="S:"]'
_PLACEHOLDERS = 'template[id^="B:"], template[id^="P:"]'
_MAX_STREAMED_PARTS = 1_000
_MAX_FALLBACK_NODES = 1_000


def place_streamed_parts(root: LexborNode) -> bool:
    """Move every late part below `root` to its place; one without a place is shown where it is.

    Returns whether there are any.
    """
    parts = root.css(_STREAMED_PARTS)[:_MAX_STREAMED_PARTS]
    if not parts:
        return False
    places = {place.id: place for place in root.css(_PLACEHOLDERS)}
    for part in parts:
        number = (part.id or "").partition(":")[2]
        place = places.get(f"B:{number}") or places.get(f"P:{number}")
        if place is None or _is_inside(place, part):
            del part.attrs["hidden"]
        else:
            _move_part(part, place)
    return True


def _move_part(part: LexborNode, place: LexborNode) -> None:
    if (place.id or "").startswith("B:"):
        detach(_fallback_after(place))
    for node in child_nodes(part):
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
    return any(inner.mem_id == node.mem_id for inner in part.css(_PLACEHOLDERS))


def place_deferred_content(elements: Elements) -> bool:
    """Put late parts, formulas and images in place; return whether that changed anything."""
    # Each looks through the whole tree, and most pages have nothing for most of them.
    steps = (
        (elements.have_attribute("hidden"), place_streamed_parts),
        (elements.have_tag("noscript"), unwrap_noscript),
        (may_hold_formulas(elements), normalise_formulas),
        (elements.have_tag("picture", "noscript"), restore_images),
        (elements.have_tag("img"), resolve_lazy_images),
    )
    changes = [step(elements.root) for is_needed, step in steps if is_needed]
    return any(changes)

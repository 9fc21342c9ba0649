"""Content that scripts insert: streamed parts, `noscript`, formulas and lazy images.

React sends a fallback with a marked template first and the real part, hidden, at the end of the
page; a browser shows the part in place of the template. Forum software sends whole threads in
`noscript`, for search engines; on other pages `noscript` only asks the visitor to enable scripts.
"""

from selectolax.lexbor import LexborNode

from cinder.html.formulas import may_hold_formulas, normalise_formulas
from cinder.html.links import resolve_lazy_images, restore_images
from cinder.html.tree import Elements, child_nodes, detach
from cinder.html.visible_text import visible_text

_MIN_NOSCRIPT_CHARS = 400
# How many times as much text as the rest of the page a `noscript` must have to be the content.
_MIN_NOSCRIPT_RATIO = 1.5


def unwrap_noscript(root: LexborNode) -> bool:
    """Unwrap the largest `noscript` below `root` if it has the content; return whether it has."""
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
    """Move every streamed part below `root` to its place, or show it where it is.

    Returns whether there are any.
    """
    parts = root.css(_STREAMED_PARTS)[:_MAX_STREAMED_PARTS]
    if not parts:
        return False
    places = {place.id: place for place in root.css(_PLACEHOLDERS)}
    for part in parts:
        number = (part.id or "").partition(":")[2]
        place = places.get(f"B:{number}") or places.get(f"P:{number}")
        inside = {inner.mem_id for inner in part.css(_PLACEHOLDERS)}
        if place is None or place.mem_id in inside:
            del part.attrs["hidden"]
            continue
        if (place.id or "").startswith("B:"):
            detach(_fallback_after(place))
        for node in child_nodes(part):
            place.insert_before(node, move=True)
        detach([place, part])
    return True


def _fallback_after(place: LexborNode) -> list[LexborNode]:
    """Return the nodes between a template and the comment that ends its boundary."""
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
    # Without an end, any of it may be content.
    return []


def place_deferred_content(elements: Elements) -> bool:
    """Put streamed parts, formulas and images in place; return whether that changed anything."""
    # Each step searches the whole tree, and most pages need few of them.
    steps = (
        (elements.have_attribute("hidden"), place_streamed_parts),
        (elements.have_tag("noscript"), unwrap_noscript),
        (may_hold_formulas(elements), normalise_formulas),
        (elements.have_tag("picture", "noscript"), restore_images),
        (elements.have_tag("img"), resolve_lazy_images),
    )
    changes = [step(elements.root) for is_needed, step in steps if is_needed]
    return any(changes)

"""Shows what a page has for visitors without scripts, where that is most of the page.

Forum software sends whole threads that way, for search engines, and draws them by script for all
others; on other pages the part asks to switch scripts on, and stays out of sight.
"""

from selectolax.lexbor import LexborNode

from cinder.extract.visible_text import visible_text

_MIN_CHARS = 400
# How many times as much text as the rest of the page such a part has to have.
_MIN_RATIO = 1.5


def show_scriptless_part(root: LexborNode) -> bool:
    """Unwrap the largest `noscript` below `root` if the page is in it; return whether it is."""
    parts = [part for part in root.css("noscript") if len(part.text()) >= _MIN_CHARS]
    sizes = [len(visible_text(part)) for part in parts]
    if max(sizes, default=0) < _MIN_CHARS:
        return False
    size, largest = max(zip(sizes, parts, strict=True), key=lambda pair: pair[0])
    if size < (len(visible_text(root)) - sum(sizes)) * _MIN_RATIO:
        return False
    largest.unwrap()
    return True

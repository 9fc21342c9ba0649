"""Shows what a page has for visitors without scripts, where that is most of the page.

Forum software sends whole threads that way, for search engines, and draws them by script for all
others; on other pages the part asks to switch scripts on, and stays out of sight.
"""

from selectolax.lexbor import LexborNode

from cinder.extract.visible_text import visible_text

_MIN_CHARS = 400
# How many times as much text as the rest of the page such a part has to have.
_MIN_RATIO = 1.5


def show_scriptless_part(root: LexborNode) -> None:
    """Unwrap the largest `noscript` below `root` if the page is in it."""
    parts = [(len(visible_text(part)), part) for part in root.css("noscript")]
    size, largest = max(parts, key=lambda pair: pair[0], default=(0, None))
    if largest is None or size < _MIN_CHARS:
        return
    rest = len(visible_text(root)) - sum(length for length, _ in parts)
    if size >= rest * _MIN_RATIO:
        largest.unwrap()

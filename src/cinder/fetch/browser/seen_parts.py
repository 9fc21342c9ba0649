"""Takes the marks of unseen parts, which a script of ours set in a tab, out of a page's HTML."""

import re

from cinder.model.unseen import WAYS, UnseenPart

MAX_PARTS = 2_000
# With the space, the equals sign and the quotes around it.
MAX_WAY_CHARS = 20


def take_marks(html: str, mark: str) -> tuple[str, tuple[UnseenPart, ...]]:
    """Return a page without the marks, and where they stood.

    Args:
        html: the page as the tab gave it.
        mark: the name of the attribute, which stands nowhere else in the page.
    """
    if mark not in html:
        return html, ()
    pieces = re.split(rf' {re.escape(mark)}="([A-Z_]{{1,15}})"', html)
    found: list[UnseenPart] = []
    place = 0
    for text, way in zip(pieces[::2], pieces[1::2], strict=False):
        place += len(text)
        if way in WAYS:
            found.append(UnseenPart(place, way))
    return "".join(pieces[::2]), tuple(found)

"""Parts of a page that a browser shows to nobody, as it is told from fetching to extraction."""

from typing import Final, NamedTuple

# How a browser found a part to be out of sight, in the words of the script that looks.
WAYS: Final = frozenset(
    ("NOT_SHOWN", "LABEL", "SEE_THROUGH", "SHRUNK", "COLLAPSED", "BESIDE", "COLOURED", "OTHER")
)


class UnseenPart(NamedTuple):
    """An element whose text no visitor sees."""

    place: int
    """The character of the page's HTML before which the element's start tag has room for another
    attribute."""
    way: str
    """How it is out of sight, one of `WAYS`."""

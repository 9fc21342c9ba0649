"""Lines of listings, with the spaces that their places on the page stand for."""

from statistics import median

from cinder.extract.pdf.layout import Segment

_MAX_SPACES = 120


def spaced_text(segment: Segment, left: float) -> str:
    """Return a line in a typewriter's font with its spaces, `left` being where lines begin."""
    widths = [(word.box.right - word.box.left) / len(word.text) for word in segment.words]
    width = median(widths) or segment.size
    text = ""
    for word in segment.words:
        place = round((word.box.left - left) / width)
        least = 1 if text else 0
        text += " " * max(least, min(place - len(text), _MAX_SPACES)) + word.text
    return text

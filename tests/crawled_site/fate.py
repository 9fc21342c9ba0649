"""What becomes of a URL in a correct crawl."""

from enum import StrEnum


class Fate(StrEnum):
    """What becomes of a URL in a correct crawl."""

    FETCHED = "fetched"
    DISALLOWED = "disallowed"
    OUTSIDE = "outside"
    DUPLICATE = "duplicate"
    REDIRECT = "redirect"
    TRAP = "trap"
    FAILED = "failed"
    # An archive, a film, a picture: a crawl may fetch it or not, but it is no page.
    FILE = "file"

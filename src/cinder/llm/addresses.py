"""The address of a model's server: as its owner writes it, and where calls are posted."""

import can_ada

from cinder.model.url import parse_web_url


def parse_base_url(text: str) -> str:
    """Return the canonical URL that paths can be added to; it ends without a slash.

    Raises:
        ValueError: it is no web URL, or has parameters.
    """
    parsed = can_ada.parse(parse_web_url(text))
    if parsed.search or parsed.hash:
        raise ValueError("It must have no parameters: nothing after ? or #")
    return parsed.href.rstrip("/")


def path_of(base_url: str) -> str:
    """Return the path of a base URL; blank where there is none."""
    return can_ada.parse(base_url).pathname.rstrip("/")

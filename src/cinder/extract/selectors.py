"""CSS selectors that callers send: whether they are valid, told before anything is fetched."""

from selectolax.lexbor import LexborHTMLParser, SelectolaxError


def is_valid_selector(selector: str) -> bool:
    """Whether a selector is one that elements can be chosen by."""
    try:
        LexborHTMLParser("<p>").css(selector)
    except SelectolaxError:
        return False
    return True

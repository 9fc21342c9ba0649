"""Bombs: pages built to take a parser minutes, told from real ones by one look along the text."""

import re

# Real pages nest some tens deep, and browsers stop at 512. The parser's time grows with the square
# of the depth; at this one it is still a fraction of a second.
MAX_DEPTH = 5_000
MAX_ATTRIBUTES = 10_000

# Elements that hold nothing, or that the next of their kind closes: they do not nest by themselves.
_FLAT = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr", "p", "li", "dd", "dt", "option", "optgroup", "tr", "td"),
        *("th", "thead", "tbody", "tfoot", "rp", "rt", "a", "html", "head", "body"),
    )
)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})([^<>]*)>?")
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")


def find_bomb(html: str) -> str | None:
    """Return what makes a page too costly to parse; None for a page that is not."""
    long_parts = (part for part in html.split(">") if len(part) > 2 * MAX_ATTRIBUTES)
    if any(_has_too_many_attributes(part) for part in long_parts):
        return "an element has too many attributes"
    # Few pages have tags enough to be that deep, and only those are looked through.
    if html.count("<") > MAX_DEPTH and _is_too_deep(html):
        return "its elements are nested too deeply"
    return None


def _has_too_many_attributes(part: str) -> bool:
    tag = part[part.rfind("<") :]
    return len(_QUOTED.sub("", tag).split(None, MAX_ATTRIBUTES + 1)) > MAX_ATTRIBUTES


def _is_too_deep(html: str) -> bool:
    depth = 0
    for tag in _TAG.finditer(html):
        closing, name, attributes = tag.groups()
        if name.lower() in _FLAT or attributes.endswith("/"):
            continue
        depth = max(0, depth - 1) if closing else depth + 1
        if depth > MAX_DEPTH:
            return True
    return False

"""Parses a page with the parts marked that a browser showed to nobody."""

import hashlib
from collections.abc import Sequence

from selectolax.lexbor import LexborHTMLParser

from cinder.extract.html_tree import parse_html
from cinder.extract.visibility.hiding_styles import Trick
from cinder.extract.visibility.marks import COMPUTED, UNSEEN, mark
from cinder.model.unseen import UnseenPart

_MAX_PARTS = 5_000


def parse_seen(text: str, unseen: Sequence[UnseenPart]) -> LexborHTMLParser:
    """Parse a page; the elements at the places named are marked as out of sight."""
    if not unseen:
        return parse_html(text)
    name = _name_for(text)
    tree = parse_html(_with_attributes(text, unseen[:_MAX_PARTS], name))
    for node in tree.css(f"[{name}]"):
        way = node.attributes.get(name) or ""
        del node.attrs[name]
        mark(node, UNSEEN, f"{way if way in Trick.__members__ else ''}{COMPUTED}")
    return tree


def _name_for(text: str) -> str:
    """Return the name of an attribute that the page cannot hold: nothing holds its own digest."""
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16)
    return f"unseen-{digest.hexdigest()}"


def _with_attributes(text: str, unseen: Sequence[UnseenPart], name: str) -> str:
    pieces: list[str] = []
    before = 0
    for place, way in unseen:
        if before <= place <= len(text):
            pieces += (text[before:place], f' {name}="{way}"')
            before = place
    return "".join((*pieces, text[before:]))

"""Cleaned HTML to markdown."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import parse_html
from cinder.extract.markdown.code_blocks import normalise_code_blocks
from cinder.extract.markdown.converter import may_hide, write_markdown
from cinder.extract.markdown.footnotes import normalise_footnotes
from cinder.extract.markdown.link_blocks import normalise_links
from cinder.extract.markdown.lists import place_lists, write_definitions
from cinder.extract.markdown.literal_text import LiteralText
from cinder.extract.markdown.raised_text import write_raised_text
from cinder.extract.markdown.restored_images import remove_pixels, write_captions, write_emoji
from cinder.extract.markdown.tables import normalise_tables
from cinder.extract.reading.blocks import Fence
from cinder.extract.tree_edits import insert_element_before, move_into

# What prepares a tree, in order, each with the tags without which it has nothing to do. None of
# them makes an element of a tag that a later one waits for.
_STEPS: tuple[tuple[frozenset[str], Callable[[LexborNode], None]], ...] = (
    (frozenset(("img",)), remove_pixels),
    (frozenset(("img",)), write_emoji),
    (frozenset(("pre", "code", "table")), normalise_code_blocks),
    (frozenset(("a",)), normalise_footnotes),
    (frozenset(("ruby", "sup", "sub")), write_raised_text),
    (frozenset(("a",)), normalise_links),
    (frozenset(("ul", "ol")), place_lists),
    (frozenset(("dl",)), write_definitions),
    (frozenset(("table",)), normalise_tables),
    (frozenset(("figcaption",)), write_captions),
)
_ATTRIBUTES = r"(?: [^>\"]*(?:\"[^\"]*\"[^>\"]*)*)?"
_INSIDE = rf"(?:\s|</?(?:span|i|b|em|strong|div|p){_ATTRIBUTES}>)*"
_EMPTY_LINK = re.compile(rf"<a{_ATTRIBUTES}>{_INSIDE}</a>")
_EMPTY_ITEM = re.compile(rf"<li{_ATTRIBUTES}>{_INSIDE}</li>")


def to_markdown(html: str) -> str:
    """Return the markdown of an HTML fragment whose addresses are absolute, without a last newline.

    Raises:
        ConversionError: the converter gave up on it.
    """
    body = parse_html(html).body
    return tree_to_markdown([body]) if body is not None else ""


def tree_to_markdown(roots: Sequence[LexborNode]) -> str:
    """Return the markdown of cleaned elements, which are changed on the way.

    Raises:
        ConversionError: the converter gave up on them.
    """
    holders = [_held(_whole_table(root)) for root in roots]
    for holder in holders:
        _prepare(holder)
    hides = any(map(may_hide, holders))
    return _convert("\n".join(map(html_of, holders)), keeps_hidden=hides)


def html_of(root: LexborNode) -> str:
    """Return the HTML of an element, without the tags of the page itself."""
    return (root.inner_html if root.tag in ("html", "body") else root.html) or ""


def _whole_table(root: LexborNode) -> LexborNode:
    """Return the table that a part of one needs around it to be read as a table."""
    whole: LexborNode | None = root
    while whole is not None and whole.tag in ("thead", "tbody", "tfoot", "tr"):
        whole = whole.parent
    return whole if whole is not None else root


def _held(root: LexborNode) -> LexborNode:
    """Put an element into one that stays when the element itself is replaced."""
    if root.parent is None or root.tag in ("html", "body"):
        return root
    holder = insert_element_before(root, "div")
    move_into(holder, [root])
    return holder


def _prepare(root: LexborNode) -> None:
    """Bring what the converter cannot say into a form that it can."""
    # Each step looks through the whole tree, and most pages have nothing for most of them.
    tags = {node.tag for node in root.traverse()}
    for needed, step in _STEPS:
        if not needed.isdisjoint(tags):
            step(root)


def _convert(html: str, *, keeps_hidden: bool) -> str:
    literal = LiteralText()
    html = _EMPTY_ITEM.sub("", _EMPTY_LINK.sub("", literal.mask(html)))
    markdown = write_markdown(html, keeps_hidden=keeps_hidden)
    return literal.unmask(_without_ends_of_lines(markdown)).strip()


def _without_ends_of_lines(markdown: str) -> str:
    """Drop the marks of line breaks that nothing follows, but leave code as it is."""
    if " \n\n" not in markdown:
        return markdown
    lines = markdown.split("\n")
    fence: Fence | None = None
    for index, (line, following) in enumerate(pairwise(lines)):
        if fence is not None and not fence.is_left_by(line):
            fence = None if fence.is_closed_by(line) else fence
            continue
        fence = Fence.opened_by(line)
        if fence is None and not following:
            lines[index] = line.rstrip(" ")
    return "\n".join(lines)

"""Converts a cleaned tree to markdown."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from html_to_markdown import (
    CodeBlockStyle,
    ConversionError,
    ConversionOptions,
    HeadingStyle,
    HiddenContent,
    HighlightStyle,
    InlineDataMedia,
    LinkStyle,
    ListIndentType,
    NewlineStyle,
    OutputFormat,
    PreprocessingOptions,
    PreprocessingPreset,
    TierStrategy,
    UrlEscapeStyle,
    WarningKind,
    WhitespaceMode,
    convert,
)
from selectolax.lexbor import LexborNode

from cinder.html.links import remove_pixels, write_captions, write_emoji
from cinder.html.markdown.code_blocks import normalise_code_blocks
from cinder.html.markdown.escaping import LiteralText
from cinder.html.markdown.inline_elements import (
    normalise_footnotes,
    normalise_links,
    write_superscripts,
)
from cinder.html.markdown.lists_and_tables import nest_lists, normalise_tables, write_definitions
from cinder.html.tree import insert_element_before, move_into, parse_html
from cinder.text.markdown_blocks import CodeFence

# Cleaning has been done on the tree, so the converter's own is off; it would drop what a caller
# who asked for the whole page wants. Padding of table columns only costs tokens.
_OPTIONS = ConversionOptions(
    preprocessing=PreprocessingOptions(enabled=False, preset=PreprocessingPreset.STANDARD),
    extract_metadata=False,
    bullets="-",
    compact_tables=True,
    br_in_tables=True,
    highlight_style=HighlightStyle.NONE,
    expand_abbreviations=False,
    hidden_content=HiddenContent.ALL,
    # These are as they would be anyway, but a name has to be looked up with every page.
    heading_style=HeadingStyle.ATX,
    list_indent_type=ListIndentType.SPACES,
    whitespace_mode=WhitespaceMode.NORMALIZED,
    newline_style=NewlineStyle.SPACES,
    code_block_style=CodeBlockStyle.BACKTICKS,
    inline_data_media=InlineDataMedia.KEEP,
    url_escape_style=UrlEscapeStyle.ANGLE,
    link_style=LinkStyle.INLINE,
    output_format=OutputFormat.MARKDOWN,
    tier_strategy=TierStrategy.AUTO,
)


# To keep what is hidden costs the converter a quarter of its time, so that it is told to only where
# there may be something to keep.
_WITHOUT_HIDDEN = replace(_OPTIONS, hidden_content=HiddenContent.DROP)
_HIDDEN = "[hidden], template, noscript, svg"
_HIDING_STYLE = re.compile(r"none|hidden|collapse|font-size|\\", re.IGNORECASE)


def may_hide(root: LexborNode) -> bool:
    """Whether the converter might take something below `root` for hidden."""
    if root.css_first(_HIDDEN) is not None:
        return True
    styles = (node.attrs.get("style") or "" for node in root.css("[style]"))
    return any(map(_HIDING_STYLE.search, styles))


def write_markdown(html: str, *, keeps_hidden: bool) -> str:
    """Return the markdown of prepared HTML; what is hidden may go where that is not asked for.

    Raises:
        ConversionError: the converter gave up on it.
    """
    result = convert(html, _OPTIONS if keeps_hidden else _WITHOUT_HIDDEN)
    # It skips what stands deeper than it goes, which no reader would learn of.
    if any(warning.kind == WarningKind.DEPTH_LIMIT_EXCEEDED for warning in result.warnings):
        raise ConversionError("its elements are nested too deeply")
    return result.content or ""


# What prepares a tree, in order, each with the tags without which it has nothing to do. None of
# them makes an element of a tag that a later one waits for.
_STEPS: tuple[tuple[frozenset[str], Callable[[LexborNode], None]], ...] = (
    (frozenset(("img",)), remove_pixels),
    (frozenset(("img",)), write_emoji),
    (frozenset(("pre", "code", "table")), normalise_code_blocks),
    (frozenset(("a",)), normalise_footnotes),
    (frozenset(("ruby", "sup", "sub")), write_superscripts),
    (frozenset(("a",)), normalise_links),
    (frozenset(("ul", "ol")), nest_lists),
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
    fence: CodeFence | None = None
    for index, (line, following) in enumerate(pairwise(lines)):
        if fence is not None and not fence.is_left_by(line):
            fence = None if fence.is_closed_by(line) else fence
            continue
        fence = CodeFence.opened_by(line)
        if fence is None and not following:
            lines[index] = line.rstrip(" ")
    return "\n".join(lines)

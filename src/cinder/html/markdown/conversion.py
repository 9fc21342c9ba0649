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

# The tree is cleaned already, so the converter's own cleaning is off: it would drop parts that a
# caller who asked for the whole page wants. Padding of table columns would only use tokens.
_OPTIONS = ConversionOptions(
    preprocessing=PreprocessingOptions(enabled=False, preset=PreprocessingPreset.STANDARD),
    extract_metadata=False,
    bullets="-",
    compact_tables=True,
    br_in_tables=True,
    highlight_style=HighlightStyle.NONE,
    expand_abbreviations=False,
    hidden_content=HiddenContent.ALL,
    # These are the defaults, but the converter looks an absent name up for every page.
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


# Keeping hidden elements takes a quarter of the converter's time, so it is done only where there
# may be some.
_WITHOUT_HIDDEN = replace(_OPTIONS, hidden_content=HiddenContent.DROP)
_HIDDEN = "[hidden], template, noscript, svg"
_HIDING_STYLE = re.compile(r"none|hidden|collapse|font-size|\\", re.IGNORECASE)


def may_hide(root: LexborNode) -> bool:
    """Whether the converter might regard an element below `root` as hidden."""
    if root.css_first(_HIDDEN) is not None:
        return True
    styles = (node.attrs.get("style") or "" for node in root.css("[style]"))
    return any(map(_HIDING_STYLE.search, styles))


def write_markdown(html: str, *, keeps_hidden: bool) -> str:
    """Return the markdown of prepared HTML, with or without hidden elements.

    Raises:
        ConversionError: the converter gave up on it.
    """
    result = convert(html, _OPTIONS if keeps_hidden else _WITHOUT_HIDDEN)
    # The converter skips elements beyond its depth limit silently.
    if any(warning.kind == WarningKind.DEPTH_LIMIT_EXCEEDED for warning in result.warnings):
        raise ConversionError("its elements are nested too deeply")
    return result.content or ""


# The steps that prepare a tree, in order, each with the tags that it needs. No step creates an
# element with a tag that a later one needs.
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
    """Return the markdown of an HTML fragment with absolute URLs, without a last newline.

    Raises:
        ConversionError: the converter gave up on it.
    """
    body = parse_html(html).body
    return tree_to_markdown([body]) if body is not None else ""


def tree_to_markdown(roots: Sequence[LexborNode]) -> str:
    """Return the markdown of cleaned elements; the elements are changed.

    Raises:
        ConversionError: the converter gave up on them.
    """
    holders = [_put_into_holder(root) for root in roots]
    for holder in holders:
        # Each step searches the whole tree, and most pages have nothing for most of them.
        tags = {node.tag for node in holder.traverse()}
        for needed, step in _STEPS:
            if not needed.isdisjoint(tags):
                step(holder)
    literal = LiteralText()
    html = literal.mask("\n".join(map(html_of, holders)))
    html = _EMPTY_ITEM.sub("", _EMPTY_LINK.sub("", html))
    markdown = write_markdown(html, keeps_hidden=any(map(may_hide, holders)))
    return literal.unmask(_strip_line_ends(markdown)).strip()


def html_of(root: LexborNode) -> str:
    """Return the HTML of an element, without the tags of the page itself."""
    return (root.inner_html if root.tag in ("html", "body") else root.html) or ""


def _put_into_holder(root: LexborNode) -> LexborNode:
    """Put an element into one that remains when the element itself is replaced.

    A part of a table is converted with its whole table.
    """
    whole: LexborNode | None = root
    while whole is not None and whole.tag in ("thead", "tbody", "tfoot", "tr"):
        whole = whole.parent
    whole = whole if whole is not None else root
    if whole.parent is None or whole.tag in ("html", "body"):
        return whole
    holder = insert_element_before(whole, "div")
    move_into(holder, [whole])
    return holder


def _strip_line_ends(markdown: str) -> str:
    """Drop the marks of line breaks at the end of blocks, outside of code."""
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

"""The converter that writes markdown, and how it is told to write."""

import re
from dataclasses import replace

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

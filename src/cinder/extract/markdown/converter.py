"""The converter that writes markdown, and how it is told to write."""

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


def write_markdown(html: str) -> str:
    """Return the markdown of prepared HTML.

    Raises:
        ConversionError: the converter gave up on it.
    """
    result = convert(html, _OPTIONS)
    # It skips what stands deeper than it goes, which no reader would learn of.
    if any(warning.kind == WarningKind.DEPTH_LIMIT_EXCEEDED for warning in result.warnings):
        raise ConversionError("its elements are nested too deeply")
    return result.content or ""

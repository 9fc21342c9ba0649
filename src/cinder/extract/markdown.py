"""Cleaned HTML to markdown."""

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

# Cleaning has been done on the tree, so the converter's own is off; it would drop what a caller
# who asked for the whole page wants. Padding of table columns only costs tokens.
_OPTIONS = ConversionOptions(
    preprocessing=PreprocessingOptions(enabled=False),
    extract_metadata=False,
    bullets="-",
    compact_tables=True,
    br_in_tables=True,
    highlight_style="none",
)


def to_markdown(html: str) -> str:
    """Return the markdown of an HTML fragment whose addresses are absolute, without a last newline.

    Raises:
        ConversionError: the converter gave up on it.
    """
    return (convert(html, _OPTIONS).content or "").strip()

"""What is said of a page that could not be parsed: its bare text, and that this is not all."""

from cinder.extract.bare_text import bare_title, strip_tags
from cinder.extract.character_tricks import character_warnings
from cinder.extract.charset import decode_body
from cinder.extract.content_kind import Shape, content_kind
from cinder.extract.visible_text import count_words
from cinder.model.document import Extraction, PageMetadata

_CHARS_PER_TOKEN = 4


def read_unparsed(
    body: bytes, *, content_type: str, wants_markdown: bool, reason: str
) -> Extraction:
    """Return the text of a page that is beyond the limits; what is no text has no `text`."""
    text = decode_body(body, content_type)
    shape = content_kind(content_type, text).shape
    if shape is Shape.BINARY:
        return Extraction(is_partial=True, warnings=(_warning(reason),))
    if shape is Shape.HTML:
        return unparsed_html(text, wants_markdown=wants_markdown, reason=reason)
    return _extraction(text, text.strip(), wants_markdown, reason)


def unparsed_html(html: str, *, wants_markdown: bool, reason: str) -> Extraction:
    """Return the bare text of a page, flagged with the reason why there is no more."""
    return _extraction(html, strip_tags(html), wants_markdown, reason)


def _extraction(source: str, text: str, wants_markdown: bool, reason: str) -> Extraction:  # noqa: FBT001 - private
    return Extraction(
        text=source,
        markdown=text if wants_markdown else None,
        metadata=PageMetadata(title=bare_title(source)),
        word_count=count_words(text),
        token_count=-(-len(text) // _CHARS_PER_TOKEN),
        is_partial=True,
        warnings=(_warning(reason), *character_warnings(text)),
    )


def _warning(reason: str) -> str:
    return (
        f"The page was fetched, but its content could not be cleaned: {reason.rstrip('.')}. "
        "Its bare text stands here instead, with what the page may hide; other formats are missing."
    )

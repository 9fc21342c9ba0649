"""The texts of a page as the store writes them, computed where the page was parsed.

The event loop of the server only passes them on: compressing a page, and reading its text for the
index, is a fifth of all that it does for the page.
"""

from cinder.compression import compress, is_compressed
from cinder.models.document import Extraction, StoredForm, StoredTexts
from cinder.text.plain_text import MAX_TEXT_CHARS, hash_words, strip_markdown


def prepare_texts(content: Extraction, form: StoredForm) -> StoredTexts | None:
    """Return what the store writes of a page; None for texts that the store must change first."""
    text, markdown = content.text or "", content.markdown or ""
    try:
        raw_text, raw_markdown = text.encode(), markdown.encode()
    except UnicodeEncodeError:
        return None
    if "\0" in text or "\0" in markdown:
        return None
    plain, is_compressed_form = strip_markdown(markdown), form is StoredForm.COMPRESSED
    return StoredTexts(
        text=compress(raw_text) if is_compressed_form and content.text is not None else None,
        markdown=compress(raw_markdown) if is_compressed_form and markdown else None,
        plain=plain,
        plain_hash=hash_words(plain),
    )


def are_sound(texts: StoredTexts, content: Extraction) -> bool:
    """Whether prepared texts do no harm: they come from a process that parses hostile pages.

    They may be wrong, as may all that it sends, but not larger than the content that it sent.
    """
    pairs = ((texts.text, content.text), (texts.markdown, content.markdown))
    return len(texts.plain) <= MAX_TEXT_CHARS and all(
        packed is None or is_compressed(packed, len((text or "").encode(errors="replace")))
        for packed, text in pairs
    )

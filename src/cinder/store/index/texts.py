"""What of a document enters the index: its title, its text, its site and its date."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b

import can_ada

from cinder.model.document import Document, VerdictKind
from cinder.store.dialect import scrub

MAX_TEXT_CHARS = 100_000
"""What stands beyond is not looked through, so that no page makes the index slow or too large."""

_MAX_TITLE_CHARS = 500
# Markdown shrinks as its marks and addresses go.
_MAX_MARKDOWN_CHARS = 3 * MAX_TEXT_CHARS

# A page that was refused, or is none, would be found for words that are not its own.
_GOOD = frozenset({VerdictKind.OK, VerdictKind.PARTIAL})
_PLAIN_TYPE = re.compile(r"text/(?!html|xml|css|javascript)|application/(json|yaml)")

_ADDRESS = re.compile(r"\]\((?:[^()\n]|\([^()\n]*\)){0,2000}\)")
# Each begins with a line's end, for which Python looks fast.
_LINE_MARK = re.compile(r"\n[ \t]*(?:#{1,6}[ \t]|>[ \t]?|[-*+][ \t]|```.*|[|:\- \t]{3,}(?=\n))")
_LINES = re.compile(r"\n\s*")
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_MARKS = ("![", "[", "]", "*", "`", "__", "~~")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """A page as the index knows it."""

    title: str
    text: str
    site: str
    """The host's labels from the last to the first, each with a dot behind it."""
    published_at: datetime | None
    content: int
    """The same for pages with the same words."""
    vector: bytes | None = None
    """What the page is about, as a model sees it."""


def read_page(document: Document) -> PageText | None:
    """Return what the index takes of a document; None where it takes nothing."""
    text = _plain_text(document)
    if document.verdict.kind not in _GOOD or not text:
        return None
    metadata = document.content.metadata
    return PageText(
        title=scrub((metadata.title or "").strip()[:_MAX_TITLE_CHARS]),
        text=text,
        site=site_of(document.url),
        published_at=read_moment(metadata.published),
        content=_hash(text),
    )


def site_of(url: str) -> str:
    """Return the site of a URL as the index compares it; empty where it has none."""
    try:
        host = can_ada.parse(scrub(url)).hostname
    except ValueError:
        return ""
    # All of a domain begin alike.
    labels = reversed(host.strip(".").split("."))
    return "".join(f"{label}." for label in labels) if host.strip(".") else ""


def read_moment(text: str | None) -> datetime | None:
    """Return the moment that a page's metadata names, if it is one."""
    try:
        moment = datetime.fromisoformat(text or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def strip_markdown(markdown: str) -> str:
    """Return the text of markdown, without most of what only shapes it."""
    text = "\n" + markdown[:_MAX_MARKDOWN_CHARS]
    text = _LINE_MARK.sub("\n", _ADDRESS.sub("", text))
    text = _ESCAPE.sub("", text) if "\\" in text else text
    for mark in _MARKS:
        text = text.replace(mark, "")
    text = text.replace("|", " ").replace("\t", " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return _LINES.sub("\n", text.replace(" \n", "\n")).strip()[:MAX_TEXT_CHARS]


def _plain_text(document: Document) -> str:
    content = document.content
    if content.markdown is not None:
        return strip_markdown(scrub(content.markdown))
    if content.text is not None and _PLAIN_TYPE.match(document.content_type):
        return scrub(content.text[:MAX_TEXT_CHARS]).strip()
    return ""


def _hash(text: str) -> int:
    words = " ".join(text.lower().split())
    digest = blake2b(words.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)

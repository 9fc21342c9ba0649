"""Extracts the content of a PDF: metadata, HTML and markdown.

A mark, `<!-- page 3 -->`, precedes the blocks that begin on each page. A paragraph that continues
on the next page is part of the page where it begins.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from itertools import groupby

import can_ada

from cinder.documents.pdf.blocks import (
    BlockBuilder,
    Code,
    Lines,
    ListItem,
    PageBlocks,
    PdfBlock,
    PdfHeading,
)
from cinder.documents.pdf.headings import Headings, drop_running_text, measure_body
from cinder.documents.pdf.layout import PageLayout, Word
from cinder.documents.pdf.page_reading import UNKNOWN, read_page
from cinder.documents.pdf.pdfium import (
    Bookmark,
    Handle,
    count_pages,
    open_document,
    read_bookmarks,
    read_info,
    read_language,
)
from cinder.documents.pdf.reading_order import TextLine, read_lines
from cinder.documents.pdf.tables import Table
from cinder.html.markdown.conversion import to_markdown
from cinder.html.tree import collapse, parse_http_url, resolve_http_url
from cinder.html.visible_text import count_words
from cinder.models.document import Extraction, LinkDetail, PageMetadata
from cinder.models.request import ExtractOptions, Format
from cinder.text.invisible_characters import character_warnings
from cinder.text.terms import estimate_tokens

_MAX_INFO_CHARS = 1_000
_PDF_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?"
)


def read_pdf_metadata(document: Handle) -> PageMetadata:
    """Collect a PDF's metadata; entries that it does not have are None or empty."""
    keywords = re.split(r"[,;]", _info_entry(document, "Keywords") or "")
    return PageMetadata(
        title=_info_entry(document, "Title"),
        description=_info_entry(document, "Subject"),
        language=collapse(read_language(document))[:_MAX_INFO_CHARS] or None,
        author=_info_entry(document, "Author"),
        published=normalise_pdf_date(read_info(document, "CreationDate")),
        modified=normalise_pdf_date(read_info(document, "ModDate")),
        keywords=tuple(dict.fromkeys(filter(None, map(str.strip, keywords)))),
        page_count=count_pages(document),
    )


def normalise_pdf_date(text: str) -> str | None:
    """Return a date such as `D:20251115183000+01'00'` in ISO 8601, with the same precision."""
    found = _PDF_DATE.match(text.strip())
    if found is None:
        return None
    year, month, day, hour, minute, second, zulu, sign, zone_hour, zone_minute = found.groups()
    date = "-".join(filter(None, (year, month, day)))
    if hour is None:
        return date
    zone = "+00:00" if zulu else f"{sign}{zone_hour}:{zone_minute or '00'}" if sign else ""
    return f"{date}T{hour}:{minute or '00'}:{second or '00'}{zone}"


def _info_entry(document: Handle, name: str) -> str | None:
    return collapse(read_info(document, name))[:_MAX_INFO_CHARS] or None


# Scripts without spaces: a line break puts none between two characters either.
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_HYPHENATED = re.compile(r"[^\W\d_]-$")
_COMPOUND = re.compile(r"\w+(?:-\w+)+")

Address = Callable[[str], str | None]


class BlockRenderer:
    """Writes HTML; `address` resolves a link to a URL, or to None for a link to leave out."""

    def __init__(self, address: Address, compounds: frozenset[str]) -> None:
        self._address = address
        self._compounds = compounds

    def render(self, blocks: Iterable[PdfBlock]) -> str:
        """Return blocks as HTML, one a line."""
        parts: list[str] = []
        for is_list, group in groupby(blocks, lambda block: isinstance(block, ListItem)):
            members = list(group)
            if is_list:
                parts.append(self._list([b for b in members if isinstance(b, ListItem)]))
            else:
                parts += map(self._block, members)
        return "\n".join(parts)

    def _block(self, block: PdfBlock) -> str:
        if isinstance(block, PdfHeading):
            return f"<h{block.level}>{self._text(block.lines)}</h{block.level}>"
        if isinstance(block, Code):
            return f"<pre><code>{escape(chr(10).join(block.lines), quote=False)}</code></pre>"
        if not isinstance(block, Table):
            return f"<p>{self._text(block.lines)}</p>"
        rows = [
            "".join(f"<{tag}>{self._text([cell]) if cell else ''}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * len(block.rows)], block.rows, strict=False)
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows[1:])
        return f"<table><thead><tr>{rows[0]}</tr></thead><tbody>{body}</tbody></table>"

    def _list(self, items: Sequence[ListItem]) -> str:
        """Return items as lists, nested by their depth."""
        parts: list[str] = []
        open_lists: list[tuple[int, str]] = []
        for item in items:
            depth, tag = item.depth, "ul" if item.number is None else "ol"
            while open_lists and (
                open_lists[-1][0] > depth
                or (open_lists[-1][0] == depth and open_lists[-1][1] != tag)
            ):
                parts.append(f"</li></{open_lists.pop()[1]}>")
            if open_lists and open_lists[-1][0] == depth:
                parts.append("</li>")
            else:
                start = f' start="{item.number}"' if item.number not in (None, 1) else ""
                parts.append(f"<{tag}{start}>")
                open_lists.append((depth, tag))
            parts.append(f"<li>{self._text(item.lines)}")
        parts += [f"</li></{tag}>" for _, tag in reversed(open_lists)]
        return "".join(parts)

    def _text(self, lines: Lines) -> str:
        """Return lines as one run of text, with its links."""
        pieces: list[tuple[str | None, str]] = []
        for line in lines:
            for word in line:
                last_link, last = pieces[-1] if pieces else (None, "")
                joined = self._joined(last, word.text, is_new_line=word is line[0])
                if pieces and joined is not None:
                    pieces[-1] = (last_link, joined)
                else:
                    link = self._address(word.link) if word.link else None
                    pieces.append((link, word.text))
        parts: list[str] = []
        for link, group in groupby(pieces, lambda piece: piece[0]):
            text = escape(" ".join(text for _, text in group), quote=False)
            parts.append(f'<a href="{escape(link)}">{text}</a>' if link else text)
        return " ".join(parts)

    def _joined(self, last: str, following: str, *, is_new_line: bool) -> str | None:
        """Return two words as one where no space is between them; None where there is one."""
        if is_new_line and _HYPHENATED.search(last):
            whole = f"{last}{following}"
            # A word divided at the end of a line, unless the document writes it with a hyphen.
            is_compound = whole.strip(".,;:!?()\"'").casefold() in self._compounds
            is_divided = following[:1].islower() and not is_compound
            return f"{last[:-1]}{following}" if is_divided else whole
        if last and _UNSPACED.match(last[-1]) and _UNSPACED.match(following):
            return f"{last}{following}"
        return None


def find_compounds(lines: Iterable[Sequence[Word]]) -> frozenset[str]:
    """Return the words that a document writes with a hyphen within a line."""
    return frozenset(
        found.casefold()
        for line in lines
        for word in line[:-1]
        if "-" in word.text[1:-1]
        for found in _COMPOUND.findall(word.text)
    )


# Of all pages together; laying out more would take too long.
MAX_PDF_CHARS = 1_000_000
_MAX_NAMED_PAGES = 20
_MAX_LINK_CHARS = 300
_PAGE_MARK = re.compile(r"\\?<!-- (page \d+) -->")


def extract_pdf(
    body: bytes,
    *,
    url: str,
    options: ExtractOptions,
    max_pages: int,
    max_chars: int = MAX_PDF_CHARS,
) -> Extraction:
    """Turn a PDF into the formats asked for; it has no raw HTML and no images with URLs.

    Args:
        body: the file as received.
        url: the URL of the file after redirects.
        options: what to produce.
        max_pages: how many of its pages to read.
        max_chars: after how many characters no further page is read.

    Raises:
        Unsupported: the file is encrypted, broken, or no PDF.
    """
    with open_document(body) as document:
        metadata, bookmarks = read_pdf_metadata(document), read_bookmarks(document)
        read = _ReadPdf(metadata, count_pages(document), bookmarks)
        chars = 0
        for index in range(min(read.page_count, max_pages)):
            if chars > max_chars:
                read.is_full = True
                break
            page = read_page(document, index)
            read.reached = index + 1
            if page is None:
                read.unreadable.append(index + 1)
                page = PageLayout(index + 1, 0)
            read.pages.append(page)
            chars += sum(len(word.text) for word in page.words)
    return _render(read, parse_http_url(url), options)


@dataclass(slots=True)
class _ReadPdf:
    """The parts of a document that were read."""

    metadata: PageMetadata
    page_count: int
    bookmarks: list[Bookmark]
    pages: list[PageLayout] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    reached: int = 0
    """How many pages were visited."""
    is_full: bool = False
    """Whether the limit of characters was reached."""


def _render(read: _ReadPdf, base: can_ada.URL | None, options: ExtractOptions) -> Extraction:
    """Turn the pages of a document into content."""
    address = partial(resolve_http_url, base)
    lines = drop_running_text([read_lines(page) for page in read.pages])
    body = measure_body(lines)
    headings = Headings(lines, body, read.bookmarks)
    pages = BlockBuilder(body, headings).build(lines)
    items = (item for page in lines for item in page.items)
    words = (item.segment.words for item in items if isinstance(item, TextLine))
    renderer = BlockRenderer(address, find_compounds(words))
    html = [renderer.render(page.blocks) for page in pages]
    # The words are counted in the markdown, so it is made even where it is not asked for. A
    # page's mark in its text is rewritten: it must not change where a passage is cited from.
    markdown = [_PAGE_MARK.sub(r"(\1)", to_markdown(text)) if text else "" for text in html]
    formats, counted = options.formats, "\n".join(markdown)
    evidence = "" if counted.strip() else _why_empty(read.pages)
    links: dict[str, list[str]] = {}
    for word in (word for page in read.pages for word in page.words):
        if word.link and (url := address(word.link)):
            links.setdefault(url, []).append(word.text)
    metadata = read.metadata
    titles = (b for page in pages for b in page.blocks if isinstance(b, PdfHeading))
    first = next((heading for heading in titles if heading.level == 1), None)
    if metadata.title is None and first is not None:
        title = " ".join(word.text for line in first.lines for word in line)
        metadata = replace(metadata, title=title)
    return Extraction(
        markdown=_with_marks(pages, markdown) if options.wants_markdown else None,
        html=_with_marks(pages, html) if Format.HTML in formats else None,
        links=tuple(links) if Format.LINKS in formats else None,
        links_detail=tuple(
            LinkDetail(url=url, text=" ".join(words)[:_MAX_LINK_CHARS], section="main")
            for url, words in links.items()
        )
        if Format.LINKS_DETAIL in formats
        else None,
        images=() if Format.IMAGES in formats else None,
        metadata=metadata,
        word_count=count_words(counted),
        token_count=estimate_tokens(counted),
        empty_evidence=evidence,
        is_partial=read.is_full or any(page.is_cut for page in read.pages),
        warnings=(*_warnings(read, evidence), *character_warnings("\n".join(html))),
    )


def _why_empty(pages: list[PageLayout]) -> str:
    images = sum(page.image_count > 0 for page in pages)
    if not pages:
        return "the document has no pages"
    if not images:
        return f"no text and no images; {_count(len(pages), 'page')} in all"
    return f"no text layer; {_count(images, 'page')} of images, {len(pages)} in all"


def _warnings(read: _ReadPdf, evidence: str) -> list[str]:
    warnings = []
    if read.is_full:
        warnings.append(
            f"Of {read.page_count} pages the first {read.reached} were parsed: they have as "
            "many characters as are read of one document."
        )
    elif read.reached < read.page_count:
        warnings.append(
            f"Of {read.page_count} pages the first {read.reached} were parsed; a larger "
            "maxPages may bring more, up to the setting scrape.pdf-max-pages."
        )
    if evidence:
        warnings.append(f"The PDF has no text to take out: {evidence}.")
    elif scanned := [p.number for p in read.pages if p.image_count and not p.words]:
        warnings.append(f"Without a text layer, images alone: {_name_pages(scanned)}.")
    if read.unreadable:
        warnings.append(f"Broken and left out: {_name_pages(read.unreadable)}.")
    if cut := [page.number for page in read.pages if page.is_cut]:
        warnings.append(f"With more text than is read: {_name_pages(cut)}.")
    if dropped := sum(page.dropped_chars for page in read.pages):
        warnings.append(
            f"{dropped} characters that cannot be seen, outside of the page or too small, "
            "were left out."
        )
    words = (word.text for page in read.pages for word in page.words)
    if unknown := sum(text.count(UNKNOWN) for text in words):
        warnings.append(
            f"The file does not say which characters {unknown} of its glyphs are: each is "
            f"shown as {UNKNOWN}."
        )
    return warnings


def _with_marks(pages: list[PageBlocks], texts: list[str]) -> str:
    parts = (
        f"<!-- page {page.number} -->\n\n{text}".rstrip()
        for page, text in zip(pages, texts, strict=True)
    )
    return "\n\n".join(parts)


def _name_pages(numbers: list[int]) -> str:
    named = ", ".join(map(str, numbers[:_MAX_NAMED_PAGES]))
    more = f" and {len(numbers) - _MAX_NAMED_PAGES} more" if len(numbers) > _MAX_NAMED_PAGES else ""
    return f"{'page' if len(numbers) == 1 else 'pages'} {named}{more}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

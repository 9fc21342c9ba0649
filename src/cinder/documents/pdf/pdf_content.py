"""Extracts the content of a PDF: metadata, HTML and markdown.

Pages are told apart by a mark, `<!-- page 3 -->`, before what begins on each; a paragraph that runs
over to the next page stands whole on the page where it begins.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
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
from cinder.documents.pdf.layout import PageLayout, Segment, Word
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
from cinder.documents.pdf.reading_order import PageLines, TextLine, read_lines
from cinder.documents.pdf.tables import Table
from cinder.html.links import resolve_http_url
from cinder.html.markdown.conversion import to_markdown
from cinder.html.tree import collapse, parse_http_url
from cinder.html.visible_text import count_words
from cinder.models.document import Extraction, PageMetadata
from cinder.models.request import ExtractOptions, Format
from cinder.text.invisible_characters import character_warnings

_MAX_INFO_CHARS = 1_000
_PDF_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:(Z)|([+-])(\d\d)'?(\d\d)?)?"
)


def read_pdf_metadata(document: Handle) -> PageMetadata:
    """Collect what a PDF says about itself; what it does not say is None or empty."""
    return PageMetadata(
        title=_info_entry(document, "Title"),
        description=_info_entry(document, "Subject"),
        language=collapse(read_language(document))[:_MAX_INFO_CHARS] or None,
        author=_info_entry(document, "Author"),
        published=normalise_pdf_date(read_info(document, "CreationDate")),
        modified=normalise_pdf_date(read_info(document, "ModDate")),
        keywords=_keywords(_info_entry(document, "Keywords") or ""),
        page_count=count_pages(document),
    )


def normalise_pdf_date(text: str) -> str | None:
    """Return a date such as `D:20251115183000+01'00'` in ISO 8601, as exact as it is given."""
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


def _keywords(said: str) -> tuple[str, ...]:
    words = (word.strip() for word in re.split(r"[,;]", said))
    return tuple(dict.fromkeys(filter(None, words)))


# Scripts that are written without spaces: a new line puts none between two characters either.
_UNSPACED = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_HYPHENATED = re.compile(r"[^\W\d_]-$")
_COMPOUND = re.compile(r"\w+(?:-\w+)+")

Address = Callable[[str], str | None]


class BlockRenderer:
    """Writes HTML; `address` gives the web address that a link means, None for one to leave out."""

    def __init__(self, address: Address, compounds: frozenset[str]) -> None:
        self._address = address
        self._compounds = compounds

    def render(self, blocks: Iterable[PdfBlock]) -> str:
        """Return blocks as HTML, one a line."""
        parts: list[str] = []
        for is_list, group in groupby(blocks, lambda block: isinstance(block, ListItem)):
            members = list(group)
            if is_list:
                items = [block for block in members if isinstance(block, ListItem)]
                parts += self._lists(items)
            else:
                parts += map(self._block, members)
        return "\n".join(parts)

    def _block(self, block: PdfBlock) -> str:
        if isinstance(block, PdfHeading):
            return f"<h{block.level}>{self._text(block.lines)}</h{block.level}>"
        if isinstance(block, Table):
            return self._table(block)
        if isinstance(block, Code):
            return f"<pre><code>{escape(chr(10).join(block.lines), quote=False)}</code></pre>"
        return f"<p>{self._text(block.lines)}</p>"

    def _lists(self, items: Sequence[ListItem]) -> list[str]:
        """Return items as lists, nested by their depth."""
        parts: list[str] = []
        open_lists: list[tuple[int, str]] = []
        for item in items:
            tag = "ul" if item.number is None else "ol"
            while open_lists and _is_left(open_lists[-1], item.depth, tag):
                parts.append(f"</li></{open_lists.pop()[1]}>")
            if open_lists and open_lists[-1][0] == item.depth:
                parts.append("</li>")
            else:
                start = f' start="{item.number}"' if item.number not in (None, 1) else ""
                parts.append(f"<{tag}{start}>")
                open_lists.append((item.depth, tag))
            parts.append(f"<li>{self._text(item.lines)}")
        parts += [f"</li></{tag}>" for _, tag in reversed(open_lists)]
        return ["".join(parts)]

    def _table(self, table: Table) -> str:
        rows = [
            "".join(f"<{tag}>{self._text([cell]) if cell else ''}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * len(table.rows)], table.rows, strict=False)
        ]
        body = "".join(f"<tr>{row}</tr>" for row in rows[1:])
        return f"<table><thead><tr>{rows[0]}</tr></thead><tbody>{body}</tbody></table>"

    def _text(self, lines: Lines) -> str:
        """Return lines as one run of text, with its links."""
        pieces: list[tuple[str | None, str]] = []
        for line in lines:
            for word in line:
                self._add_word(pieces, word, is_new_line=word is line[0])
        return "".join(_linked(link, text) for link, text in _merged(pieces))

    def _add_word(
        self, pieces: list[tuple[str | None, str]], word: Word, *, is_new_line: bool
    ) -> None:
        link = self._address(word.link) if word.link else None
        if not pieces:
            pieces.append((link, word.text))
            return
        last_link, last = pieces[-1]
        if is_new_line and self._is_broken(last, word.text):
            pieces[-1] = (last_link, f"{last[:-1]}{word.text}")
        elif _is_unspaced(last, word.text) or (is_new_line and _HYPHENATED.search(last)):
            pieces[-1] = (last_link, f"{last}{word.text}")
        else:
            pieces.append((link, word.text))

    def _is_broken(self, last: str, following: str) -> bool:
        """Whether a word was divided at the end of a line, rather than written with a hyphen."""
        if not _HYPHENATED.search(last) or not following[:1].islower():
            return False
        return f"{last}{following}".strip(".,;:!?()\"'").casefold() not in self._compounds


def find_compounds(lines: Iterable[Sequence[Word]]) -> frozenset[str]:
    """Return the words that a document writes with a hyphen where no line ends."""
    return frozenset(
        found.casefold()
        for line in lines
        for word in line[:-1]
        if "-" in word.text[1:-1]
        for found in _COMPOUND.findall(word.text)
    )


def _is_unspaced(last: str, following: str) -> bool:
    return bool(_UNSPACED.match(last[-1]) and _UNSPACED.match(following))


def _is_left(innermost: tuple[int, str], depth: int, tag: str) -> bool:
    return innermost[0] > depth or (innermost[0] == depth and innermost[1] != tag)


def _merged(pieces: Sequence[tuple[str | None, str]]) -> list[tuple[str | None, str]]:
    """Return pieces with the same link as one, with the spaces between them."""
    merged: list[tuple[str | None, str]] = []
    for link, group in groupby(pieces, lambda piece: piece[0]):
        merged += [(None, " ")] if merged else []
        merged.append((link, " ".join(text for _, text in group)))
    return merged


def _linked(link: str | None, text: str) -> str:
    shown = escape(text, quote=False)
    return f'<a href="{escape(link)}">{shown}</a>' if link else shown


# Of all pages together; what is beyond would take longer to lay out than anybody waits.
MAX_PDF_CHARS = 1_000_000
_MAX_NAMED_PAGES = 20
_CHARS_PER_TOKEN = 4
_PAGE_MARK = re.compile(r"\\?<!-- (page \d+) -->")


def extract_pdf(
    body: bytes,
    *,
    url: str,
    options: ExtractOptions,
    max_pages: int,
    max_chars: int = MAX_PDF_CHARS,
) -> Extraction:
    """Turn a PDF into the formats asked for; it has no raw HTML and no images with addresses.

    Args:
        body: the file as it came.
        url: where it finally came from.
        options: what to produce.
        max_pages: how many of its pages to read.
        max_chars: after how many characters no further page is read.

    Raises:
        Unsupported: the file is encrypted, broken, or no PDF.
    """
    with open_document(body) as document:
        read = _read_pdf(document, max_pages, max_chars)
    return _Rendering(read, parse_http_url(url), options).extract()


@dataclass(slots=True)
class _ReadPdf:
    """What was read of a document."""

    metadata: PageMetadata
    page_count: int
    bookmarks: list[Bookmark]
    pages: list[PageLayout] = field(default_factory=list)
    unreadable: list[int] = field(default_factory=list)
    reached: int = 0
    """How many pages were looked at."""
    is_full: bool = False
    """Whether their characters were as many as are read."""


def _read_pdf(document: Handle, max_pages: int, max_chars: int) -> _ReadPdf:
    read = _ReadPdf(read_pdf_metadata(document), count_pages(document), read_bookmarks(document))
    chars = 0
    for index in range(min(read.page_count, max_pages)):
        if chars > max_chars:
            read.is_full = True
            break
        page = read_page(document, index)
        read.reached = index + 1
        if page is None:
            read.unreadable.append(index + 1)
            page = PageLayout(index + 1, 0, 0)
        read.pages.append(page)
        chars += sum(len(word.text) for word in page.words)
    return read


class _Rendering:
    """A document on its way from pages to content."""

    def __init__(self, read: _ReadPdf, base: can_ada.URL | None, options: ExtractOptions) -> None:
        self._read = read
        self._base = base
        self._options = options

    def extract(self) -> Extraction:
        lines = drop_running_text([read_lines(page) for page in self._read.pages])
        pages = self._build(lines)
        words = (segment.words for page in lines for segment in _segments(page))
        renderer = BlockRenderer(self._address, find_compounds(words))
        html = [renderer.render(page.blocks) for page in pages]
        # Made even where it is not asked for: it is what the words are counted in.
        markdown = [_to_markdown(text) if text else "" for text in html]
        formats, counted = self._options.formats, "\n".join(markdown)
        evidence = "" if counted.strip() else self._why_empty()
        return Extraction(
            markdown=_with_marks(pages, markdown) if self._options.wants_markdown else None,
            html=_with_marks(pages, html) if Format.HTML in formats else None,
            links=self._links() if Format.LINKS in formats else None,
            images=() if Format.IMAGES in formats else None,
            metadata=self._metadata(pages),
            word_count=count_words(counted),
            token_count=-(-len(counted) // _CHARS_PER_TOKEN),
            empty_evidence=evidence,
            is_partial=self._read.is_full or any(page.is_cut for page in self._read.pages),
            warnings=(*self._warnings(evidence), *character_warnings("\n".join(html))),
        )

    def _build(self, lines: list[PageLines]) -> list[PageBlocks]:
        body = measure_body(lines)
        headings = Headings(lines, body, self._read.bookmarks)
        return BlockBuilder(body, headings).build(lines)

    def _address(self, link: str) -> str | None:
        return resolve_http_url(self._base, link)

    def _links(self) -> tuple[str, ...]:
        words = (word for page in self._read.pages for word in page.words)
        found = (self._address(word.link) for word in words if word.link)
        return tuple(dict.fromkeys(filter(None, found)))

    def _metadata(self, pages: list[PageBlocks]) -> PageMetadata:
        metadata = self._read.metadata
        if metadata.title is not None:
            return metadata
        headings = (b for page in pages for b in page.blocks if isinstance(b, PdfHeading))
        first = next((heading for heading in headings if heading.level == 1), None)
        if first is None:
            return metadata
        return replace(metadata, title=" ".join(w.text for line in first.lines for w in line))

    def _why_empty(self) -> str:
        pages, images = self._read.pages, sum(page.image_count > 0 for page in self._read.pages)
        if not pages:
            return "the document has no pages"
        if not images:
            return f"no text and no images; {_count(len(pages), 'page')} in all"
        return f"no text layer; {_count(images, 'page')} of images, {len(pages)} in all"

    def _warnings(self, evidence: str) -> list[str]:
        read, warnings = self._read, []
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
                f"{dropped} characters that nobody sees, outside of the page or too small, were "
                "left out."
            )
        words = (word.text for page in read.pages for word in page.words)
        if unknown := sum(text.count(UNKNOWN) for text in words):
            warnings.append(
                f"Of {unknown} letters the file does not say what they are: each is shown as "
                f"{UNKNOWN}."
            )
        return warnings


def _segments(page: PageLines) -> list[Segment]:
    return [item.segment for item in page.items if isinstance(item, TextLine)]


def _to_markdown(html: str) -> str:
    # Whoever writes such a mark into a text must not be able to move what is cited.
    return _PAGE_MARK.sub(r"(\1)", to_markdown(html))


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

"""The one way from a PDF's bytes to its content.

Pages are told apart by a mark, `<!-- page 3 -->`, before what begins on each; a paragraph that runs
over to the next page stands whole on the page where it begins.
"""

import re
from dataclasses import dataclass, field, replace

import can_ada

from cinder.extract.character_tricks import character_warnings
from cinder.extract.html_tree import parse_address
from cinder.extract.links import web_address
from cinder.extract.markdown.conversion import to_markdown
from cinder.extract.options import ExtractOptions
from cinder.extract.pdf.block_building import BlockBuilder, PageBlocks
from cinder.extract.pdf.blocks import Heading
from cinder.extract.pdf.headings import Headings, measure_body
from cinder.extract.pdf.info import read_pdf_metadata
from cinder.extract.pdf.layout import PageLayout, Segment
from cinder.extract.pdf.page_lines import Line, PageLines, read_lines
from cinder.extract.pdf.page_reading import UNKNOWN, read_page
from cinder.extract.pdf.pdfium import Bookmark, Handle, count_pages, open_document, read_bookmarks
from cinder.extract.pdf.rendering import Renderer, find_compounds
from cinder.extract.pdf.running_text import drop_running_text
from cinder.extract.visible_text import count_words
from cinder.model.document import Extraction, PageMetadata
from cinder.model.request import Format

# Of all pages together; what is beyond would take longer to lay out than anybody waits.
MAX_CHARS = 1_000_000
_MAX_NAMED_PAGES = 20
_CHARS_PER_TOKEN = 4
_MARK = re.compile(r"\\?<!-- (page \d+) -->")


def extract_pdf(
    body: bytes,
    *,
    url: str,
    options: ExtractOptions,
    max_pages: int,
    max_chars: int = MAX_CHARS,
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
        read = _read(document, max_pages, max_chars)
    return _Rendering(read, parse_address(url), options).extract()


@dataclass(slots=True)
class _Read:
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


def _read(document: Handle, max_pages: int, max_chars: int) -> _Read:
    read = _Read(read_pdf_metadata(document), count_pages(document), read_bookmarks(document))
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

    def __init__(self, read: _Read, base: can_ada.URL | None, options: ExtractOptions) -> None:
        self._read = read
        self._base = base
        self._options = options

    def extract(self) -> Extraction:
        lines = drop_running_text([read_lines(page) for page in self._read.pages])
        pages = self._build(lines)
        words = (segment.words for page in lines for segment in _segments(page))
        renderer = Renderer(self._address, find_compounds(words))
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
        return web_address(self._base, link)

    def _links(self) -> tuple[str, ...]:
        words = (word for page in self._read.pages for word in page.words)
        found = (self._address(word.link) for word in words if word.link)
        return tuple(dict.fromkeys(filter(None, found)))

    def _metadata(self, pages: list[PageBlocks]) -> PageMetadata:
        metadata = self._read.metadata
        if metadata.title is not None:
            return metadata
        headings = (b for page in pages for b in page.blocks if isinstance(b, Heading))
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
    return [item.segment for item in page.items if isinstance(item, Line)]


def _to_markdown(html: str) -> str:
    # Whoever writes such a mark into a text must not be able to move what is cited.
    return _MARK.sub(r"(\1)", to_markdown(html))


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

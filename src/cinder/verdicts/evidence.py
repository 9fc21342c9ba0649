"""Evidence for verdicts: the text, headings, scripts and URLs of a page, read from its bytes.

No parser: one needs seconds for a page that is built to hurt it, and this looks at every page, in
the server's own process. Each byte is looked at a bounded number of times, whatever it is.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from itertools import islice

import can_ada

from cinder.models.document import Extraction, FetchedPage, PageMetadata

# Pages bring their text in far less; the worst bytes take about 50 ns each, several times over.
_MAX_SHOWN_BYTES = 400_000
_MAX_TAIL_BYTES = 100_000
_MAX_PIECES = 5_000
_MAX_TITLE_BYTES = 2_000
# A run of text this long is a sentence; menus and buttons are shorter.
_MIN_SENTENCE_BYTES = 60
# With more than this a page has something to read, whatever is asked about it.
MUCH_IN_SENTENCES = 3_000
MUCH_TEXT = 12_000

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_UNNAMED_TYPES = ("", "application/octet-stream", "*/*")
_START_OF_HTML = re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body|!--)")

# What a browser with scripts does not show as text, to be skipped as a whole.
_UNSEEN = re.compile(
    rb"<(?=[sntSNT!])(?:(?i:(script|style|noscript|template|title))(?=[\s/>])|!--)"
)
_COMMENT = b"!--"
_TEXT = re.compile(rb">\s*+([^<>\s][^<>]*)")
_TAG = re.compile(rb"<[^<>]*>?")
_STYLE = re.compile(rb"(?i)<style[^<>]*>[^<]*+")
_OPENING_TAG = re.compile(rb"<[^>]{0,4000}>?")
_DATA_TYPE = re.compile(
    rb"(?i)\stype\s*=\s*[\"']?\s*(?:application/(?:ld\+)?json|text/[\w-]*template)"
)
_SOURCE = re.compile(rb"(?i)\ssrc\s*=\s*[\"']?([^\s\"'>]{1,2000})")
# `unescape` raises on a number of thousands of digits.
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}")


@dataclass(frozen=True, slots=True)
class TextAmount:
    """How much text a page shows, in bytes, where it is not much."""

    sentence_bytes: int
    total_bytes: int

    def exceeds(self, sentence_bytes: int, total_bytes: int) -> bool:
        """Whether there is more than so much in sentences, or in all."""
        return self.sentence_bytes > sentence_bytes or self.total_bytes > total_bytes

    @property
    def is_much(self) -> bool:
        """Whether there is so much to read that nothing can have been kept back."""
        return self.exceeds(MUCH_IN_SENTENCES, MUCH_TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What a page is made of."""

    title: str
    text: str
    """The text that shows without running a script, a line for each run of it."""
    markup: bytes
    """The page without what is not shown: scripts, styles, templates, comments."""
    noscript: bytes
    """The markup for readers whose browser runs no scripts."""
    inline_scripts: tuple[bytes, ...]
    script_addresses: tuple[str, ...]

    @property
    def word_count(self) -> int:
        """About how many words show; where words have no spaces, judged by their length."""
        return max(len(self.text.split()), len(self.text.encode()) // 12)

    @property
    def sentence_bytes(self) -> int:
        """How much of the text is in sentences, not in menus and buttons."""
        return sum(len(line.encode()) for line in self.text.splitlines() if is_sentence(line))


def is_sentence(line: str) -> bool:
    """Whether a run of text is long enough for a sentence."""
    return len(line.encode()) >= _MIN_SENTENCE_BYTES


def is_html(page: FetchedPage) -> bool:
    """Whether an answer is an HTML page, by its type or, where that says nothing, its start."""
    if page.content_type in _UNNAMED_TYPES:
        return _START_OF_HTML.match(page.body[:1_000]) is not None
    return page.content_type in _HTML_TYPES


def measure_text(body: bytes) -> TextAmount:
    """Return how much text a page shows; stops once that is much."""
    sentences = total = 0
    for name, start, end in _pieces(body):
        if name:
            continue
        for found in _TEXT.finditer(body, start, end):
            size = found.end() - found.start(1)
            total += size
            if size >= _MIN_SENTENCE_BYTES and not _is_data(found[1]):
                sentences += size
            if sentences > MUCH_IN_SENTENCES or total > MUCH_TEXT:
                return TextAmount(sentences, total)
    return TextAmount(sentences, total)


def has_unclosed_element(body: bytes) -> bool:
    """Whether a page ends inside a script, a style or another element that does not show."""
    for name, start, end in _pieces(body):
        ending = b"-->" if name == _COMMENT else b"</"
        if name and end == len(body) and ending not in body[max(start + 4, end - 20) : end]:
            return True
    return False


def read_outline(body: bytes) -> Outline:
    """Return the outline of a page, whatever its bytes are."""
    parts: dict[bytes, list[bytes]] = {}
    for name, start, end in _pieces(body):
        parts.setdefault(name, []).append(body[start:end])
    markup = b" ".join(parts.get(b"", ()))
    scripts = [_split_script(script) for script in parts.get(b"script", ())]
    return Outline(
        title=read_text(b"".join(parts.get(b"title", ())[:1])[:_MAX_TITLE_BYTES]),
        text="\n".join(map(_decode, _TEXT.findall(markup))),
        markup=markup,
        noscript=b" ".join(parts.get(b"noscript", ()))[:_MAX_SHOWN_BYTES],
        inline_scripts=tuple(code for _, code in scripts if code.strip()),
        script_addresses=tuple(address for address, _ in scripts if address),
    )


def read_text(markup: bytes) -> str:
    """Return the text in a piece of markup, on one line."""
    return _decode(_TAG.sub(b" ", _STYLE.sub(b"", markup)))


def _pieces(body: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Cut a page into what is shown (no name) and the elements that are not, by their name.

    Of a page with very much markup, its head and its tail are looked at.
    """
    end = yield from _pieces_from(body, 0, _MAX_SHOWN_BYTES)
    if end < len(body):
        yield from _pieces_from(body, _start_of_tail(body, end), _MAX_TAIL_BYTES)


def _pieces_from(
    body: bytes, start: int, budget: int
) -> Generator[tuple[bytes, int, int], None, int]:
    """Do so from one place on, for so many bytes that are shown; return where that ended."""
    for _ in range(_MAX_PIECES):
        unseen = _UNSEEN.search(body, start, start + budget)
        if unseen is None:
            break
        yield b"", start, unseen.start()
        budget -= unseen.start() - start
        name = unseen[1].lower() if unseen[1] else _COMMENT
        start = _end_of(body, name, unseen.end())
        yield name, unseen.start(), start
    end = min(len(body), start + budget)
    yield b"", start, end
    return end


def _start_of_tail(body: bytes, start: int) -> int:
    """Return where the tail of a page begins, not in the middle of a script."""
    start = max(start, len(body) - _MAX_TAIL_BYTES)
    end_of_script, script = body.find(b"</script", start), body.find(b"<script", start)
    is_inside = end_of_script >= 0 and not 0 <= script < end_of_script
    return end_of_script if is_inside else start


def _end_of(body: bytes, name: bytes, start: int) -> int:
    """Return where an element ends; one that is never closed takes all the rest."""
    ending = b"-->" if name == _COMMENT else b"</" + name
    end = body.find(ending, start)
    if end < 0:
        end = body.find(ending.upper(), start)
    return body.find(b">", end) + 1 or len(body) if end >= 0 else len(body)


def _is_data(text: bytes) -> bool:
    """Whether what looks like text is a piece of an attribute that holds data with a `>` in it."""
    return b'":' in text or b"&quot;" in text


def _split_script(script: bytes) -> tuple[str, bytes]:
    """Return a script's address or its code; a block of data has neither."""
    tag = _OPENING_TAG.match(script)
    opening = tag[0] if tag else b""
    if _DATA_TYPE.search(opening):
        return "", b""
    if source := _SOURCE.search(opening):
        return source[1].decode("utf-8", "replace"), b""
    return "", script[len(opening) : script.rfind(b"</")]


def _decode(text: bytes) -> str:
    decoded = _ENDLESS_REFERENCE.sub("", text.decode("utf-8", "replace"))
    return " ".join(unescape(decoded).split())


_MAX_CONTENT_WORDS = 700
_MAX_HEADINGS = 12
_MAX_TITLE_CHARS = 300
_MAX_SENTENCES = 500

_HEADING = re.compile(rb"(?i)<(h[1-3])(?=[\s>])[^<>]{0,500}>")
_MAX_HEADING_BYTES = 1_000
# What sites put between a page's name and their own.
_SEPARATOR = re.compile(r"\s+[-\u2013\u2014|·•»\u203a:~]+\s+|[|\uff5c•·»]|: ")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|(?<=[。\uff01\uff1f])|\n")


class PageEvidence:
    """One page, read for signs; `content` is what was taken out of it, where that is known."""

    def __init__(self, page: FetchedPage, content: Extraction | None = None) -> None:
        self.page = page
        self._content = content

    @property
    def is_content_cut(self) -> bool:
        """Whether a limit cost some of the content."""
        return self._content is not None and self._content.is_partial

    @property
    def metadata(self) -> PageMetadata:
        """What the page says about itself."""
        return self._content.metadata if self._content else PageMetadata()

    @property
    def word_count(self) -> int:
        """How many words the content has."""
        return self._content.word_count if self._content else 0

    @cached_property
    def is_html(self) -> bool:
        """Whether it is a page at all."""
        return is_html(self.page)

    @cached_property
    def is_long(self) -> bool:
        """Whether there is so much to read that nothing can have been kept back."""
        return self.word_count > _MAX_CONTENT_WORDS or self.text_amount.is_much

    @cached_property
    def text_amount(self) -> TextAmount:
        """How much text shows without running a script."""
        return measure_text(self.page.body)

    @cached_property
    def outline(self) -> Outline:
        """What the page is made of, in UTF-8 whatever it came in."""
        if self._content is not None and self._content.text is not None:
            return read_outline(self._content.text.encode("utf-8", "replace"))
        return read_outline(self.page.body)

    @cached_property
    def text(self) -> str:
        """All text that shows, on one line and in lower case."""
        return " ".join(self.outline.text.lower().split())

    @cached_property
    def words(self) -> int:
        """About how many words show."""
        return self.outline.word_count

    @cached_property
    def sentence_bytes(self) -> int:
        """How much of the text is in sentences."""
        return self.outline.sentence_bytes

    @cached_property
    def title(self) -> str:
        """The page's title, in lower case."""
        title = (self.metadata.title or self.outline.title)[:_MAX_TITLE_CHARS]
        return " ".join(title.lower().split())

    @cached_property
    def headings(self) -> tuple[str, ...]:
        """The first headings of the upper three levels, in lower case."""
        return tuple(heading.lower() for heading in _headings(self.outline.markup))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the page calls itself: its title, the title's parts, its headings."""
        parts = (part.strip() for part in _SEPARATOR.split(self.title))
        return (self.title, *(part for part in parts if part), *self.headings)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The text in sentences and shorter runs, in lower case."""
        parts = _SENTENCE_END.split(self.outline.text.lower())
        return tuple(part for part in parts if part.strip())[:_MAX_SENTENCES]

    @cached_property
    def requested_path(self) -> str:
        """The path that was asked for."""
        return can_ada.parse(self.page.url).pathname

    @cached_property
    def path(self) -> str:
        """The path that it led to."""
        return can_ada.parse(self.page.final_url).pathname

    @property
    def was_redirected_elsewhere(self) -> bool:
        """Whether a redirect led to another page than was asked for."""
        if self.page.url == self.page.final_url:
            return False
        return (
            self.requested_path.rstrip("/") != self.path.rstrip("/")
            or self.host != self.requested_host
        )

    @cached_property
    def requested_host(self) -> str:
        """The host that was asked, without `www.`."""
        return can_ada.parse(self.page.url).hostname.removeprefix("www.")

    @cached_property
    def host(self) -> str:
        """The host that answered, without `www.`."""
        return can_ada.parse(self.page.final_url).hostname.removeprefix("www.")


def _headings(markup: bytes) -> Iterator[str]:
    for opening in islice(_HEADING.finditer(markup), _MAX_HEADINGS):
        rest = markup[opening.end() : opening.end() + _MAX_HEADING_BYTES]
        end = rest.lower().find(b"</" + opening[1].lower())
        if heading := read_text(rest[: end if end >= 0 else len(rest)]).strip():
            yield heading

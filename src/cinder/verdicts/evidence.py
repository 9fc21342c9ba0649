"""The evidence of a fetched page: a linear scan of its HTML, and the phrases looked for.

This scans bytes instead of using the lexbor tree that extraction uses: every page is judged in the
server's own process, and lexbor takes more than ten seconds for a megabyte of hostile HTML. Each
byte is scanned a bounded number of times.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import can_ada

from cinder.models.document import Extraction, FetchedPage, PageMetadata

_REACH_CHARS = 120
_MAX_PLACES = 60
_FRAGMENT = re.compile(r"\{([a-z]+)\}")


@cache
def load_phrases() -> dict[str, dict[str, Any]]:  # Any: lists in most sections, tables in one
    """Return the sections of `phrases.toml`; the file is read once."""
    return tomllib.loads(Path(__file__).with_name("phrases.toml").read_text("utf-8"))


class AnyPhrase:
    """A pattern that matches any phrase of some lists of a section, in their order.

    It is compiled on first use: all of them take 30 ms, and most processes use few or none.
    """

    def __init__(self, section: str, *names: str) -> None:
        """Take the name of the section, and those of its lists."""
        sections = load_phrases()
        phrases = "|".join(phrase for name in names for phrase in sections[section][name])
        self.pattern = _FRAGMENT.sub(lambda found: sections["fragments"][found[1]], phrases)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def search(self, text: str, *window: int) -> re.Match[str] | None:
        """Return the first phrase within a text, or within a part of it."""
        return self._compiled.search(text, *window)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Return the phrase that is the whole text."""
        return self._compiled.fullmatch(text)

    def finditer(self, text: str, *window: int) -> Iterator[re.Match[str]]:
        """Yield each phrase within a text, or within a part of it."""
        return self._compiled.finditer(text, *window)


def find_last_phrase(
    text: str, stems: Sequence[str], pattern: AnyPhrase | re.Pattern[str]
) -> re.Match[str] | None:
    """Return the last match in a lower-case text of phrases that each contain one of the stems.

    Only the text near the first stems is searched: a long alternation takes a microsecond per
    character, a plain string next to nothing.
    """
    last: re.Match[str] | None = None
    places = 0
    for stem in stems:
        at = text.find(stem)
        while at >= 0 and places < _MAX_PLACES:
            end = at + len(stem) + _REACH_CHARS
            for found in pattern.finditer(text, max(0, at - _REACH_CHARS), end):
                if last is None or found.end() > last.end():
                    last = found
            places += 1
            at = text.find(stem, at + _REACH_CHARS)
    return last


# Pages have far less markup; the worst input takes about 50 ns per byte, several times over.
_MAX_SHOWN_BYTES = 400_000
_MAX_TAIL_BYTES = 100_000
_MAX_PIECES = 5_000
_MAX_TITLE_BYTES = 2_000
# A run of text this long is a sentence; menu entries and buttons are shorter.
_MIN_SENTENCE_BYTES = 60
# A page with more text than this has content, whatever else it contains.
MUCH_IN_SENTENCES = 3_000
MUCH_TEXT = 12_000

# The name of an unseen element, or none for shown markup, and where the piece starts and ends.
Piece: TypeAlias = tuple[bytes, int, int]

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_UNNAMED_TYPES = ("", "application/octet-stream", "*/*")
_START_OF_HTML = re.compile(rb"(?i)(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+html|html|head|body|!--)")

# Elements that a browser with scripts does not show as text; they are skipped as a whole.
_UNSEEN = re.compile(
    rb"<(?=[sntSNT!])(?:(?i:(script|style|noscript|template|title))(?=[\s/>])|!--)"
)
_COMMENT = b"!--"
# A plain start: a pattern that ignores case everywhere takes ten times as long on long scripts.
_ENDINGS = {
    name: re.compile(rb"</(?i:%b)" % name)
    for name in (b"script", b"style", b"noscript", b"template", b"title")
} | {_COMMENT: re.compile(rb"-->")}
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

# Chinese, Japanese, Thai, Lao, Burmese and Khmer.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff66-\uff9f]"
)
_MAX_CONTENT_WORDS = 700
_MAX_HEADINGS = 12
_MAX_HEADING_BYTES = 1_000
_MAX_TITLE_CHARS = 300
_MAX_SENTENCES = 500
_HEADING = re.compile(rb"(?i)<(h[1-3])(?=[\s>])[^<>]{0,500}>")
# Sites put these between the title of a page and their own name.
_SEPARATOR = re.compile(r"\s+[-\u2013\u2014|·•»\u203a:~]+\s+|[|\uff5c•·»]|: ")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s|(?<=[。\uff01\uff1f])|\n")


@dataclass(frozen=True, slots=True)
class TextAmount:
    """How much text a page shows, in bytes; counting stops once it is much."""

    sentence_bytes: int
    total_bytes: int

    def exceeds(self, sentence_bytes: int, total_bytes: int) -> bool:
        """Whether there is more text than this, in sentences or in total."""
        return self.sentence_bytes > sentence_bytes or self.total_bytes > total_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The parts of a page."""

    title: str
    text: str
    """The text that shows without running a script, one line for each run of text."""
    markup: bytes
    """The page without scripts, styles, templates, comments and hidden elements."""
    noscript: bytes
    """The markup for browsers that run no scripts."""
    inline_scripts: tuple[bytes, ...]
    script_addresses: tuple[str, ...]

    @property
    def word_count(self) -> int:
        """About how many words show."""
        return estimate_words(self.text)

    @property
    def sentence_bytes(self) -> int:
        """How much of the text is in sentences, not in menus and buttons."""
        return sum(len(line.encode()) for line in self.text.splitlines() if is_sentence(line))


def is_sentence(line: str) -> bool:
    """Whether a run of text is long enough for a sentence."""
    return len(line.encode()) >= _MIN_SENTENCE_BYTES


def estimate_words(text: str) -> int:
    """Return about how many words a text has; in scripts without spaces, two characters make one.

    A long run of other characters, such as an address, counts by its length.
    """
    spaced, unspaced = _UNSPACED.subn("", text)
    return max(len(spaced.split()), len(spaced) // 12) + unspaced // 2


def measure_text(body: bytes) -> TextAmount:
    """Return how much text a page shows; stops once that is much."""
    pieces = list(_pieces(body))
    amount, end = _measure_pieces(body, pieces)
    # Most pages have much text long before their end, and hide nothing before it.
    if end < len(body) and not _find_hidden(body, pieces, end):
        return amount
    return _measure_pieces(body, _shown_pieces(body, pieces))[0]


def _measure_pieces(body: bytes, pieces: Iterable[Piece]) -> tuple[TextAmount, int]:
    """Return how much text some pieces show, and where it became much, or the page ends."""
    sentences = total = 0
    for name, start, end in pieces:
        if name:
            continue
        for found in _TEXT.finditer(body, start, end):
            start_of_text, end_of_text = found.span(1)
            size = end_of_text - start_of_text
            total += size
            # An attribute that holds JSON with a `>` in it looks like text.
            is_data = size >= _MIN_SENTENCE_BYTES and (b'":' in found[1] or b"&quot;" in found[1])
            if size >= _MIN_SENTENCE_BYTES and not is_data:
                sentences += size
            if sentences > MUCH_IN_SENTENCES or total > MUCH_TEXT:
                return TextAmount(sentences, total), end_of_text
    return TextAmount(sentences, total), len(body)


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
    for name, start, end in _shown_pieces(body, list(_pieces(body))):
        parts.setdefault(name, []).append(body[start:end])
    markup = b" ".join(parts.get(b"", ()))
    addresses: list[str] = []
    codes: list[bytes] = []
    for script in parts.get(b"script", ()):
        tag = _OPENING_TAG.match(script)
        opening = tag[0] if tag else b""
        if _DATA_TYPE.search(opening):
            continue
        if source := _SOURCE.search(opening):
            addresses.append(source[1].decode("utf-8", "replace"))
        else:
            codes.append(script[len(opening) : script.rfind(b"</")])
    return Outline(
        title=read_text(b"".join(parts.get(b"title", ())[:1])[:_MAX_TITLE_BYTES]),
        text="\n".join(map(_decode, _TEXT.findall(markup))),
        markup=markup,
        noscript=b" ".join(parts.get(b"noscript", ()))[:_MAX_SHOWN_BYTES],
        inline_scripts=tuple(code for code in codes if code.strip()),
        script_addresses=tuple(addresses),
    )


def read_text(markup: bytes) -> str:
    """Return the text in a piece of markup, on one line."""
    return _decode(_TAG.sub(b" ", _STYLE.sub(b"", markup)))


def _pieces(body: bytes) -> Iterator[Piece]:
    """Split a page into shown markup and unseen elements.

    Of a page with very much markup, only its head and its tail are read.
    """
    end = yield from _pieces_from(body, 0, _MAX_SHOWN_BYTES)
    if end >= len(body):
        return
    start = max(end, len(body) - _MAX_TAIL_BYTES)
    end_of_script, script = body.find(b"</script", start), body.find(b"<script", start)
    is_inside_script = end_of_script >= 0 and not 0 <= script < end_of_script
    yield from _pieces_from(body, end_of_script if is_inside_script else start, _MAX_TAIL_BYTES)


def _pieces_from(body: bytes, start: int, budget: int) -> Generator[Piece, None, int]:
    """Split a page from `start` on, for `budget` bytes of shown markup; return where that ends."""
    for _ in range(_MAX_PIECES):
        unseen = _UNSEEN.search(body, start, start + budget)
        if unseen is None:
            break
        yield b"", start, unseen.start()
        budget -= unseen.start() - start
        name = unseen[1].lower() if unseen[1] else _COMMENT
        ending = _ENDINGS[name].search(body, unseen.end())
        # An element that is never closed extends to the end of the page.
        start = body.find(b">", ending.start()) + 1 or len(body) if ending else len(body)
        yield name, unseen.start(), start
    end = min(len(body), start + budget)
    yield b"", start, end
    return end


# Elements that a style hides with all that they hold: decoys, dialogs that scripts open.
_HIDEABLE = re.compile(
    rb"<((?i:div|section|article|main|aside|span|p|ul|ol|table|form|nav|header|footer|figure))\s"
)
# Plain strings are looked for first, by what they share: a pattern takes ten times as long.
_HINTS = {
    b"hidden": (b" hidden", b":hidden", b": hidden"),
    b"display:": (b"display:none", b"display: none"),
    b"font-size:0": (b"font-size:0",),
    b":-9": (b":-9",),
}
_HIDING = re.compile(
    rb"\shidden(?=[\s=/>])|\sstyle\s*=[^<>]*?(?:display\s*:\s*none|visibility\s*:\s*hidden|"
    rb"font-size\s*:\s*0(?![.\d])|(?:left|top|text-indent)\s*:\s*-\d{3})"
)
_NAMES = re.compile(rb"(?i)\s(?:class|id)\s*=\s*(?:\"([^\"<>]*)|'([^'<>]*)|([^\s\"'<>]*))")
_HIDING_DECLARATIONS = (b"display:none", b"visibility:hidden", b"left:-9", b"text-indent:-9")
_SIMPLE_SELECTOR = re.compile(rb"[.#]([a-zA-Z][\w-]{0,60})")
_GROUP_RULE = re.compile(rb"@[^{};@]{0,300}\{(?:[^{}]{0,999}\{[^{}]{0,999}\}){0,99}[^{}]{0,999}\}")
_MAX_TAG_BYTES = 1_000
_MAX_HIDING_BYTES = 200_000
_MAX_STYLE_BYTES = 60_000
_MAX_HIDDEN_NAMES = 20
_MAX_HIDDEN = 1_000


def _shown_pieces(body: bytes, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Return the pieces of a page without the elements that a style hides."""
    hidden = iter(_find_hidden(body, pieces, len(body)))
    opening = next(hidden, None)
    tag, depth = b"", 0
    for name, at, end in pieces:
        if name:
            yield name, at, end
            continue
        start = at
        while start < end:
            if not tag:
                while opening and opening.start() < start:
                    opening = next(hidden, None)
                if opening is None or opening.start() >= end:
                    yield b"", start, end
                    break
                yield b"", start, opening.start()
                tag, depth, start = opening[1].lower(), 1, opening.end()
            for same in re.compile(rb"<(/?)(?i:%b)(?=[\s/>])" % tag).finditer(body, start, end):
                # A paragraph ends where the next one begins.
                depth += -1 if same[1] or tag == b"p" else 1
                if not depth:
                    close = body.find(b">", same.end()) + 1 or end
                    tag, start = b"", close if same[1] else same.start()
                    break
            else:
                break


def _find_hidden(body: bytes, pieces: Sequence[Piece], end: int) -> list[re.Match[bytes]]:
    """Return the openings before `end` of the elements that a style hides, in document order.

    Elements whose name occurs in a script may be shown later.
    """
    # Walls are small, with their decoys too.
    if len(body) > _MAX_HIDING_BYTES:
        return []
    names = _names_hidden_by_styles(_join_pieces(body, pieces, b"style")[:_MAX_STYLE_BYTES])
    tags: dict[int, None] = {}
    shown = b" ".join(
        body[start : min(stop, end + _MAX_TAG_BYTES)]
        for name, start, stop in pieces
        if not name and start < end
    )
    hints = [hint for stem, hints in _HINTS.items() if stem in shown for hint in hints]
    for hint in (*hints, *names):
        if hint not in shown:
            continue
        at = body.find(hint, 0, end + _MAX_TAG_BYTES)
        while at >= 0 and len(tags) < _MAX_HIDDEN:
            tags[body.rfind(b"<", max(0, at - _MAX_TAG_BYTES), at)] = None
            at = body.find(hint, at + len(hint), end + _MAX_TAG_BYTES)
    found: list[re.Match[bytes]] = []
    scripts: bytes | None = None
    for at in sorted(tags):
        opening = _HIDEABLE.match(body, at) if 0 <= at < end else None
        attributes = opening and body[opening.end() - 1 : body.find(b">", at) + 1]
        if not opening or not attributes:
            continue
        own = b" ".join(b"".join(groups) for groups in _NAMES.findall(attributes)).split()
        if not _HIDING.search(attributes) and names.isdisjoint(own):
            continue
        scripts = _join_pieces(body, pieces, b"script") if scripts is None else scripts
        if not any(name in scripts for name in own):
            found.append(opening)
    return found


def _join_pieces(body: bytes, pieces: Sequence[Piece], kind: bytes) -> bytes:
    return b"".join(body[start:end] for name, start, end in pieces if name == kind)


def _names_hidden_by_styles(styles: bytes) -> frozenset[bytes]:
    """Return the classes and ids that styles hide, and that occur in no other rule."""
    styles = _GROUP_RULE.sub(b"", styles.translate(None, b" \t\r\n\f"))
    names: dict[bytes, None] = {}
    for declaration in _HIDING_DECLARATIONS:
        at = styles.find(declaration)
        while at >= 0 and len(names) < _MAX_HIDDEN_NAMES:
            brace = max(0, styles.rfind(b"{", 0, at))
            before = max(styles.rfind(end, 0, brace) for end in (b"}", b">", b"/"))
            for selector in styles[before + 1 : brace].split(b","):
                if simple := _SIMPLE_SELECTOR.fullmatch(selector):
                    names[simple[1]] = None
            at = styles.find(declaration, at + 1)
    uses = Counter(_SIMPLE_SELECTOR.findall(styles)) if names else Counter()
    return frozenset(name for name in names if uses[name] == 1)


def _decode(text: bytes) -> str:
    decoded = _ENDLESS_REFERENCE.sub("", text.decode("utf-8", "replace"))
    return " ".join(unescape(decoded).split())


class PageEvidence:
    """What one page shows; `content` is what was extracted from it, where that is known."""

    def __init__(self, page: FetchedPage, content: Extraction | None = None) -> None:
        self.page = page
        self._content = content

    @property
    def is_content_cut(self) -> bool:
        """Whether a limit removed some of the content."""
        return self._content is not None and self._content.is_partial

    @property
    def metadata(self) -> PageMetadata:
        """The metadata of the page."""
        return self._content.metadata if self._content else PageMetadata()

    @property
    def word_count(self) -> int:
        """How many words the extracted content has."""
        return self._content.word_count if self._content else 0

    @cached_property
    def is_html(self) -> bool:
        """Whether the response is HTML, by its type or, if that is unspecific, its first bytes."""
        if self.page.content_type in _UNNAMED_TYPES:
            return _START_OF_HTML.match(self.page.body[:1_000]) is not None
        return self.page.content_type in _HTML_TYPES

    @cached_property
    def is_long(self) -> bool:
        """Whether there is so much text that the page cannot be a wall or a shell."""
        return self.word_count > _MAX_CONTENT_WORDS or self.text_amount.exceeds(
            MUCH_IN_SENTENCES, MUCH_TEXT
        )

    @cached_property
    def text_amount(self) -> TextAmount:
        """How much text shows without running a script."""
        return measure_text(self.page.body)

    @cached_property
    def outline(self) -> Outline:
        """The parts of the page, in UTF-8."""
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
    def names(self) -> tuple[str, ...]:
        """The page's title, the parts of the title, and its first headings, in lower case."""
        parts = (part.strip() for part in _SEPARATOR.split(self.title))
        names = [self.title, *filter(None, parts)]
        markup = self.outline.markup
        for opening in islice(_HEADING.finditer(markup), _MAX_HEADINGS):
            rest = markup[opening.end() : opening.end() + _MAX_HEADING_BYTES]
            end = rest.lower().find(b"</" + opening[1].lower())
            names.append(read_text(rest[: end if end >= 0 else len(rest)]).strip().lower())
        return (names[0], *filter(None, names[1:]))

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The text in sentences and shorter runs, in lower case."""
        parts = _SENTENCE_END.split(self.outline.text.lower())
        return tuple(part for part in parts if part.strip())[:_MAX_SENTENCES]

    @cached_property
    def requested_path(self) -> str:
        """The path of the requested URL."""
        return can_ada.parse(self.page.url).pathname

    @cached_property
    def path(self) -> str:
        """The path of the final URL."""
        return can_ada.parse(self.page.final_url).pathname

    @cached_property
    def requested_host(self) -> str:
        """The host of the requested URL, without `www.`."""
        return can_ada.parse(self.page.url).hostname.removeprefix("www.")

    @cached_property
    def host(self) -> str:
        """The host of the final URL, without `www.`."""
        return can_ada.parse(self.page.final_url).hostname.removeprefix("www.")

    @property
    def was_redirected_elsewhere(self) -> bool:
        """Whether a redirect led to another page than the requested one."""
        if self.page.url == self.page.final_url:
            return False
        return (
            self.requested_path.rstrip("/") != self.path.rstrip("/")
            or self.host != self.requested_host
        )

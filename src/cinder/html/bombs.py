"""Detects pages that are built to exhaust a parser, and extracts their text without parsing.

Pages that evade detection run into the sandbox's limits, which takes longer.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import unescape
from itertools import islice
from typing import Self

from cinder.html.crawl_hints import scan_crawl_hints
from cinder.html.links import scan_base, scan_links
from cinder.html.visible_text import count_words
from cinder.models.document import Extraction, LinkDetail, PageMetadata
from cinder.models.request import ExtractOptions, Format
from cinder.text.content_type import Shape, content_kind, decode_body
from cinder.text.invisible_characters import character_warnings
from cinder.text.terms import estimate_tokens

# Real pages nest some tens deep, and browsers stop at 512.
MAX_DEPTH = 5_000
# The size of their markdown is quadratic in the depth.
MAX_INDENTED_DEPTH = 100
MAX_ATTRIBUTES = 10_000
# A page with more takes seconds and most of a worker's memory, however flat it is.
MAX_ELEMENTS = 400_000
# Steps of the parser along its stacks and lists, about three nanoseconds each.
MAX_STEPS = 200_000_000
_STEPS_PER_SIBLING = 6
# A page with fewer tags than this cannot take that many steps.
_MAX_HARMLESS_TAGS = MAX_STEPS // MAX_DEPTH
_MAX_HARMLESS_COMPARED = 5_000
_STRETCH = 500

# Elements that are empty, or that the next of their kind closes: they do not nest.
_FLAT = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param"),
        *("source", "track", "wbr", "p", "li", "dd", "dt", "option", "optgroup", "tr", "td"),
        *("th", "thead", "tbody", "tfoot", "rp", "rt", "a", "html", "head", "body"),
    )
)
_INDENTED = frozenset(("blockquote", "ul", "ol", "dl", "menu"))
_FOREIGN = frozenset(("svg", "math"))
# For each of these the parser goes through all earlier ones: in its list, or on its element.
_COMPARED = frozenset(("option", "optgroup", "html", "body"))
# The first characters of those names and of few others; cheaper than whole names.
_INDENTED_START = re.compile(r"<[uodbmUODBM](?:[lL]|[eE][nN])")
_COMPARED_START = re.compile(rf"<(?:{'|'.join(sorted(_COMPARED))})", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9:-]{0,40})([^<>]*)>?")
_ELEMENT = re.compile(r"<[a-zA-Z]")
_RAW = re.compile(r"(?:script|style)\b", re.IGNORECASE)
_LONG_TAG_CHARS = 2_000
_VALUE = r"=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|[^\s>\"'][^\s>]*+)?"
_ATTRIBUTES = rf"(?:[^>=]++|{_VALUE})*+"
_OPENING_TAG = re.compile(rf"[a-zA-Z]{_ATTRIBUTES}")
_ATTRIBUTE_VALUE = re.compile(rf"{_VALUE}|/")


def find_bomb(html: str) -> str | None:
    """Return what makes a page too expensive to parse; None for ordinary pages."""
    # A `<` directly before another begins nothing, and a page may consist of those.
    is_long = html.count("<") >= MAX_DEPTH
    pieces = list(filter(None, html.split("<"))) if is_long else []
    if len(pieces) > MAX_ELEMENTS and _has_more(_ELEMENT, html, MAX_ELEMENTS):
        return "it has too many elements"
    # Tags inside scripts do not count; they are only left out where it matters.
    if _compare_too_many(_long_pieces(html)) and _compare_too_many(_outside_scripts(html)):
        return "its elements have too many attributes"
    # Few pages may be that deep or take that long, and only those are scanned.
    may_take_long = _has_more(_INDENTED_START, html, MAX_INDENTED_DEPTH) or (
        is_long and _has_more(_COMPARED_START, html, _MAX_HARMLESS_COMPARED)
    )
    return _find_depth(html) if may_take_long or _may_be_deep(pieces) else None


def _has_more(pattern: re.Pattern[str], html: str, times: int) -> bool:
    return any(islice(pattern.finditer(html), times, None))


def _long_pieces(html: str) -> Iterator[str]:
    """Yield the text between one `<` and the next where it is long."""
    start = 0
    while start + _LONG_TAG_CHARS < len(html):
        # The last one within reach: none before it is far from the next.
        last = html.rfind("<", start, start + _LONG_TAG_CHARS + 1)
        if last < 0:
            last = html.find("<", start + _LONG_TAG_CHARS)
            yield html[start:last] if last > 0 else html[start:]
        start = last + 1 if last >= 0 else len(html)


def _compare_too_many(pieces: Iterable[str]) -> bool:
    """Whether the parser would compare too many attributes: each with all before it."""
    compared = 0
    for piece in pieces:
        if len(piece) > _LONG_TAG_CHARS and (tag := _OPENING_TAG.match(piece)):
            compared += len(_ATTRIBUTE_VALUE.sub(" ", tag[0]).split(None, MAX_ATTRIBUTES + 1)) ** 2
            if compared > MAX_ATTRIBUTES**2:
                return True
    return False


def _outside_scripts(html: str) -> Iterator[str]:
    closing = ""
    for piece in html.split("<"):
        if closing:
            closing = "" if piece[: len(closing)].lower() == closing else closing
            continue
        if raw := _RAW.match(piece):
            closing = f"/{raw[0].lower()}"
        yield piece


def _may_be_deep(pieces: list[str]) -> bool:
    """Whether elements may be nested too deeply if only closing tags close them."""
    if len(pieces) <= MAX_DEPTH:
        return False
    if len(pieces) > _MAX_HARMLESS_TAGS:
        return True
    starts = [piece[:1] for piece in pieces]
    depth = 0
    for first in range(0, len(starts), _STRETCH):
        stretch = starts[first : first + _STRETCH]
        if depth + len(stretch) > MAX_DEPTH:
            return True
        depth = max(0, depth + len(stretch) - 2 * stretch.count("/"))
    return False


def _find_depth(html: str) -> str | None:
    depth = indented = foreign = compared = steps = 0
    for tag in _TAG.finditer(html):
        closing, name, attributes = tag.groups()
        name = name.lower()
        steps += depth
        if name in _COMPARED or name == "select":
            compared = 0 if name == "select" else compared + (not closing)
            steps += compared * _STEPS_PER_SIBLING
        # Only SVG and MathML have self-closing elements.
        if name in _FLAT or (foreign and attributes.endswith("/")):
            continue
        change = -1 if closing else 1
        depth = max(0, depth + change)
        if name in _INDENTED:
            indented = max(0, indented + change)
        elif name in _FOREIGN:
            foreign = max(0, foreign + change)
        if depth > MAX_DEPTH or indented > MAX_INDENTED_DEPTH:
            return "its elements are nested too deeply"
        if steps > MAX_STEPS:
            return "its elements take too long to put in order"
    return None if steps <= MAX_STEPS else "its elements take too long to put in order"


# A `<` that begins no tag; replaced by NUL meanwhile, which no decoded page contains.
_STRAY_CHARACTERS = re.compile(r"<(?!/?[a-zA-Z]|[!?])")
_REST_OF_TAG = rf"{_ATTRIBUTES}>?"
# Elements without visible text. One that is never closed extends to the end, as in browsers.
_UNSEEN_ELEMENTS = re.compile(
    rf"<!--.*?(?:-->|\Z)|<(script|style|title)(?=[\s/>]){_REST_OF_TAG}.*?(?:</\1(?=[\s/>])[^>]*+>?|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_LINE_TAG = re.compile(
    rf"<(?:br|/?tr|/?li|/?dt|/?dd|/?option)(?=[\s/>]){_REST_OF_TAG}", re.IGNORECASE
)
_CELL_TAG = re.compile(rf"</?(?:td|th)(?=[\s/>]){_REST_OF_TAG}", re.IGNORECASE)
_BLOCK_TAG = re.compile(
    r"</?(?:p|div|h[1-6]|ul|ol|dl|table|pre|blockquote|section|article|header|footer|main|nav|"
    rf"aside|form|figure|figcaption|hr|title|body|select)(?=[\s/>]){_REST_OF_TAG}",
    re.IGNORECASE,
)
_OTHER_TAG = re.compile(rf"<(?:/?[a-zA-Z]|[!?]){_REST_OF_TAG}")
# `unescape` raises on a number of thousands of digits.
_ENDLESS_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{9,}")
_SPACES = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n ?")
_BLANK_LINES = re.compile(r"\n{3,}")
_TITLE_CHARS = 5_000


def strip_tags(html: str) -> str:
    """Return the text of a page with its blocks separated, including text that styles hide."""
    text = _UNSEEN_ELEMENTS.sub(" ", _STRAY_CHARACTERS.sub("\0", html))
    # Line breaks in the source are spaces to a reader.
    text = text.replace("\r", " ").replace("\n", " ")
    for tag, instead in (
        (_LINE_TAG, "\n"),
        (_BLOCK_TAG, "\n\n"),
        (_CELL_TAG, " "),
        (_OTHER_TAG, ""),
    ):
        text = tag.sub(instead, text)
    text = unescape(_ENDLESS_REFERENCE.sub("\ufffd", text)).replace("\0", "<")
    text = _LINE_END.sub("\n", _SPACES.sub(" ", text))
    return _BLANK_LINES.sub("\n\n", text).strip()


def bare_title(html: str) -> str | None:
    """Return the text of the first `<title>`."""
    start = html.find("<title>")
    if start < 0:
        return None
    title = html[start + len("<title>") : start + _TITLE_CHARS].partition("<")[0]
    return strip_tags(title) or None


_UNPARSED = (
    "The page was fetched, but its content could not be cleaned: {}. "
    "Its bare text is returned instead, including text that the page may hide, and its links; "
    "other formats are missing."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnparsedFormats:
    """What is read of a page that is not parsed, beside its text."""

    markdown: bool
    links: bool
    links_detail: bool = False

    @classmethod
    def of(cls, options: ExtractOptions) -> Self:
        """Return those of the requested formats that can be read."""
        return cls(
            markdown=options.wants_markdown,
            links=Format.LINKS in options.formats,
            links_detail=Format.LINKS_DETAIL in options.formats,
        )


def extract_unparsed(
    body: bytes, *, content_type: str, url: str, formats: UnparsedFormats, reason: str
) -> Extraction:
    """Return the text of a page that exceeds the limits; binary data has no `text`."""
    text = decode_body(body, content_type)
    shape = content_kind(content_type, text).shape
    if shape is Shape.HTML:
        return extract_unparsed_html(text, url=url, formats=formats, reason=reason)
    if shape is Shape.BINARY:
        return Extraction(is_partial=True, warnings=(_UNPARSED.format(reason.rstrip(".")),))
    return _with_bare_text(text, text.strip(), formats, reason)


def extract_unparsed_html(
    html: str, *, url: str, formats: UnparsedFormats, reason: str
) -> Extraction:
    """Return the bare text and the links of a page, with a warning that gives the reason."""
    extraction = _with_bare_text(html, strip_tags(html), formats, reason)
    if not formats.links and not formats.links_detail:
        return extraction
    markup = _UNSEEN_ELEMENTS.sub(" ", html)
    links = scan_links(markup, url)
    details = tuple(LinkDetail(url=link) for link in links) if formats.links_detail else None
    return replace(
        extraction,
        links=links if formats.links else None,
        links_detail=details,
        hints=scan_crawl_hints(markup, scan_base(markup, url)),
    )


def _with_bare_text(source: str, text: str, formats: UnparsedFormats, reason: str) -> Extraction:
    return Extraction(
        text=source,
        markdown=text if formats.markdown else None,
        metadata=PageMetadata(title=bare_title(source)),
        word_count=count_words(text),
        token_count=estimate_tokens(text),
        is_partial=True,
        warnings=(_UNPARSED.format(reason.rstrip(".")), *character_warnings(text)),
    )

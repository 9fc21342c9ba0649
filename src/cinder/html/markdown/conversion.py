"""HTML to markdown: the passes around the converter, and escaping of literal text.

Before the conversion, characters with a meaning in markdown are replaced by noncharacters, which no
text contains. After it they are put back, escaped where necessary.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from html_to_markdown import (
    CodeBlockStyle,
    ConversionError,
    ConversionOptions,
    HeadingStyle,
    HiddenContent,
    HighlightStyle,
    InlineDataMedia,
    LinkStyle,
    ListIndentType,
    NewlineStyle,
    OutputFormat,
    PreprocessingOptions,
    PreprocessingPreset,
    TierStrategy,
    UrlEscapeStyle,
    WarningKind,
    WhitespaceMode,
    convert,
)
from selectolax.lexbor import LexborNode

from cinder.html.links import remove_pixels, write_captions, write_emoji
from cinder.html.markdown.block_elements import (
    nest_lists,
    normalise_code_blocks,
    normalise_tables,
    write_definitions,
)
from cinder.html.markdown.inline_elements import (
    normalise_footnotes,
    normalise_links,
    write_superscripts,
)
from cinder.html.tree import insert_element_before, move_into, parse_html
from cinder.text.invisible_characters import without_invisible_characters
from cinder.text.markdown_blocks import CodeFence

# Noncharacters: cleaning has removed them from the page, and the converter ignores them.
_MASKS = {character: chr(0xFDD0 + index) for index, character in enumerate("*_`~<&]\\=-+#>.)$")}
_PLAIN = {mask: character for character, mask in _MASKS.items()}
_HELD_OPEN, _HELD_CLOSE = "\ufde0", "\ufde1"

# Tags with their attributes, and whole elements whose text is exact.
_MARKUP = re.compile(
    r"(<(?:pre[ >].*?</pre>|code[ >].*?</code>|kbd[ >].*?</kbd>|samp[ >].*?</samp>|tt[ >].*?</tt>"
    r"|span (?:class=\"math (?:inline|display)|data-literal=\")\">[^<]*</span>"
    r"|[^>\"]*+(?:\"[^\"]*+\"[^>\"]*+)*+>))",
    re.DOTALL,
)
_EXACT = re.compile(r"<span (?:class=\"math (inline|display)|data-literal=\")\">([^<]*)</span>")
_NOTE_MARK = re.compile(r"\[\^?[\w*†‡§-]{1,40}\]:?")
_TEX_DOLLAR = re.compile(r"(?<!\\)\$")
_TEX_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_MAX_ROW = 5_000
_MAX_HELD_DIGITS = 9
_FORMULA_MARKS = ('class="math ', "\\(", "\\[")
_TITLE = re.compile(r" title=\"[^\"]*\"")
_BLOCK = re.compile(
    r"</?(?:article|aside|address|blockquote|body|br|center|dd|details|div|dl|dt|fieldset|figure|"
    r"footer|form|h[1-6]|header|hr|li|main|nav|ol|p|pre|section|summary|table|tbody|td|tfoot|th|"
    r"thead|tr|ul)[\s>]"
)
_BLOCK_CHARS = len("</blockquote>")
_match_block = lru_cache(maxsize=1024)(_BLOCK.match)
_LINE_BREAK = re.compile(r"[ \t\r\n\f]*\n[ \t\r\n\f]*")
_INLINE_CODE_ENDS = ("</code>", "</kbd>", "</samp>", "</tt>")
_BREAK_IN_CODE = re.compile(r"<br[^>]*>")
# A line of an item that begins with a backtick loses its indent, and so does all after it.
_BREAK_BEFORE_CODE = re.compile(r"<br[^>]*>(?=(?:\s|</?span[^>]*>)*+<(?:code|kbd|samp|tt)[ >])")
# Every alternative begins with a literal character, so that a search skips all others quickly.
_SPECIAL = re.compile(
    r":(?:(?<=http:)|(?<=https:))//[^\s<>&]{1,2000}"
    r"|\\\((?P<inline>[^\\]{1,500}(?:\\[^()\[\]][^\\]{0,500}){0,50})\\\)"
    r"|\\\[(?P<display>[^\\]{1,500}(?:\\[^()\[\]][^\\]{0,500}){0,50})\\\]"
    r"|&lt;(?=[a-zA-Z/!?])"
    r"|&amp;(?=(?:#[xX]?[0-9a-fA-F]{1,7}|[a-zA-Z][a-zA-Z0-9]{1,31});)"
    r"|\*(?:(?<!\s\*)|(?!\s))"
    r"|_(?:(?<![^\W_]_)|(?![^\W_]))"
    r"|\](?=[(\[:])"
    r"|`|~|\\|\$"
)
_LEAD = re.compile(
    r"\s{0,9}[0-9]{1,9}(?P<point>[.)])(?=\s|$)"
    r"|(?P<space>\s{0,9})(?P<lead>[-+]|=+(?=\s*$)|\#{1,6}|&gt;)(?=\s|$|-+\s*$)"
)
# Where a text may need masks: at its beginning, or at certain characters anywhere in it.
_DOUBTFUL_CHARACTERS = "*_`~\\]&$"
_DOUBTFUL_START = re.compile(r"\s{0,9}+(?:[-+=#]|[0-9]{1,9}+[.)])")
_ANY_DOUBTFUL = re.escape(_DOUBTFUL_CHARACTERS)
_DOUBTFUL = re.compile(rf"{_DOUBTFUL_START.pattern}|[^{_ANY_DOUBTFUL}]*+[{_ANY_DOUBTFUL}]")
_MASK_OF = {**_MASKS, "&lt;": _MASKS["<"], "&amp;": _MASKS["&"]}
_MASKED = re.compile("[\ufdd0-\ufddf]")
_HELD = re.compile(f"{_HELD_OPEN}([0-9]+){_HELD_CLOSE}")
# These have a meaning only at the beginning of a line, possibly within a quote or a list.
_LEADS = frozenset("=-+#>.)")
_MAX_LINE_START = 200
_LINE_START = re.compile(r"(?:[ >]|[-+*] |[0-9]+[.)] )*[0-9]*")
# These have no meaning alone, except that a star before a word may begin a list.
_PAIRED = {"*": "(?<=[^\\W_])\ufdd0", "_": "\ufdd1", "`": "\ufdd2", "~": "\ufdd3"}


@dataclass(slots=True)
class LiteralText:
    """The masked texts of one page, which are put back into its markdown."""

    held: list[str] = field(default_factory=list)
    has_formulas: bool = False

    def mask(self, html: str) -> str:
        """Return the HTML with its special characters masked, on one line except for code.

        Invisible characters are removed first: they might be masks, or split a sequence to mask.
        """
        # On a page with formulas, the sign of a sum of money would begin one.
        self.has_formulas = "$" in html and any(mark in html for mark in _FORMULA_MARKS)
        pieces = _MARKUP.split(without_invisible_characters(html.replace("&nbsp;", " ")))
        self._mask_texts(pieces)
        tags = pieces[1::2]
        rewritten: dict[str, str] = {}
        # A page repeats most of its tags.
        for tag in dict.fromkeys(tags):
            if tag.endswith("</span>") and tag != "</span>":
                rewritten[tag] = _EXACT.sub(self._hold_exact, tag)
            elif ' title="' in tag and tag.startswith(("<a ", "<img ")):
                # A title shows only under a pointer, and mostly repeats the text.
                rewritten[tag] = _TITLE.sub("", tag)
            elif tag.endswith(_INLINE_CODE_ENDS) and ("\n" in tag or "<br" in tag):
                name = tag.rpartition("</")[2][:-1]
                again = f"</{name}><br><{name}>"
                rewritten[tag] = _BREAK_IN_CODE.sub(again, _LINE_BREAK.sub(" ", tag))
        if rewritten:
            pieces[1::2] = [rewritten.get(tag, tag) for tag in tags]
        masked = "".join(pieces)
        if "<br" not in masked:
            return masked
        return _BREAK_BEFORE_CODE.sub(lambda found: f"{found[0]}{self._hold('')}", masked)

    def _mask_texts(self, pieces: list[str]) -> None:
        """Mask the texts, which are every other piece."""
        # One search for doubtful characters saves a longer one in each text.
        everything = "".join(pieces[::2])
        is_doubtful = any(character in everything for character in _DOUBTFUL_CHARACTERS)
        doubtful = _DOUBTFUL if is_doubtful else _DOUBTFUL_START
        for index in range(0, len(pieces), 2):
            text = pieces[index]
            if not text:
                continue
            if text.isspace():
                # White space is shown between inline elements only.
                is_shown = (
                    0 < index < len(pieces) - 1
                    and _match_block(pieces[index - 1][:_BLOCK_CHARS]) is None
                    and _match_block(pieces[index + 1][:_BLOCK_CHARS]) is None
                )
                pieces[index] = " " if is_shown else ""
                continue
            if "\n" in text:
                text = pieces[index] = _LINE_BREAK.sub(" ", text)
            if doubtful.match(text):
                pieces[index] = self._mask_text(text)

    def unmask(self, markdown: str) -> str:
        """Return the markdown with the masked characters put back, escaped where necessary."""
        # No mask is in ASCII, which is a fast check.
        if not markdown.isascii() and _MASKED.search(markdown):
            markdown = "\n\n".join(map(_unmask_paragraph, markdown.split("\n\n")))
        if self.held:
            markdown = _HELD.sub(self._release, markdown)
        return markdown

    def _hold(self, text: str) -> str:
        self.held.append(text)
        return f"{_HELD_OPEN}{len(self.held) - 1}{_HELD_CLOSE}"

    def _release(self, found: re.Match[str]) -> str:
        index = int(found[1][:_MAX_HELD_DIGITS])
        text = self.held[index] if index < len(self.held) else ""
        if "|" not in text:
            return text
        start = found.start()
        line = found.string.rfind("\n", max(0, start - _MAX_ROW), start) + 1
        is_in_table = found.string.startswith("|", line)
        return text.replace("|", "\\|") if is_in_table else text

    def _hold_exact(self, found: re.Match[str]) -> str:
        if found[1]:
            return self._hold(_as_formula(found[2], display=found[1] == "display"))
        # A page may have such spans of its own, with anything in them.
        if _NOTE_MARK.fullmatch(found[2]):
            return self._hold(found[2])
        return self._mask_text(found[2])

    def _mask_text(self, text: str) -> str:
        lead = _LEAD.match(text)
        if lead is None:
            return _SPECIAL.sub(self._masked, text)
        # At the beginning of a line it would begin a list, a heading, a quote or a rule.
        if lead["point"]:
            masked = lead[0][:-1] + _MASKS[lead["point"]]
        else:
            marks = lead["lead"].replace("&gt;", ">")
            masked = lead["space"] + _MASKS[marks[0]] + marks[1:]
        return masked + _SPECIAL.sub(self._masked, text[lead.end() :])

    def _masked(self, found: re.Match[str]) -> str:
        if kind := found.lastgroup:
            return self._hold(_as_formula(found[kind], display=kind == "display"))
        text = found[0]
        if text == "$" and not self.has_formulas:
            return text
        # Text without a mask is the rest of a URL, which stays unchanged.
        return _MASK_OF.get(text, text)


def _as_formula(html: str, *, display: bool) -> str:
    """Return TeX as markdown, without sequences that would end it or be HTML or a link."""
    tex = html.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    tex = " ".join(tex.split()).replace("](", "] (")
    tex = _TEX_TAG.sub("< ", _TEX_DOLLAR.sub(r"\\$", tex))
    return f"$${tex}$$" if display else f"${tex}$"


def _unmask_paragraph(paragraph: str) -> str:
    if not _MASKED.search(paragraph):
        return paragraph
    for character, pattern in _PAIRED.items():
        if paragraph.count(_MASKS[character]) + paragraph.count(character) == 1:
            paragraph = re.sub(pattern, character, paragraph)
    return _MASKED.sub(_escaped, paragraph)


def _escaped(found: re.Match[str]) -> str:
    character = _PLAIN[found[0]]
    if character in _LEADS:
        start = found.start()
        line = found.string.rfind("\n", max(0, start - _MAX_LINE_START), start) + 1
        is_far = start - line > _MAX_LINE_START
        if is_far or _LINE_START.fullmatch(found.string, line, start) is None:
            return character
    if character != "\\":
        return f"\\{character}"
    following = found.string[found.end() : found.end() + 1]
    is_escape = following in _PLAIN or (following.isascii() and not following.isalnum())
    return "\\\\" if is_escape and following.strip() else "\\"


# The tree is cleaned already, so the converter's own cleaning is off: it would drop parts that a
# caller who asked for the whole page wants. Padding of table columns would only use tokens.
_OPTIONS = ConversionOptions(
    preprocessing=PreprocessingOptions(enabled=False, preset=PreprocessingPreset.STANDARD),
    extract_metadata=False,
    bullets="-",
    compact_tables=True,
    br_in_tables=True,
    highlight_style=HighlightStyle.NONE,
    expand_abbreviations=False,
    hidden_content=HiddenContent.ALL,
    # These are the defaults, but the converter looks an absent name up for every page.
    heading_style=HeadingStyle.ATX,
    list_indent_type=ListIndentType.SPACES,
    whitespace_mode=WhitespaceMode.NORMALIZED,
    newline_style=NewlineStyle.SPACES,
    code_block_style=CodeBlockStyle.BACKTICKS,
    inline_data_media=InlineDataMedia.KEEP,
    url_escape_style=UrlEscapeStyle.ANGLE,
    link_style=LinkStyle.INLINE,
    output_format=OutputFormat.MARKDOWN,
    tier_strategy=TierStrategy.AUTO,
)


# Keeping hidden elements takes a quarter of the converter's time, so it is done only where there
# may be some.
_WITHOUT_HIDDEN = replace(_OPTIONS, hidden_content=HiddenContent.DROP)
_HIDDEN = "[hidden], template, noscript, svg"
_HIDING_STYLE = re.compile(r"none|hidden|collapse|font-size|\\", re.IGNORECASE)


def may_hide(root: LexborNode) -> bool:
    """Whether the converter might regard an element below `root` as hidden."""
    if root.css_first(_HIDDEN) is not None:
        return True
    styles = (node.attrs.get("style") or "" for node in root.css("[style]"))
    return any(map(_HIDING_STYLE.search, styles))


def write_markdown(html: str, *, keeps_hidden: bool) -> str:
    """Return the markdown of prepared HTML, with or without hidden elements.

    Raises:
        ConversionError: the converter gave up on it.
    """
    result = convert(html, _OPTIONS if keeps_hidden else _WITHOUT_HIDDEN)
    # The converter skips elements beyond its depth limit silently.
    if any(warning.kind == WarningKind.DEPTH_LIMIT_EXCEEDED for warning in result.warnings):
        raise ConversionError("its elements are nested too deeply")
    return result.content or ""


# The steps that prepare a tree, in order, each with the tags that it needs. No step creates an
# element with a tag that a later one needs.
_STEPS: tuple[tuple[frozenset[str], Callable[[LexborNode], None]], ...] = (
    (frozenset(("img",)), remove_pixels),
    (frozenset(("img",)), write_emoji),
    (frozenset(("pre", "code", "table")), normalise_code_blocks),
    (frozenset(("a",)), normalise_footnotes),
    (frozenset(("ruby", "sup", "sub")), write_superscripts),
    (frozenset(("a",)), normalise_links),
    (frozenset(("ul", "ol")), nest_lists),
    (frozenset(("dl",)), write_definitions),
    (frozenset(("table",)), normalise_tables),
    (frozenset(("figcaption",)), write_captions),
)
_ATTRIBUTES = r"(?: [^>\"]*(?:\"[^\"]*\"[^>\"]*)*)?"
_INSIDE = rf"(?:\s|</?(?:span|i|b|em|strong|div|p){_ATTRIBUTES}>)*"
_EMPTY_LINK = re.compile(rf"<a{_ATTRIBUTES}>{_INSIDE}</a>")
_EMPTY_ITEM = re.compile(rf"<li{_ATTRIBUTES}>{_INSIDE}</li>")


def to_markdown(html: str) -> str:
    """Return the markdown of an HTML fragment with absolute URLs, without a last newline.

    Raises:
        ConversionError: the converter gave up on it.
    """
    body = parse_html(html).body
    return tree_to_markdown([body]) if body is not None else ""


def tree_to_markdown(roots: Sequence[LexborNode]) -> str:
    """Return the markdown of cleaned elements; the elements are changed.

    Raises:
        ConversionError: the converter gave up on them.
    """
    holders = [_put_into_holder(root) for root in roots]
    for holder in holders:
        # Each step searches the whole tree, and most pages have nothing for most of them.
        by_number = {node.tag_id: node for node in holder.traverse()}
        tags = {node.tag for node in by_number.values()}
        for needed, step in _STEPS:
            if not needed.isdisjoint(tags):
                step(holder)
    literal = LiteralText()
    html = literal.mask("\n".join(map(html_of, holders)))
    html = _EMPTY_ITEM.sub("", _EMPTY_LINK.sub("", html))
    markdown = write_markdown(html, keeps_hidden=any(map(may_hide, holders)))
    return literal.unmask(_strip_line_ends(markdown)).strip()


def html_of(root: LexborNode) -> str:
    """Return the HTML of an element, without the tags of the page itself."""
    return (root.inner_html if root.tag in ("html", "body") else root.html) or ""


def _put_into_holder(root: LexborNode) -> LexborNode:
    """Put an element into one that remains when the element itself is replaced.

    A part of a table is converted with its whole table.
    """
    whole: LexborNode | None = root
    while whole is not None and whole.tag in ("thead", "tbody", "tfoot", "tr"):
        whole = whole.parent
    whole = whole if whole is not None else root
    if whole.parent is None or whole.tag in ("html", "body"):
        return whole
    holder = insert_element_before(whole, "div")
    move_into(holder, [whole])
    return holder


def _strip_line_ends(markdown: str) -> str:
    """Drop the marks of line breaks at the end of blocks, outside of code."""
    if " \n\n" not in markdown:
        return markdown
    lines = markdown.split("\n")
    fence: CodeFence | None = None
    for index, (line, following) in enumerate(pairwise(lines)):
        if fence is not None and not fence.is_left_by(line):
            fence = None if fence.is_closed_by(line) else fence
            continue
        fence = CodeFence.opened_by(line)
        if fence is None and not following:
            lines[index] = line.rstrip(" ")
    return "\n".join(lines)

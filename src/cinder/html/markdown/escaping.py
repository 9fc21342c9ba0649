"""Escapes the text of a page so that it is not read as markdown or HTML.

Before the conversion, characters with a meaning in markdown are replaced by noncharacters, which no
text contains. After it they are put back, escaped where necessary.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from cinder.text.invisible_characters import without_invisible_characters

# Noncharacters: cleaning has removed them from the page, and the converter ignores them.
_MASKS = {
    "*": "\ufdd0",
    "_": "\ufdd1",
    "`": "\ufdd2",
    "~": "\ufdd3",
    "<": "\ufdd4",
    "&": "\ufdd5",
    "]": "\ufdd6",
    "\\": "\ufdd7",
    "=": "\ufdd8",
    "-": "\ufdd9",
    "+": "\ufdda",
    "#": "\ufddb",
    ">": "\ufddc",
    ".": "\ufddd",
    ")": "\ufdde",
    "$": "\ufddf",
}
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
_LINE_BREAK = re.compile(r"[ \t\r\n\f]*\n[ \t\r\n\f]*")
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
        if rewritten:
            pieces[1::2] = [rewritten.get(tag, tag) for tag in tags]
        return "".join(pieces)

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
                around = pieces[index - 1 : index] + pieces[index + 1 : index + 2]
                blocks = (_begins_block(tag[:_BLOCK_CHARS]) for tag in around)
                pieces[index] = " " if len(around) == 2 and not any(blocks) else ""
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


@lru_cache(maxsize=1024)
def _begins_block(start: str) -> bool:
    return _BLOCK.match(start) is not None


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

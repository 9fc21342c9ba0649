"""Words, parsed queries, and the snippet of a page that matches a query best."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise
from typing import TypeAlias

# The letters of scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han.
_UNSPACED = (
    "\u0e01-\u0e2e\u0e81-\u0eae\u1000-\u102a\u1780-\u17b3\u3005\u3041-\u3096\u30a1-\u30fa\u30fc"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_SEAM = re.compile(rf"(?<=\w)(?=[{_UNSPACED}])|(?<=[{_UNSPACED}])(?=\w)")
# Between the letters in the index: it separates words as a space does, and no page has it.
_SEPARATOR = "\x1f"
_GAP = re.compile(f"(?<=[{_UNSPACED}]) (?=[{_UNSPACED}])")
_WORD = re.compile(r"[^\W_]+")
# `str.translate` is several times faster than a regular expression.
_ASCII_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
_MARK = re.compile("[\u0300-\u036f]")

STOP_WORDS = frozenset(
    (
        *("a", "about", "above", "after", "again", "against", "all", "also", "am", "an", "and"),
        *("any", "are", "as", "at", "be", "because", "been", "before", "being", "below"),
        *("between", "both", "but", "by", "can", "could", "did", "do", "does", "doing", "down"),
        *("during", "each", "few", "for", "from", "further", "had", "has", "have", "having", "he"),
        *("her", "here", "hers", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its"),
        *("itself", "just", "may", "me", "more", "most", "must", "my", "no", "nor", "not", "of"),
        *("off", "on", "once", "only", "or", "other", "our", "out", "over", "own", "same"),
        *("shall", "she", "should", "so", "some", "such", "than", "that", "the", "their", "them"),
        *("then", "there", "these", "they", "this", "those", "through", "to", "too", "under"),
        *("until", "up", "upon", "very", "was", "we", "were", "what", "when", "where", "which"),
        *("while", "who", "whom", "why", "will", "with", "would", "you", "your"),
    )
)
"""Words that do not tell pages apart."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case; a letter of an unspaced script is one."""
    if text.isascii():
        return text.lower().translate(_ASCII_GAPS).split()
    return _WORD.findall(space_out(text).lower())


def space_out(text: str) -> str:
    """Return a text with a separator around each letter of an unspaced script."""
    if text.isascii() or _LETTER.search(text) is None:
        return text
    return _SEAM.sub(_SEPARATOR, text.replace(_SEPARATOR, " "))


def close_up(text: str) -> str:
    """Undo `space_out`.

    Texts that an earlier version indexed have spaces for separators: they lose their own as well.
    """
    if text.isascii() or _LETTER.search(text) is None:
        return text
    return text.replace(_SEPARATOR, "") if _SEPARATOR in text else _GAP.sub("", text)


def is_unspaced(word: str) -> bool:
    """Whether a word is a letter of an unspaced script."""
    return _LETTER.fullmatch(word) is not None


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    if text.isascii():
        return text.lower()
    apart = _MARK.sub("", unicodedata.normalize("NFKD", text.lower()))
    return unicodedata.normalize("NFKC", apart)


MAX_QUERY_CHARS = 2_000
MAX_TERMS = 32
MAX_PHRASES = 16

# Words that follow each other; a single word is a phrase of one.
Phrase: TypeAlias = tuple[str, ...]

# A phrase in quotes, or text between spaces; a minus before either excludes it.
_CHUNK = re.compile(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+))')


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """The terms and phrases of a query."""

    terms: tuple[Phrase, ...] = ()
    """Pages have at least one of these; the more, the better."""
    phrases: tuple[Phrase, ...] = ()
    """Pages have all of these."""
    excluded: tuple[Phrase, ...] = ()
    """Pages have none of these."""

    @property
    def scored(self) -> tuple[Phrase, ...]:
        """The phrases that pages are ranked by."""
        return (*self.phrases, *self.terms)


def parse_query(text: str, required: Sequence[str] = ()) -> ParsedQuery:
    """Return the terms and phrases of a query; `required` are further phrases."""
    found: dict[str, list[Phrase]] = {"bare": [], "quoted": [], "excluded": []}
    for chunk in _CHUNK.finditer(text[:MAX_QUERY_CHARS]):
        kind = "bare" if chunk["quoted"] is None else "quoted"
        phrase = tuple(split_words(chunk["quoted"] or chunk["bare"] or ""))
        found["excluded" if chunk["minus"] else kind].append(phrase)
    demanded = [tuple(split_words(phrase[:MAX_QUERY_CHARS])) for phrase in required]
    words = [word for phrase in found["bare"] for word in phrase]
    content = [word for word in words if word not in STOP_WORDS] or words
    # Letters of an unspaced script go in pairs.
    single = [(word,) for word in content if not is_unspaced(word)]
    pairs = [pair for pair in pairwise(words) if is_unspaced(pair[0]) and is_unspaced(pair[1])]
    lone = [(word,) for word in content if is_unspaced(word)] if not pairs else []
    return ParsedQuery(
        terms=_distinct([*single, *pairs, *lone], MAX_TERMS),
        phrases=_distinct([*found["quoted"], *demanded], MAX_PHRASES),
        excluded=_distinct(found["excluded"], MAX_PHRASES),
    )


def _distinct(phrases: Sequence[Phrase], limit: int) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:limit]


SNIPPET_CHARS = 300
# A snippet begins with a sentence that begins at most so far before the words.
_REACH = 80
# How many positions are weighed; a text full of the words has its best part among the first.
_MAX_POSITIONS = 2_000

_ENDING = re.compile(r"(?:ational|ization|ingly|edly|ness|ment|tion|ing|ies|ied|ed|es|ly|s|e|y)$")
_SENTENCE = re.compile(r"[.!?。！？]\s+|\n")  # noqa: RUF001 - ends of sentences in other scripts
_SPACES = re.compile(r"\s+")
# After the end of a sentence in Chinese or Japanese, a line break is no space.
_BREAK = re.compile(r"(?<=[。！？」』）])\s*\n\s*")  # noqa: RUF001 - as above


def find_snippet(text: str, phrases: Sequence[Phrase]) -> str:
    """Return about 300 characters of a text that have most of the phrases' words.

    Where a text has none of them, its beginning.
    """
    positions = _positions(text, phrases)
    start = _sentence_start(text, _best_start(positions)) if positions else 0
    piece = text[start : start + SNIPPET_CHARS]
    if start + SNIPPET_CHARS < len(text):
        space = piece.rfind(" ")
        piece = piece[:space] if space > SNIPPET_CHARS // 2 else piece
    return _SPACES.sub(" ", _BREAK.sub("", piece)).strip()


def _positions(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, str]]:
    """Return the positions of the roots of the words, in order."""
    roots = {_root(word) for phrase in phrases for word in phrase}
    # Faster than to ignore the case. A few letters are longer in lower case; then the text stays.
    lower = text.lower()
    searched = lower if len(lower) == len(text) else text
    # Where one root begins with another, the longer one counts.
    positions = {
        position: root
        for root in sorted(roots, key=lambda root: (len(root), root))
        for position in islice(_starts(searched, root), _MAX_POSITIONS)
    }
    return sorted(positions.items())[:_MAX_POSITIONS]


def _starts(text: str, root: str) -> Iterator[int]:
    """Yield where words begin that begin with a root; in an unspaced script, anywhere.

    Searching for one root after another is faster than a regular expression for all.
    """
    anywhere, position = is_unspaced(root), text.find(root)
    while position >= 0:
        before = text[position - 1] if position else " "
        if anywhere or not (before.isalnum() or before == "_"):
            yield position
        position = text.find(root, position + 1)


@lru_cache(maxsize=1_000)
def _root(word: str) -> str:
    """Return a rough stem of a word."""
    shorter = _ENDING.sub("", word)
    return shorter if len(shorter) >= 3 else word


def _best_start(positions: list[tuple[int, str]]) -> int:
    """Return where the stretch begins that has the most words, above all different ones."""
    inside: Counter[str] = Counter()
    best, best_start, first, kinds = 0.0, positions[0][0], 0, 0
    for last, (start, root) in enumerate(positions):
        kinds += not inside[root]
        inside[root] += 1
        while start - positions[first][0] > SNIPPET_CHARS - _REACH:
            inside[positions[first][1]] -= 1
            kinds -= not inside[positions[first][1]]
            first += 1
        worth = kinds + 0.1 * min(last - first, 9)
        if worth > best:
            best, best_start = worth, positions[first][0]
    return best_start


def _sentence_start(text: str, position: int) -> int:
    """Return where a sentence shortly before a position begins, or else a word."""
    earliest = max(0, position - _REACH)
    if earliest == 0:
        return 0
    ends = [match.end() for match in _SENTENCE.finditer(text, earliest, position)]
    if ends:
        return ends[-1]
    space = text.find(" ", earliest, position)
    return position if space < 0 else space + 1

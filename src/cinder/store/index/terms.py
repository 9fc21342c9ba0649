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
    "\u0e01-\u0e2e\u0e81-\u0eae\u1000-\u102a\u1780-\u17b3\u3041-\u3096\u30a1-\u30fa"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
)
_LETTER = re.compile(f"[{_UNSPACED}]")
_SEAM = re.compile(rf"(?<=\w)(?=[{_UNSPACED}])|(?<=[{_UNSPACED}])(?=\w)")
_GAP = re.compile(f"(?<=[{_UNSPACED}]) (?=[{_UNSPACED}])")
_WORD = re.compile(r"[^\W_]+")
# A regular expression takes several times as long.
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
"""What says nothing of what a page is about."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case; a letter of an unspaced script is one."""
    if text.isascii():
        return text.lower().translate(_ASCII_GAPS).split()
    return _WORD.findall(space_out(text).lower())


def space_out(text: str) -> str:
    """Return a text in which each letter of an unspaced script stands by itself."""
    if text.isascii() or _LETTER.search(text) is None:
        return text
    return _SEAM.sub(" ", text)


def close_up(text: str) -> str:
    """Return a text that was spaced out as it was, but for spaces between such letters."""
    return text if text.isascii() else _GAP.sub("", text)


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

# A phrase in quotes, or what stands between spaces; a minus before either leaves it out.
_CHUNK = re.compile(r'(?P<minus>-?)(?:"(?P<quoted>[^"]*)"|(?P<bare>[^\s"]+))')


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedQuery:
    """What is looked for."""

    terms: tuple[Phrase, ...] = ()
    """Any of them; the more, the better."""
    phrases: tuple[Phrase, ...] = ()
    """All of them."""
    excluded: tuple[Phrase, ...] = ()
    """None of them."""

    @property
    def scored(self) -> tuple[Phrase, ...]:
        """What pages are ranked by."""
        return (*self.phrases, *self.terms)


def parse_query(text: str, required: Sequence[str] = ()) -> ParsedQuery:
    """Return what a query asks for; phrases that a page must have besides are required."""
    chunks = list(_chunks(text[:MAX_QUERY_CHARS]))
    bare = [words for kind, words in chunks if kind == "bare"]
    quoted = [words for kind, words in chunks if kind == "quoted"]
    excluded = [words for kind, words in chunks if kind == "excluded"]
    demanded = [tuple(split_words(phrase[:MAX_QUERY_CHARS])) for phrase in required]
    return ParsedQuery(
        terms=_terms([word for words in bare for word in words]),
        phrases=_distinct([*quoted, *demanded], MAX_PHRASES),
        excluded=_distinct(excluded, MAX_PHRASES),
    )


def _chunks(text: str) -> Iterator[tuple[str, Phrase]]:
    for chunk in _CHUNK.finditer(text):
        words = tuple(split_words(chunk["quoted"] or chunk["bare"] or ""))
        if words:
            kind = "bare" if chunk["quoted"] is None else "quoted"
            yield "excluded" if chunk["minus"] else kind, words


def _terms(words: list[str]) -> tuple[Phrase, ...]:
    """Return the words that say something; letters of an unspaced script go in pairs."""
    telling = [word for word in words if word not in STOP_WORDS] or words
    single = [(word,) for word in telling if not is_unspaced(word)]
    pairs = [pair for pair in pairwise(words) if is_unspaced(pair[0]) and is_unspaced(pair[1])]
    lone = [(word,) for word in telling if is_unspaced(word)] if not pairs else []
    return _distinct([*single, *pairs, *lone], MAX_TERMS)


def _distinct(phrases: Sequence[Phrase], limit: int) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))[:limit]


SNIPPET_CHARS = 300
# A passage begins with a sentence that begins this near.
_REACH = 80
# Places that are weighed; a text full of the words has its best part among the first.
_MAX_PLACES = 2_000

_ENDING = re.compile(r"(?:ational|ization|ingly|edly|ness|ment|tion|ing|ies|ied|ed|es|ly|s|e|y)$")
_SENTENCE = re.compile(r"[.!?。！？]\s+|\n")  # noqa: RUF001 - ends of sentences in other scripts
_SPACES = re.compile(r"\s+")


def find_snippet(text: str, phrases: Sequence[Phrase]) -> str:
    """Return about 300 characters of a text that have the most of what is looked for.

    Where a text has none of it, its beginning.
    """
    places = _places(text, phrases)
    start = _sentence_start(text, _best_start(places)) if places else 0
    return _cut(text, start)


def _places(text: str, phrases: Sequence[Phrase]) -> list[tuple[int, str]]:
    """Return where roots of the words stand, in order."""
    roots = {_root(word) for phrase in phrases for word in phrase}
    # Faster than to ignore the case; a few letters are longer in lower case, and stay.
    lower = text.lower()
    searched = lower if len(lower) == len(text) else text
    # Where one root begins with another, the longer one stands.
    places = {
        place: root
        for root in sorted(roots, key=lambda root: (len(root), root))
        for place in islice(_starts(searched, root), _MAX_PLACES)
    }
    return sorted(places.items())[:_MAX_PLACES]


def _starts(text: str, root: str) -> Iterator[int]:
    """Yield where words begin that begin with a root; one of an unspaced script does anywhere.

    To look for one root after another is faster than by a regular expression for all.
    """
    anywhere, place = is_unspaced(root), text.find(root)
    while place >= 0:
        before = text[place - 1] if place else " "
        if anywhere or not (before.isalnum() or before == "_"):
            yield place
        place = text.find(root, place + 1)


@lru_cache(maxsize=1_000)
def _root(word: str) -> str:
    """Return what a word shares with its other forms, more or less."""
    shorter = _ENDING.sub("", word)
    return shorter if len(shorter) >= 3 else word


def _best_start(places: list[tuple[int, str]]) -> int:
    """Return where the stretch begins that has the most words, different ones above all."""
    inside: Counter[str] = Counter()
    best, best_start, first, kinds = 0.0, places[0][0], 0, 0
    for last, (start, root) in enumerate(places):
        kinds += not inside[root]
        inside[root] += 1
        while start - places[first][0] > SNIPPET_CHARS - _REACH:
            inside[places[first][1]] -= 1
            kinds -= not inside[places[first][1]]
            first += 1
        worth = kinds + 0.1 * min(last - first, 9)
        if worth > best:
            best, best_start = worth, places[first][0]
    return best_start


def _sentence_start(text: str, place: int) -> int:
    """Return where a sentence before a place begins, or else a word."""
    earliest = max(0, place - _REACH)
    if earliest == 0:
        return 0
    ends = [match.end() for match in _SENTENCE.finditer(text, earliest, place)]
    if ends:
        return ends[-1]
    space = text.find(" ", earliest, place)
    return place if space < 0 else space + 1


def _cut(text: str, start: int) -> str:
    piece = text[start : start + SNIPPET_CHARS]
    if start + SNIPPET_CHARS < len(text):
        space = piece.rfind(" ")
        piece = piece[:space] if space > SNIPPET_CHARS // 2 else piece
    return _SPACES.sub(" ", piece).strip()

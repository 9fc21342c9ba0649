"""The terms of a text: stemmed words for comparison and search, similarity, size in tokens."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

# Scripts without spaces between words: pairs of characters are used as words.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_RUN = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")
_UNSPACED_RUNS = re.compile(rf"[{_UNSPACED}]{{4,}}")
# Their characters begin with one of these bytes in UTF-8; those of most other scripts do not.
_MAY_BEGIN_UNSPACED = bytes((0xE0, 0xE1, *range(0xE3, 0xEA), 0xEF))
_SPACED = bytes(set(range(256)).difference(_MAY_BEGIN_UNSPACED))
_VOWEL = re.compile(r"[aeiouy]")
_MIN_STEM = 3

# Words of a question that carry no meaning of their own.
_STOP_WORDS = frozenset(
    (
        *(
            "a",
            "about",
            "already",
            "also",
            "although",
            "am",
            "an",
            "and",
            "any",
            "are",
            "as",
            "at",
            "be",
        ),
        *(
            "been",
            "but",
            "by",
            "can",
            "could",
            "did",
            "do",
            "does",
            "don",
            "e",
            "for",
            "from",
            "g",
            "had",
        ),
        *(
            "has",
            "have",
            "how",
            "i",
            "if",
            "in",
            "into",
            "is",
            "it",
            "its",
            "just",
            "may",
            "me",
            "might",
        ),
        *(
            "my",
            "of",
            "on",
            "or",
            "our",
            "s",
            "should",
            "so",
            "t",
            "than",
            "that",
            "the",
            "their",
            "them",
        ),
        *(
            "then",
            "there",
            "these",
            "they",
            "this",
            "those",
            "though",
            "to",
            "us",
            "was",
            "we",
            "were",
        ),
        *(
            "what",
            "when",
            "where",
            "which",
            "while",
            "who",
            "why",
            "will",
            "with",
            "would",
            "you",
            "your",
        ),
    )
)


def find_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text, in order."""
    for run in _RUN.findall(text.casefold()):
        if _UNSPACED_RUN.match(run):
            yield from run
            yield from map("".join, pairwise(run))
        else:
            yield _stem(run)


_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def find_identifier_terms(text: str) -> Iterator[str]:
    """Yield the terms of a text, and those of the words that identifiers are made of."""
    for run in _RUN.findall(text):
        if not run.isascii():
            # Raised and lowered letters and digits are those of the line: k₁ is k1.
            yield from find_terms(unicodedata.normalize("NFKC", run))
            continue
        yield _stem(run.casefold())
        if not run.islower() and not run.istitle() and len(parts := _PART.findall(run)) > 1:
            yield from (_stem(part.casefold()) for part in parts)


def find_query_terms(query: str) -> set[str]:
    """Return the terms to search for: pairs rather than single characters, no stop words."""
    terms: set[str] = set()
    stop_words: set[str] = set()
    for run in _RUN.findall(query.casefold()):
        if not _UNSPACED_RUN.match(run):
            (stop_words if run in _STOP_WORDS else terms).add(_stem(run))
        elif len(run) == 1:
            terms.add(run)
        else:
            terms.update(map("".join, pairwise(run)))
    return terms or stop_words


@lru_cache(maxsize=20_000)
def _stem(word: str) -> str:
    """Fold the endings of English words; words of other languages seldom have them."""
    if not word.isascii() or len(word) <= _MIN_STEM:
        return word
    if word.endswith("ies") and len(word) > _MIN_STEM + 1:
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-2] if word.endswith(("ches", "shes", "sses", "xes", "zes")) else word[:-1]
    for ending in ("ing", "ed"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _MIN_STEM and _VOWEL.search(stem):
            word = stem[:-1] if stem[-1] == stem[-2] and stem[-1] not in "lsz" else stem
            break
    return word[:-1] if word.endswith("e") and len(word) > _MIN_STEM else word


def extra_words(text: str) -> int:
    """Return how many more words a text has than runs between spaces.

    Scripts without spaces have about two characters to a word.
    """
    if text.isascii() or not text.encode("utf-8", "surrogatepass").translate(None, _SPACED):
        return 0
    return sum(max(0, len(run) // 2 - 1) for run in _UNSPACED_RUNS.findall(text))


_WORD = re.compile(r"\w+")
BYTES_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has.

    Models split by bytes: a token is four English letters, two Russian ones, one Chinese character.
    """
    return -(-count_bytes(text) // BYTES_PER_TOKEN)


def count_bytes(text: str) -> int:
    """Return the length of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def text_similarity(a: str, b: str) -> float:
    """Return the Jaccard similarity of the two texts' word sets; 0.0 when both are empty."""
    words_a, words_b = _words(a), _words(b)
    union = words_a | words_b
    return len(words_a & words_b) / len(union) if union else 0.0


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))

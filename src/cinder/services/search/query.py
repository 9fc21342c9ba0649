"""The query: cleaned of control characters, and expanded into further queries."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from cinder.errors import FieldProblem, InvalidRequest
from cinder.text.terms import find_query_terms, find_terms

MAX_QUERY_CHARS = 500

# Control characters, and halves of characters that nothing can write down.
_UNTYPED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# What markdown puts between the words of a phrase. Phrases lose it, too.
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_MARKS = re.compile(r"[*_`\[\]\\]")


def clean_text(text: str) -> str:
    """Return a text without control characters and lone surrogates, white space collapsed."""
    return " ".join(_UNTYPED.sub(" ", text).split())


def comparable(text: str) -> str:
    """Return a text, markdown or plain, in the form in which phrases are looked for in it."""
    bare = _MARKS.sub("", _LINK_TARGET.sub("]", text))
    return " ".join(unicodedata.normalize("NFKC", bare).casefold().split())


def read_query(text: str) -> str:
    """Return what is to be searched for.

    Raises:
        InvalidRequest: nothing is, or more than a query may hold.
    """
    query = clean_text(text)
    if not query:
        problem = "Give words to search for"
    elif len(query) > MAX_QUERY_CHARS:
        problem = f"A query has at most {MAX_QUERY_CHARS} characters, this one {len(query)}"
    else:
        return query
    raise InvalidRequest(problems=(FieldProblem("query", problem),))


# More requests than this per provider cost more than they find.
MAX_VARIANTS = 2

_WORD = re.compile(r"[^\W_][\w'.+#-]{0,60}")
_PHRASE_WORDS = 4
_FEEDBACK_TERMS = 2
_LEAST_WORD_CHARS = 4


def expand_query(query: str, first_texts: Iterable[str]) -> tuple[str, ...]:
    """Return other queries for the same thing, the most promising first; the same for the same.

    Whoever uses quotes or `-word` has said precisely what is meant: then there are none.
    """
    if '"' in query or re.search(r"(?:^|\s)-\w", query):
        return ()
    words = _telling_words(query)
    variants = [_with_feedback(query, words, first_texts), _as_phrase(words), " ".join(words)]
    asked = {" ".join(query.casefold().split())}
    different: dict[str, str] = {}
    for variant in variants:
        if variant and variant.casefold() not in asked:
            different.setdefault(variant.casefold(), variant)
    return tuple(different.values())[:MAX_VARIANTS]


def _telling_words(query: str) -> list[str]:
    """Return the words of a query that are no stop words, in order, each once."""
    telling = find_query_terms(query)
    words = [word.rstrip(".'-") for word in _WORD.findall(query)]
    return list(dict.fromkeys(word for word in words if telling.intersection(find_terms(word))))


def _as_phrase(words: list[str]) -> str:
    """Return the query with its first telling words as one phrase."""
    if len(words) < 2:
        return ""
    phrase = f'"{" ".join(words[:_PHRASE_WORDS])}"'
    return " ".join([phrase, *words[_PHRASE_WORDS:]])


def _with_feedback(query: str, words: list[str], texts: Iterable[str]) -> str:
    """Return the query with the words that most of the first results share."""
    asked = set(find_terms(query))
    spelled: dict[str, str] = {}
    having: Counter[str] = Counter()
    for text in texts:
        telling = find_query_terms(text) - asked
        for word in _WORD.findall(text.casefold()):
            term = next(find_terms(word), "")
            if term in telling and len(word) >= _LEAST_WORD_CHARS and word.isalpha():
                spelled.setdefault(term, word)
        having.update(telling.intersection(spelled))
    common = sorted(having.items(), key=lambda item: (-item[1], item[0]))
    added = [spelled[term] for term, results in common if results >= 2][:_FEEDBACK_TERMS]
    return " ".join([*words, *added]) if added and words else ""

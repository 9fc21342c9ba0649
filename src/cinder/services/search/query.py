"""The query: cleaned of control characters, and expanded into further queries."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

from cinder.errors import FieldProblem, InvalidRequest
from cinder.text.terms import find_query_terms, find_terms

MAX_QUERY_CHARS = 500

# Control characters and lone surrogates.
_UNTYPED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# Markdown between the words of a phrase.
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_MARKS = re.compile(r"[*_`\[\]\\]")


def clean_text(text: str) -> str:
    """Return a text without control characters and lone surrogates, white space collapsed."""
    return " ".join(_UNTYPED.sub(" ", text).split())


def comparable(text: str) -> str:
    """Return a text, markdown or plain, normalised for phrase search."""
    bare = _MARKS.sub("", _LINK_TARGET.sub("]", text))
    return " ".join(unicodedata.normalize("NFKC", bare).casefold().split())


def read_query(text: str) -> str:
    """Return the cleaned query.

    Raises:
        InvalidRequest: the query is empty or too long.
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
    """Return variants of a query, the most promising first; deterministic.

    A query with quotes or `-word` is precise, and has no variants.
    """
    if '"' in query or re.search(r"(?:^|\s)-\w", query):
        return ()
    terms = find_query_terms(query)
    spelled = [word.rstrip(".'-") for word in _WORD.findall(query)]
    words = list(dict.fromkeys(word for word in spelled if terms.intersection(find_terms(word))))
    phrase = ""
    if len(words) > 1:
        phrase = " ".join([f'"{" ".join(words[:_PHRASE_WORDS])}"', *words[_PHRASE_WORDS:]])
    variants = [_with_feedback(query, words, first_texts), phrase, " ".join(words)]
    asked = {" ".join(query.casefold().split())}
    different: dict[str, str] = {}
    for variant in variants:
        if variant and variant.casefold() not in asked:
            different.setdefault(variant.casefold(), variant)
    return tuple(different.values())[:MAX_VARIANTS]


def _with_feedback(query: str, words: list[str], texts: Iterable[str]) -> str:
    """Return the query with the words that most of the first results share."""
    asked = set(find_terms(query))
    spelled: dict[str, str] = {}
    having: Counter[str] = Counter()
    for text in texts:
        new_terms = find_query_terms(text) - asked
        for word in _WORD.findall(text.casefold()):
            term = next(find_terms(word), "")
            if term in new_terms and len(word) >= _LEAST_WORD_CHARS and word.isalpha():
                spelled.setdefault(term, word)
        having.update(new_terms.intersection(spelled))
    common = sorted(having.items(), key=lambda item: (-item[1], item[0]))
    added = [spelled[term] for term, results in common if results >= 2][:_FEEDBACK_TERMS]
    return " ".join([*words, *added]) if added and words else ""

"""The query: cleared of what no search engine and no database takes as text."""

import re
import unicodedata

from cinder.errors import FieldProblem, InvalidRequest

MAX_QUERY_CHARS = 500

# Control characters, and halves of characters that nothing can write down.
_UNTYPED = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

# What markdown puts between the words of a phrase. Phrases lose it, too.
_LINK_TARGET = re.compile(r"\]\([^()\s]{0,2000}\)")
_MARKS = re.compile(r"[*_`\[\]\\]")


def clear_text(text: str) -> str:
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
    query = clear_text(text)
    if not query:
        problem = "Give words to search for"
    elif len(query) > MAX_QUERY_CHARS:
        problem = f"A query has at most {MAX_QUERY_CHARS} characters, this one {len(query)}"
    else:
        return query
    raise InvalidRequest(problems=(FieldProblem("query", problem),))

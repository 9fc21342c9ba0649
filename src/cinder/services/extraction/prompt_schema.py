"""Derives a schema from a prompt that lists its fields: "Extract product name and price"."""

import re
from collections.abc import Mapping

from cinder.models.document import Json

_MAX_FIELDS = 30
_MAX_WORDS = 4
_MAX_PROMPT_CHARS = 2_000
_SEPARATORS = re.compile(r"[,;\n•]| and | und | plus | with | as well as |&")
_WORD = re.compile(r"[^\W_]+(?:'s)?")
_ASIDE = re.compile(r"\([^()]{0,200}\)")
# The end of a sentence; the sentences after the first explain it.
_SENTENCE_END = re.compile(r"[.?!:](?:\s|$)")
_VERBS = frozenset(
    (
        *("extract", "get", "find", "give", "list", "return", "show", "tell", "fetch", "collect"),
        *("read", "what", "which", "who", "when", "where", "is", "are", "was", "were", "me"),
        *("please", "i", "need", "want", "would", "like", "also", "pull", "identify", "for"),
        "each",
        *("out", "then", "both", "us", "with", "including", "includes", "include", "such", "to"),
    )
)
_ARTICLES = frozenset(
    ("the", "a", "an", "its", "their", "all", "every", "any", "it", "this", "that")
)
# Tasks whose result is no value on the page.
_TASKS = frozenset(
    ("summarize", "summarise", "describe", "explain", "compare", "translate", "rewrite", "analyze")
)
# Words before the location of the fields, which is no field itself.
_WHERE = frozenset(
    ("from", "on", "in", "at", "by", "if", "whether", "because", "about", "how", "why")
)
_NUMBERS = frozenset(("price", "cost", "fee", "rating", "score", "salary", "stars"))
_COUNTS = frozenset(("count", "number", "quantity", "reviews", "pages", "servings", "year"))
_NOT_COUNTED = frozenset(
    ("phone", "telephone", "serial", "article", "part", "model", "fax", "account")
)
_DATES = frozenset(("date", "deadline", "published", "birthday"))
_ADDRESSES = frozenset(("url", "link", "website", "homepage", "image"))


def read_prompt_fields(prompt: str) -> Mapping[str, Json] | None:
    """Return the schema of the fields that a prompt lists; None if it lists none."""
    text = _ASIDE.sub(" ", prompt[:_MAX_PROMPT_CHARS]).strip()
    if not _TASKS.isdisjoint(word.casefold() for word in _WORD.findall(text)[:3]):
        return None
    if end := _SENTENCE_END.search(text):
        rest = text[end.end() :]
        # "I need the following: name, price" has its fields after the colon.
        text = rest if end[0][0] == ":" and rest.strip() else text[: end.start()]
    named: dict[str, Json] = {}
    for part in _SEPARATORS.split(text):
        words = _field_words(part)
        if 0 < len(words) <= _MAX_WORDS and len(named) < _MAX_FIELDS:
            name = words[0] + "".join(word.capitalize() for word in words[1:])
            named.setdefault(name, _describe(words))
    return {"type": "object", "properties": named} if named else None


def _field_words(part: str) -> list[str]:
    words = (word.casefold().removesuffix("'s") for word in _WORD.findall(part)[:20])
    head, of, tail = " ".join(words).partition(" of ")
    if not of or tail.split()[:1] == ["this"]:
        return _name_words(head.split())
    # "The name of the author" is the author's name.
    return [*_name_words(tail.split()), *_name_words(head.split())]


def _name_words(words: list[str]) -> list[str]:
    kept: list[str] = []
    for word in words:
        if word in _WHERE and kept:
            break
        if (kept or word not in _VERBS) and word not in _ARTICLES and word not in _WHERE:
            kept.append(word)
    return kept


def _describe(words: list[str]) -> dict[str, Json]:
    last, unique = words[-1], set(words)
    if last in _DATES:
        return {"type": "string", "format": "date"}
    if "email" in unique or "mail" in unique:
        return {"type": "string", "format": "email"}
    if last in _ADDRESSES:
        return {"type": "string", "format": "uri"}
    if unique & _NUMBERS:
        return {"type": "number"}
    if unique & _COUNTS and not unique & _NOT_COUNTED:
        return {"type": "integer"}
    return {"type": "string"}

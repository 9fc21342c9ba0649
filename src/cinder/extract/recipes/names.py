"""Tells names that somebody gave to a thing from those that a tool made or that lay it out."""

import re
from functools import lru_cache

_MAX_NAME_CHARS = 60
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[-_]+")
_LETTERS_AND_DIGITS = re.compile(r"[a-z]*\d+[a-z]|[a-z]*\d{3}", re.IGNORECASE)
_NUMBERED = re.compile(r"[A-Za-z]+\d{1,2}\Z")
_VOWELS = frozenset("aeiouyAEIOUY")
_LEAST_WORD = 3
# Words that tell where a thing stands and how it looks, which the next redesign changes.
_LAYOUT = frozenset(
    (
        *("flex", "grid", "row", "rows", "col", "cols", "column", "columns", "container", "wrap"),
        *(
            "wrapper",
            "inner",
            "outer",
            "left",
            "right",
            "center",
            "middle",
            "top",
            "bottom",
            "block",
        ),
        *("inline", "box", "text", "font", "bold", "italic", "small", "medium", "large", "big"),
        *("light", "dark", "bg", "mt", "mb", "ml", "mr", "mx", "my", "pt", "pb", "pl", "pr", "px"),
        *("py", "sm", "md", "lg", "xl", "xs", "gap", "space", "justify", "items", "self", "border"),
        *(
            "rounded",
            "shadow",
            "hover",
            "focus",
            "active",
            "first",
            "last",
            "odd",
            "even",
            "hidden",
        ),
        *("visible", "clearfix", "clear", "float", "pull", "push", "offset", "span", "width", "w"),
        *("height", "h", "full", "auto", "none", "between", "start", "end", "leading", "tracking"),
        *("color", "red", "green", "blue", "gray", "grey", "black", "white", "muted", "uppercase"),
        *("mobile", "desktop", "tablet", "layout", "module", "component", "section", "js", "is"),
    )
)


# A page repeats its classes, and a site's pages share them.
@lru_cache(maxsize=4_096)
def is_given_name(name: str) -> bool:
    """Whether a class or an id is one that says what a thing is, and likely to stay."""
    if len(name) > _MAX_NAME_CHARS or not _PLAIN.match(name):
        return False
    parts = [part for part in _PARTS.split(name) if part]
    if any(_LETTERS_AND_DIGITS.match(part) and not _NUMBERED.match(part) for part in parts):
        return False
    words = [part for part in parts if not part.isdigit()]
    return any(_is_word(word) for word in words) and not all(
        word.lower() in _LAYOUT for word in words
    )


def _is_word(part: str) -> bool:
    return len(part) >= _LEAST_WORD and not _VOWELS.isdisjoint(part)

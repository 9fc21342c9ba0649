"""Declarations of a style, parsed as browsers do: comments, escapes, variables, importance."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

Declarations = Mapping[str, str]

_MAX_STYLE = 20_000
_MAX_NAME = 100
_MAX_VALUE = 300
_MAX_KEPT_VALUE = 1_000
_MAX_DECLARATIONS = 500
_MAX_SUBSTITUTIONS = 20

# Each alternative matches up to the end of the text at worst: no input is scanned twice.
_COMMENT_OR_STRING = re.compile(
    r"""/\*.*?(?:\*/|\Z)|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+("?)|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+('?)""",
    re.DOTALL,
)
_BRACKETS = frozenset("{};@")
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_NEEDS_CARE = re.compile(r"[\\\"'({\[!]|/\*")
_MARK = re.compile(
    r"""[;({\[)}\]]|\\.|"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?""", re.DOTALL
)
_IMPORTANT = re.compile(r"\s*!\s*important\s*$", re.IGNORECASE)
_VARIABLE = re.compile(r"var\(\s*(--[\w-]{1,100})\s*(?:,([^()]*))?\)")
_KEYWORDS_OF_ALL = frozenset(("inherit", "initial", "unset", "revert", "revert-layer"))
_DISPLAY = re.compile(
    r"(?:block|inline|flow|flow-root|flex|grid|table|list-item|ruby|math|contents|none|run-in"
    r"|(?:inline|table|ruby|-webkit|-moz|-ms)-[a-z-]{3,20})(?: [a-z-]{3,20}){0,2}"
)
_VISIBILITIES = frozenset(("visible", "hidden", "collapse"))
_STARTS_AS_A_NUMBER = re.compile(r"[-+]?\.?\d|(?:calc|min|max|clamp|env|var)\(")
_NUMBERED = frozenset(("opacity", "zoom", "text-indent", "max-height", "max-width"))
_CHECKED = _NUMBERED | {"display", "visibility"}
_WORDS_FOR_NUMBERS = frozenset(("auto", "none", "normal", "reset", "fit-content", "min-content"))


class Declaration(NamedTuple):
    """A property and its value, as written."""

    name: str
    value: str
    is_important: bool = False


def parse_declarations(style: str) -> list[Declaration]:
    """Return the declarations of a style in order; only property names are made lower-case."""
    found: list[Declaration] = []
    for piece in _pieces(style):
        name, _, value = piece.partition(":")
        name, value, important = name.strip(), value.strip(), 0
        if "!" in value:
            value, important = _IMPORTANT.subn("", value)
        if name and value and len(name) <= _MAX_NAME and len(value) <= _MAX_KEPT_VALUE:
            # Names of custom properties are case-sensitive.
            name = name if name.startswith("--") else name.lower()
            found.append(Declaration(name, value, important > 0))
    return found


def read_declarations(style: str, variables: Mapping[str, str] | None = None) -> Declarations:
    """Return the valid values of a style by property, in lower case, with variables resolved.

    Args:
        style: declarations, as in a `style` attribute or between the brackets of a rule; only the
            first part of a very long style is read.
        variables: the custom properties that apply to the whole page.
    """
    lowered = style[:_MAX_STYLE].lower()
    declared: dict[str, str] = {}
    if _NEEDS_CARE.search(lowered) is not None:
        declared = _read_with_care(style[:_MAX_STYLE])
    else:
        for piece in lowered.split(";", _MAX_DECLARATIONS):
            name, _, value = piece.partition(":")
            name, value = name.strip(), value.strip()
            if value and len(value) <= _MAX_VALUE and _is_valid(name, value):
                declared[name] = value
    if "var(" not in lowered:
        return declared
    own = {name: value for name, value in declared.items() if name[:2] == "--"}
    known = {**(variables or {}), **own}
    resolved = ((name, resolve_variables(value, known)) for name, value in declared.items())
    return {name: value for name, value in resolved if value is not None}


def resolve_variables(
    value: str,
    variables: Mapping[str, str],
    *,
    unknown: str | None = None,
    max_chars: int = _MAX_VALUE,
) -> str | None:
    """Return a value with its `var()`s replaced.

    Args:
        value: the value of a property.
        variables: custom properties.
        unknown: what replaces an unknown variable; with None, the whole value is invalid.
        max_chars: where the result is cut.
    """
    if "var(" not in value:
        return value.strip()
    for _ in range(_MAX_SUBSTITUTIONS):
        found = _VARIABLE.search(value)
        if found is None:
            return value.strip() if unknown is not None or "var(" not in value else None
        fallback = unknown if found[2] is None else found[2]
        replacement = variables.get(found[1], fallback)
        if replacement is None or len(replacement) > max_chars:
            return None
        value = (value[: found.start()] + replacement.strip() + value[found.end() :])[:max_chars]
    return unknown


def without_comments(text: str) -> str:
    """Return CSS without comments, and without strings that contain brackets or semicolons."""
    if "/*" not in text and '"' not in text and "'" not in text:
        return text
    return _COMMENT_OR_STRING.sub(_without_brackets, text)


def _without_brackets(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] == "/":
        return ""
    is_closed = found[1] or found[2]
    if not is_closed or (text.isprintable() and not _BRACKETS.intersection(text)):
        return text
    return '""'


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_character, text) if "\\" in text else text


def _unescape_character(found: re.Match[str]) -> str:
    if found[1] is None:
        return str(found[2])
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 else "\ufffd"


def _read_with_care(style: str) -> dict[str, str]:
    normal: dict[str, str] = {}
    important: dict[str, str] = {}
    for piece in islice(_pieces(without_comments(style)), _MAX_DECLARATIONS):
        name, _, value = piece.partition(":")
        name, value = _unescape(name).strip().lower(), _unescape(value).strip().lower()
        target = normal
        if "!" in value:
            value, count = _IMPORTANT.subn("", value)
            target = important if count else normal
        if len(value) > _MAX_VALUE:
            value = " ".join(value.split())[:_MAX_VALUE]
        if value and _is_valid(name, value):
            target[name] = value
    return {**normal, **important}


def _pieces(style: str) -> Iterator[str]:
    """Yield the parts between semicolons that are outside brackets and strings."""
    if _NEEDS_CARE.search(style) is None:
        yield from style.split(";")
        return
    depth = start = 0
    for mark in _MARK.finditer(style):
        sign = mark[0]
        if sign in "({[":
            depth += 1
        elif sign in ")}]":
            depth = max(0, depth - 1)
        elif sign == ";" and depth == 0:
            yield style[start : mark.start()]
            start = mark.end()
    yield style[start:]


def _is_valid(name: str, value: str) -> bool:
    """Whether a browser accepts a value; checked only for properties that can hide text."""
    if name not in _CHECKED or value in _KEYWORDS_OF_ALL or "var(" in value:
        return True
    if name == "display":
        return _DISPLAY.fullmatch(value) is not None
    if name == "visibility":
        return value in _VISIBILITIES
    return value in _WORDS_FOR_NUMBERS or _STARTS_AS_A_NUMBER.match(value) is not None

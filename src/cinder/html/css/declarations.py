"""Declarations of a style, read as browsers do: comments, escapes, variables, importance."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

Declarations = Mapping[str, str]

_MAX_STYLE = 20_000
_MAX_VALUE = 300
_MAX_DECLARATIONS = 500
_MAX_SUBSTITUTIONS = 20

_COMMENT_OR_STRING = re.compile(
    r"""/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_NEEDS_CARE = re.compile(r"[\\\"'({\[!]|/\*")
_MARK = re.compile(
    r"""[;({\[)}\]]|\\.|"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?""", re.DOTALL
)
_IMPORTANT = re.compile(r"\s*!\s*important\s*$")
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


def read_declarations(style: str, variables: Mapping[str, str] | None = None) -> Declarations:
    """Return what a style declares, by property; of a very long one its first part.

    Args:
        style: declarations, as in the attribute `style` or between the brackets of a rule.
        variables: the custom properties that hold for the whole page.
    """
    declared = _read(style[:_MAX_STYLE])
    if "var(" in style.lower():
        return _resolve(declared, variables or {})
    return declared


def without_comments(text: str) -> str:
    """Return a style sheet without comments, and without the strings that could end a block."""
    if "/*" not in text and '"' not in text and "'" not in text:
        return text
    return _COMMENT_OR_STRING.sub(_keep_plain_string, text)


def unescape(text: str) -> str:
    """Return a text with what CSS writes by backslashes."""
    return _ESCAPE.sub(_escaped, text) if "\\" in text else text


def _keep_plain_string(found: re.Match[str]) -> str:
    text = found[0]
    if text[0] == "/":
        return ""
    return text if text.isprintable() and not _BRACKETS.intersection(text) else '""'


_BRACKETS = frozenset("{};@")


def _escaped(found: re.Match[str]) -> str:
    if found[1] is None:
        return str(found[2])
    number = int(found[1], 16)
    return chr(number) if 0 < number < 0x110000 else "\ufffd"


def _read(style: str) -> Declarations:
    if _NEEDS_CARE.search(style) is not None:
        return _read_with_care(style)
    declared: dict[str, str] = {}
    for piece in style.lower().split(";", _MAX_DECLARATIONS):
        name, _, value = piece.partition(":")
        name, value = name.strip(), value.strip()
        if value and len(value) <= _MAX_VALUE and _is_valid(name, value):
            declared[name] = value
    return declared


def _read_with_care(style: str) -> Declarations:
    usual: dict[str, str] = {}
    important: dict[str, str] = {}
    for piece in islice(_pieces(without_comments(style)), _MAX_DECLARATIONS):
        name, _, value = piece.partition(":")
        name, value = unescape(name).strip().lower(), unescape(value).strip().lower()
        target = usual
        if "!" in value:
            value, count = _IMPORTANT.subn("", value)
            target = important if count else usual
        if len(value) > _MAX_VALUE:
            value = " ".join(value.split())[:_MAX_VALUE]
        if value and _is_valid(name, value):
            target[name] = value
    return {**usual, **important}


def _pieces(style: str) -> Iterator[str]:
    """Yield the parts between semicolons, those within brackets and strings apart."""
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
    """Whether a browser would take a value, of the properties whose loss would show a text."""
    if name not in _CHECKED or value in _KEYWORDS_OF_ALL or "var(" in value:
        return True
    if name == "display":
        return _DISPLAY.fullmatch(value) is not None
    if name == "visibility":
        return value in _VISIBILITIES
    return value in _WORDS_FOR_NUMBERS or _STARTS_AS_A_NUMBER.match(value) is not None


def _resolve(declared: Declarations, variables: Mapping[str, str]) -> Declarations:
    """Return declarations with the values of variables; one that has none declares nothing."""
    known = {**variables, **{name: said for name, said in declared.items() if name[:2] == "--"}}
    resolved: dict[str, str] = {}
    for name, value in declared.items():
        if "var(" not in value:
            resolved[name] = value
        elif (said := _substitute(value, known)) is not None:
            resolved[name] = said
    return resolved


def _substitute(value: str, known: Mapping[str, str]) -> str | None:
    for _ in range(_MAX_SUBSTITUTIONS):
        found = _VARIABLE.search(value)
        if found is None:
            return value.strip() if "var(" not in value else None
        said = known.get(found[1], found[2])
        if said is None or len(said) > _MAX_VALUE:
            return None
        value = (value[: found.start()] + said + value[found.end() :])[:_MAX_VALUE]
    return None

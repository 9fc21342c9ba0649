"""Style sheets as rules: one look along the text, whatever it holds."""

import re
from dataclasses import dataclass, field
from enum import Enum, auto

MAX_CHARS = 1_500_000
MAX_RULES = 40_000
_MAX_SELECTOR_CHARS = 2_000
_MAX_NAME_CHARS = 100
_MAX_VALUE_CHARS = 1_000
_MAX_DEPTH = 50

# A string ends with its line; `url(` may hold semicolons without quotes.
_TOKEN = re.compile(
    r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|url\([^\"')]*\)?|[{};]",
    re.DOTALL | re.IGNORECASE,
)
# What makes a `@media` hold for some visits alone.
_CONDITION = re.compile(r"[(]|\b(?:print|speech|not)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A property and its value."""

    name: str
    value: str
    is_important: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Declarations, and the selectors of what they are for."""

    selectors: tuple[str, ...]
    declarations: tuple[Declaration, ...]


class _Kind(Enum):
    GROUP = auto()
    STYLE = auto()
    SKIPPED = auto()


@dataclass(slots=True)
class _Block:
    kind: _Kind
    prelude: str
    declarations: list[Declaration] = field(default_factory=list)


def parse_stylesheet(text: str) -> list[Rule]:
    """Return a sheet's rules in order; those under a condition, or for print, are left out."""
    text = _without_comments(text[:MAX_CHARS])
    rules: list[Rule] = []
    blocks: list[_Block] = []
    mark = 0
    for token in _TOKEN.finditer(text):
        character = token[0]
        if character not in "{};":
            continue
        piece, mark = text[mark : token.start()], token.end()
        if character == "{":
            blocks.append(_open(piece.strip(), blocks))
            if len(blocks) > _MAX_DEPTH:
                break
            continue
        if blocks and blocks[-1].kind is _Kind.STYLE:
            blocks[-1].declarations += filter(None, [_declaration(piece)])
        if character == "}" and blocks:
            rules += _close(blocks.pop())
            if len(rules) >= MAX_RULES:
                break
    return rules


def parse_declarations(text: str) -> tuple[Declaration, ...]:
    """Return the declarations of a `style` attribute."""
    rules = parse_stylesheet(f"x{{{text[:_MAX_SELECTOR_CHARS]}}}")
    return rules[0].declarations if rules else ()


def _without_comments(text: str) -> str:
    pieces = []
    place = 0
    while (start := text.find("/*", place)) >= 0:
        pieces.append(text[place:start])
        end = text.find("*/", start + 2)
        place = end + 2 if end >= 0 else len(text)
    return "".join([*pieces, text[place:]])


def _open(prelude: str, blocks: list[_Block]) -> _Block:
    parent = blocks[-1].kind if blocks else _Kind.GROUP
    if parent is not _Kind.GROUP:
        # What is nested in a style is for states and parts of it.
        return _Block(_Kind.SKIPPED, "")
    if prelude.startswith("@"):
        return _Block(_Kind.GROUP if _holds(prelude) else _Kind.SKIPPED, "")
    return _Block(_Kind.STYLE, prelude[:_MAX_SELECTOR_CHARS])


def _holds(prelude: str) -> bool:
    words = prelude.split(None, 1)
    if words[0].lower() in ("@layer", "@supports"):
        return True
    return words[0].lower() == "@media" and not _CONDITION.search(prelude)


def _close(block: _Block) -> list[Rule]:
    if block.kind is not _Kind.STYLE or not block.declarations:
        return []
    selectors = tuple(part.strip() for part in block.prelude.split(",") if part.strip())
    return [Rule(selectors, tuple(block.declarations))]


def _declaration(piece: str) -> Declaration | None:
    name, colon, value = piece.partition(":")
    name, value = name.strip(), value.strip()
    is_bounded = len(name) <= _MAX_NAME_CHARS and len(value) <= _MAX_VALUE_CHARS
    if not colon or not name or not value or not is_bounded:
        return None
    important = value.lower().endswith("!important")
    if important:
        value = value[: -len("!important")].rstrip()
    # Custom properties tell capitals apart.
    return Declaration(name if name.startswith("--") else name.lower(), value, important)

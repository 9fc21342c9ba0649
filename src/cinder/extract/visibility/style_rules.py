"""The rules of a page's own style sheets that hide elements by one class or one id."""

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser

_MAX_STYLES = 300_000
_COMMENT = re.compile(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")
_HIDES = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_SHOWS = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*(?!none)[a-z]|visibility\s*:\s*visible)", re.IGNORECASE
)
_SIMPLE = re.compile(r"[a-zA-Z0-9]{0,20}([.#])([\w-]{1,100})")
_NAME = re.compile(r"[.#]([\w-]{1,100})")
_BRACKET = re.compile(r"[{};]")


# What style sheets and frameworks call the labels that only screen readers read out.
_LABEL_CLASSES = frozenset(
    (
        *("sr-only", "visually-hidden", "visuallyhidden", "visually_hidden", "screen-reader-text"),
        *("screen-reader-only", "screenreader-only", "screen-reader", "assistive-text"),
        *("a11y-hidden", "accessibly-hidden", "show-for-sr", "u-hiddenVisually", "VisuallyHidden"),
        *("element-invisible", "govuk-visually-hidden", "usa-sr-only", "hidden-visually"),
    )
)
_SEE_THROUGH = '[style*="opacity:0"], [style*="opacity: 0"]'
# A page with more see-through elements than this fades its content in.
_MAX_SEE_THROUGH = 5


@dataclass(frozen=True, slots=True)
class HidingRules:
    """The classes and ids whose elements a page hides, and what its inline styles mean."""

    classes: frozenset[str] = _LABEL_CLASSES
    ids: frozenset[str] = frozenset()
    fades_in: bool = False


def read_hiding_rules(tree: LexborHTMLParser) -> HidingRules:
    """Return what the `style` elements of a page hide for good.

    A name that some other rule shows again, in whatever state of the page, is left out: it is
    content that waits for a click or a script.
    """
    always, sometimes = _style_texts(tree)
    hidden = {
        (found[1], found[2])
        for selectors, declarations in _rules(_without_conditions(always))
        if _HIDES.search(declarations)
        for found in map(_SIMPLE.fullmatch, map(str.strip, selectors.split(",")))
        if found
    }
    shown = _names_shown(always + sometimes) if hidden else frozenset()
    return HidingRules(
        classes=_LABEL_CLASSES | {name for mark, name in hidden if mark == "."} - shown,
        ids=frozenset(name for mark, name in hidden if mark == "#") - shown,
        fades_in=len(tree.css(_SEE_THROUGH)) > _MAX_SEE_THROUGH,
    )


def _names_shown(text: str) -> frozenset[str]:
    return frozenset(
        name
        for selectors, declarations in _rules(text)
        if _SHOWS.search(declarations)
        for name in _NAME.findall(selectors)
    )


def _style_texts(tree: LexborHTMLParser) -> tuple[str, str]:
    """Return the style sheets that hold for everybody, and those with a condition."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for style in tree.css("style"):
        medium = (style.attributes.get("media") or "all").strip().lower()
        texts[medium in ("all", "screen")].append(style.text(deep=True))
    always, sometimes = ("".join(texts[key])[:_MAX_STYLES] for key in (True, False))
    if "none" not in always and "hidden" not in always:
        return "", ""
    return _COMMENT.sub("", always), _COMMENT.sub("", sometimes)


def _rules(text: str) -> list[tuple[str, str]]:
    """Return pairs of selectors and what is declared for them, of rules that may show or hide."""
    telling = (part for part in text.split("}") if "display" in part or "visibility" in part)
    # Inside a condition the selectors stand after its own bracket.
    cut = ((part.rpartition("{")) for part in telling)
    return [(head.rpartition("{")[2], declarations) for head, _, declarations in cut]


def _without_conditions(text: str) -> str:
    """Drop the blocks of @media and the like: they hold only for some visitors."""
    parts: list[str] = []
    position = 0
    while (start := text.find("@", position)) >= 0:
        parts.append(text[position:start])
        position = _end_of_block(text, start)
    parts.append(text[position:])
    return "".join(parts)


def _end_of_block(text: str, start: int) -> int:
    depth = 0
    for mark in _BRACKET.finditer(text, start):
        if mark[0] == "{":
            depth += 1
        elif mark[0] == "}":
            depth -= 1
            if depth <= 0:
                return mark.end()
        elif depth == 0:
            return mark.end()
    return len(text)

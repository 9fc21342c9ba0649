"""The rules of a page's own style sheets that hide elements by a class or an id."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, SelectolaxError

from cinder.extract.visibility.hiding_styles import Trick, declarations, find_trick, moves

_MAX_STYLES = 100_000
_COMMENT = re.compile(r"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/")
_HIDES = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_SHOWS = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*(?!none)[a-z]|visibility\s*:\s*visible)", re.IGNORECASE
)
_SIMPLE = re.compile(r"[a-zA-Z0-9]{0,20}([.#])([\w-]{1,100})")
# Of tags, classes and ids alone, the last of which ends in a class or an id.
_COMPOUND = re.compile(r"[\w\s.#>-]{0,200}([.#])([\w-]{1,100})")
# Words one of which a rule must hold to be looked into: to look for words is quick.
_TRICKY = (
    *("opacity", "font-size:0", "font-size: 0", "indent", "clip", "scale", "transparent"),
    *("background", "left:-", "left: -", "right:-", "right: -", "top:-", "top: -"),
    *("overflow:hidden", "overflow: hidden"),
)
_DISPLAYS = ("display", "visibility")
_ANYTHING = ("",)
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
# Each is looked for in the whole page.
_MAX_COMPOUNDS = 10
_MAX_LOOKUPS = 20


@dataclass(frozen=True, slots=True)
class HidingRules:
    """The classes and ids whose elements a page hides, and what its inline styles mean."""

    classes: frozenset[str] = _LABEL_CLASSES
    ids: frozenset[str] = frozenset()
    fades_in: bool = False
    tricks: Mapping[str, Trick] = field(default_factory=dict)
    """By what trick the names, each with its mark, are hidden that are shown, but out of sight."""


def read_hiding_rules(tree: LexborHTMLParser) -> HidingRules:
    """Return what the `style` elements of a page hide for good.

    A name that some other rule shows again, in whatever state of the page, is left out: it is
    content that waits for a click or a script.
    """
    always, sometimes = _style_texts(tree)
    lasting = _without_conditions(always)
    matcher = _Matcher(tree)
    hidden = {
        mark
        for selectors, declared in _rules(lasting)
        if _HIDES.search(declared)
        for mark in matcher.marks(selectors)
    }
    shown = _names_shown(always + sometimes) if hidden else frozenset()
    hidden = {mark for mark in hidden if mark[1:] not in shown}
    tricks = _find_tricks(lasting, always + sometimes, matcher)
    marks = hidden | tricks.keys()
    return HidingRules(
        classes=_LABEL_CLASSES | {mark[1:] for mark in marks if mark[0] == "."},
        ids=frozenset(mark[1:] for mark in marks if mark[0] == "#"),
        fades_in=len(tree.css(_SEE_THROUGH)) > _MAX_SEE_THROUGH,
        tricks={mark: trick for mark, trick in tricks.items() if mark not in hidden},
    )


class _Matcher:
    """Tells which names a selector stands for on this page, with a bound on looking them up."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._tree = tree
        self._compounds = _MAX_COMPOUNDS

    def marks(self, selectors: str) -> Iterator[str]:
        """Yield the classes and ids, each with its mark, all of whose elements are selected."""
        for selector in map(str.strip, selectors.split(",")):
            found = _SIMPLE.fullmatch(selector) or _COMPOUND.fullmatch(selector)
            if found is None:
                continue
            mark = found[1] + found[2]
            if found.re is _SIMPLE or self._takes_all(selector, mark):
                yield mark

    def _takes_all(self, selector: str, mark: str) -> bool:
        if self._compounds <= 0:
            return False
        self._compounds -= 1
        count = self.count(selector)
        return 0 < count == self.count(mark)

    def count(self, selector: str) -> int:
        try:
            return len(self._tree.css(selector))
        except SelectolaxError:
            return 0


def _find_tricks(lasting: str, text: str, matcher: _Matcher) -> dict[str, Trick]:
    """Return the names that are put out of sight by a trick which no other rule takes back."""
    found: dict[str, tuple[Trick, frozenset[str]]] = {}
    for selectors, style in _rules(lasting, _TRICKY):
        declared = declarations(style)
        if (trick := find_trick(declared)) and not moves(declared):
            found.update((mark, trick) for mark in matcher.marks(selectors))
    if not found:
        return {}
    names = {mark[1:] for mark in found}
    taken_back = _properties_shown(text, names)
    return {
        mark: trick
        for mark, (trick, properties) in list(found.items())[:_MAX_LOOKUPS]
        if properties.isdisjoint(taken_back.get(mark[1:], ()))
        and not _fades_in(trick, mark, matcher)
    }


def _fades_in(trick: Trick, mark: str, matcher: _Matcher) -> bool:
    return trick is Trick.SEE_THROUGH and matcher.count(mark) > _MAX_SEE_THROUGH


def _properties_shown(text: str, names: set[str]) -> dict[str, set[str]]:
    """Return, of the names, which properties some rule sets to what hides nothing."""
    shown: dict[str, set[str]] = {}
    for selectors, style in _rules(text, _ANYTHING):
        if meant := names.intersection(_NAME.findall(selectors)):
            declared = declarations(style)
            trick = find_trick(declared)
            # What moves is on its way to being shown.
            hiding = trick[1] if trick and not moves(declared) else frozenset[str]()
            for name in meant:
                shown.setdefault(name, set()).update(declared.keys() - hiding)
    return shown


def _names_shown(text: str) -> frozenset[str]:
    return frozenset(
        name
        for selectors, declared in _rules(text)
        if _SHOWS.search(declared)
        for name in _NAME.findall(selectors)
    )


def _style_texts(tree: LexborHTMLParser) -> tuple[str, str]:
    """Return the style sheets that hold for everybody, and those with a condition."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for style in tree.css("style"):
        medium = (style.attributes.get("media") or "all").strip().lower()
        texts[medium in ("all", "screen")].append(style.text(deep=True))
    always, sometimes = ("".join(texts[key])[:_MAX_STYLES] for key in (True, False))
    return _COMMENT.sub("", always), _COMMENT.sub("", sometimes)


def _rules(text: str, telling: tuple[str, ...] = _DISPLAYS) -> list[tuple[str, str]]:
    """Return pairs of selectors and what is declared for them, of rules that may tell something."""
    lowered = text.lower()
    # A letter whose lower case is two would put the two out of step.
    looked_at = lowered if len(lowered) == len(text) else text
    # Most sheets have few of the words, and many none: it is told at once for all their rules.
    telling = tuple(word for word in telling if word in looked_at)
    if not telling:
        return []
    parts = (
        part
        for part, looked in zip(text.split("}"), looked_at.split("}"), strict=True)
        if any(word in looked for word in telling)
    )
    # Inside a condition the selectors stand after its own bracket.
    cut = (part.rpartition("{") for part in parts)
    return [(head.rpartition("{")[2], declared) for head, _, declared in cut]


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

"""The rules of a page's own style sheets that hide elements."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborNode, SelectolaxError

from cinder.extract.elements import Elements
from cinder.extract.visibility.declarations import Declared, declarations
from cinder.extract.visibility.hiding_styles import (
    Found,
    Trick,
    find_trick,
    is_not_shown,
    is_unseen,
    moves,
)
from cinder.extract.visibility.hiding_words import HidingWords
from cinder.extract.visibility.marks import UNSEEN, mark
from cinder.extract.visibility.rule_colours import is_closed, mark_colours, names_like_colours
from cinder.extract.visibility.selectors import (
    NamesWanted,
    can_be_looked_up,
    simple_name,
    split_selectors,
    subject_names,
)
from cinder.extract.visibility.style_sheet import (
    Rule,
    Sheet,
    StyleSheets,
    find_sheets,
    read_style_sheets,
)

_SHOWN_BY = ("display", "visibility", "content-visibility")
_VARIABLE = re.compile(r"(--[\w-]{1,100})\s*:\s*([^;]{1,200})")
_FOR_THE_PAGE = re.compile(r"(?::root|html|body|\*|:host)(?:\s*,\s*(?::root|html|body|\*|:host))*")

# What style sheets and frameworks call the labels that only screen readers read out.
_LABEL_CLASSES = frozenset(
    (
        *("sr-only", "visually-hidden", "visuallyhidden", "visually_hidden", "screen-reader-text"),
        *("screen-reader-only", "screenreader-only", "screen-reader", "assistive-text"),
        *("a11y-hidden", "accessibly-hidden", "show-for-sr", "u-hiddenVisually", "VisuallyHidden"),
        *("element-invisible", "govuk-visually-hidden", "usa-sr-only", "hidden-visually"),
    )
)
_SEE_THROUGH = ("opacity:0", "opacity: 0")
# A page with more see-through elements than this fades its content in.
_MAX_SEE_THROUGH = 5
_MAX_TRICKS = 200
# Each is looked for in the whole page.
_MAX_LOOKUPS = 40
_MAX_MARKED = 2_000
# Not shown at all is no trick.
_NOT_SHOWN: tuple[None, frozenset[str]] = (None, frozenset(_SHOWN_BY))

_Hiding = Found | tuple[None, frozenset[str]]


@dataclass(frozen=True, slots=True)
class HidingRules:
    """The classes and ids whose elements a page hides, and what its inline styles mean."""

    classes: frozenset[str] = _LABEL_CLASSES
    ids: frozenset[str] = frozenset()
    fades_in: bool = False
    tricks: Mapping[str, Trick] = field(default_factory=dict)
    """By what trick the names, each with its mark, are hidden that are shown, but out of sight."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The custom properties that hold for the whole page."""
    vanishing: frozenset[str] = frozenset()
    """The animations after which an element is out of sight."""
    are_all_read: bool = False
    """Whether the page has no style sheets but those in it."""
    has_marks: bool = False
    """Whether elements of the page are marked."""


def read_hiding_rules(elements: Elements) -> HidingRules:
    """Return what the `style` elements of a page hide for good.

    Elements that a rule means otherwise than by one class or id are marked. What some other rule
    shows again, in whatever state of the page, is left out: it is content that waits for a click
    or a script.
    """
    root, fades_in = elements.root, _count_see_through(elements) > _MAX_SEE_THROUGH
    found = _judge_sheets(find_sheets(elements))
    are_all_read = is_closed(elements, has_imports=found.sheets.has_imports)
    if not found.sheets.rules:
        return HidingRules(fades_in=fades_in, are_all_read=are_all_read)
    if are_all_read:
        are_all_read = mark_colours(
            elements, found.sheets, found.variables, may_blend=found.has_like_colours
        )
    has_marks = _mark_selected(root, found.hiding) > 0
    tricks = _named(root, found.hiding)
    return HidingRules(
        classes=_LABEL_CLASSES | {name[1:] for name in tricks if name[0] == "."},
        ids=frozenset(name[1:] for name in tricks if name[0] == "#"),
        fades_in=fades_in,
        tricks={name: trick for name, trick in tricks.items() if trick is not None},
        variables=found.variables,
        vanishing=found.vanishing,
        are_all_read=are_all_read,
        has_marks=are_all_read or has_marks,
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """What is to be known of a page's style sheets before any element is looked at."""

    sheets: StyleSheets
    variables: Mapping[str, str]
    vanishing: frozenset[str]
    hiding: Mapping[str, _Hiding]
    """How each selector hides that does, and that no other rule takes back."""
    has_like_colours: bool


# The pages of a website share their sheets.
@lru_cache(maxsize=8)
def _judge_sheets(texts: tuple[Sheet, ...]) -> _Judged:
    sheets = read_style_sheets(texts)
    variables = _page_variables(sheets.rules)
    vanishing = _vanishing(sheets, variables)
    judge = _Judge(variables, vanishing)
    words = HidingWords(sheets.text, with_animations=bool(vanishing))
    hiding = _not_taken_back(judge.find(sheets.rules, words), sheets.rules, judge)
    return _Judged(sheets, variables, vanishing, hiding, names_like_colours(sheets.text))


def vanishes(declared: Declared, names: frozenset[str]) -> bool:
    """Whether an animation of one of these names leaves an element out of sight for good."""
    if not names:
        return False
    words = f"{declared.get('animation', '')} {declared.get('animation-name', '')}".split()
    ends = {"forwards", "both"}.intersection((*words, declared.get("animation-fill-mode", "")))
    return bool(ends) and not names.isdisjoint(words)


def _vanishing(sheets: StyleSheets, variables: Mapping[str, str]) -> frozenset[str]:
    return frozenset(
        name.lower()
        for name, style in sheets.last_frames
        if _hiding_of(declarations(style, variables)) is not None
    )


def _page_variables(rules: Iterable[Rule]) -> dict[str, str]:
    """Return the custom properties that the page declares for all of itself, and only there."""
    values: dict[str, set[str]] = {}
    everywhere: set[str] = set()
    for selectors, style, _ in rules:
        if "--" in style:
            found = _VARIABLE.findall(style)
            for name, value in found:
                values.setdefault(name.lower(), set()).add(value.strip().lower())
            if _FOR_THE_PAGE.fullmatch(selectors.strip()):
                everywhere.update(name.lower() for name, _ in found)
    return {name: values[name].pop() for name in everywhere if len(values[name]) == 1}


def _hiding_of(declared: Declared) -> _Hiding | None:
    if is_not_shown(declared) or is_unseen(declared):
        return _NOT_SHOWN
    found = find_trick(declared)
    return found if found and not moves(declared) else None


class _Judge:
    """Finds the selectors whose rules hide."""

    def __init__(self, variables: Mapping[str, str], vanishing: frozenset[str]) -> None:
        self.variables = variables
        self._vanishing = vanishing

    def find(self, rules: Iterable[Rule], words: HidingWords) -> dict[str, _Hiding]:
        """Return how each selector hides that does."""
        found: dict[str, _Hiding] = {}
        for selectors, style, holds_for_all in rules:
            if holds_for_all and words.may_hide(style.lower()):
                hiding = self.hiding_of(declarations(style, self.variables))
                if hiding is not None:
                    found.update((one, hiding) for one in split_selectors(selectors))
                    if len(found) > _MAX_TRICKS:
                        break
        return found

    def hiding_of(self, declared: Declared) -> _Hiding | None:
        """Return how declarations hide, if they do."""
        if vanishes(declared, self._vanishing):
            return Trick.OTHER, frozenset(("animation", "animation-name"))
        return _hiding_of(declared)


def _not_taken_back(
    hiding: dict[str, _Hiding], rules: Iterable[Rule], judge: _Judge
) -> dict[str, _Hiding]:
    """Return the selectors whose elements no other rule shows again."""
    subjects = {selector: subject_names(selector) for selector in hiding}
    wanted = frozenset(name for names in subjects.values() for name in names)
    if not wanted:
        return {}
    properties = frozenset(name for _, names in hiding.values() for name in names)
    shown = _properties_shown(rules, wanted, properties, judge)
    return {
        selector: found
        for selector, found in hiding.items()
        if all(found[1].isdisjoint(shown.get(name, ())) for name in subjects[selector])
    }


def _properties_shown(
    rules: Iterable[Rule],
    wanted: frozenset[str],
    properties: frozenset[str],
    judge: _Judge,
) -> dict[str, set[str]]:
    """Return, of the names, which properties some rule sets to what hides nothing."""
    shown: dict[str, set[str]] = {}
    names = NamesWanted(wanted)
    for selectors, style, _ in rules:
        meant = names.spoken_of(selectors)
        if meant and any(name in style for name in properties):
            declared = declarations(style, judge.variables)
            hiding = judge.hiding_of(declared)
            told = declared.keys() - (hiding[1] if hiding else frozenset[str]())
            for name in meant:
                shown.setdefault(name, set()).update(told)
    return shown


def _named(root: LexborNode, hiding: Mapping[str, _Hiding]) -> dict[str, Trick | None]:
    """Return the classes and ids, with their marks, whose elements are hidden wherever they are."""
    named: dict[str, Trick | None] = {}
    for selector, (trick, _) in hiding.items():
        name = simple_name(selector)
        if name is None or (trick is Trick.SEE_THROUGH and _fades_in(_look_up(root, name))):
            continue
        if trick is None or name not in named:
            named[name] = trick
    return named


def _count_see_through(elements: Elements) -> int:
    styles = (elements.attributes(place)["style"] or "" for place in elements.having("style"))
    return sum(words in style for style in styles for words in _SEE_THROUGH)


def _fades_in(nodes: list[LexborNode]) -> bool:
    return len(nodes) > _MAX_SEE_THROUGH


def _mark_selected(root: LexborNode, hiding: Mapping[str, _Hiding]) -> int:
    """Mark the elements of selectors that are more than a class or an id; return how many."""
    wanted = (
        (selector, trick)
        for selector, (trick, _) in hiding.items()
        if simple_name(selector) is None and can_be_looked_up(selector)
    )
    marked = 0
    for _, (selector, trick) in zip(range(_MAX_LOOKUPS), wanted, strict=False):
        nodes = _look_up(root, selector)
        if trick is Trick.SEE_THROUGH and _fades_in(nodes):
            continue
        for node in nodes[: _MAX_MARKED - marked]:
            mark(node, UNSEEN, trick.name if trick else "")
            marked += 1
    return marked


def _look_up(root: LexborNode, selector: str) -> list[LexborNode]:
    try:
        return root.css(selector)
    except SelectolaxError:
        return []

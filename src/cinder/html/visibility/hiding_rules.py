"""Rules of a page's own style sheets that hide elements."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborNode, SelectolaxError

from cinder.html.css.declarations import Declarations, read_declarations
from cinder.html.css.selectors import (
    SelectorNames,
    is_queryable,
    simple_name,
    split_selectors,
    subject_names,
)
from cinder.html.css.sheet import (
    StyleElement,
    StyleRule,
    StyleSheets,
    find_style_elements,
    read_style_sheets,
)
from cinder.html.css.values import may_be_indistinguishable
from cinder.html.tree import Elements
from cinder.html.visibility.contrast import (
    has_indistinguishable_colours,
    has_only_inline_sheets,
    mark_colours,
)
from cinder.html.visibility.tricks import (
    UNSEEN,
    Trick,
    TrickMatch,
    find_trick,
    is_not_rendered,
    is_visibility_hidden,
    set_mark,
    starts_animation,
)

_SUM = r"(?:calc|min|max|clamp)\("
# A variable alone says nothing: there must be one of a great length, or such a length to fall to.
_FAR_SUM = rf"{_SUM}[^;{{}}]{{0,60}}?\d{{3}}|var\([^;{{}}]{{0,60}}?\d{{4}}"
_FAR_VARIABLE = re.compile(r"--[\w-]{1,60}\s*:\s*-?\d{3}|--[\w-]{1,60}\s*:\s*calc")
_AWAY = rf"-\d{{3}}|-\d+(?:\.\d+)?(?:r?em|ch|ex|in|cm|mm|pc)|{_FAR_SUM}"
_SIDE = rf"\s*:\s*(?:{_AWAY}|\d{{3}}(?:%|v)|\d{{4}})"
_THIN = r"(?:0+(?![.\d])|0?\.0|\d+e-|[0-5](?:\.\d+)?%)"
# Each a word that is quick to look for, and what stands around it where it may hide.
_TABLE = (
    ("display", r"display\s*:\s*(?:none|var\()"),
    ("visibility", r"visibility\s*:\s*(?:hidden|collapse|var\()"),
    ("opacity", rf"opacity\s*[:(]\s*(?:{_THIN}|{_SUM}|var\()"),
    ("font", rf"font(?:-size)?\s*:\s*(?:0|\.[01]|[12](?:\.\d+)?(?:px|pt|%|v)|{_SUM}|var\()"),
    ("font", r"font\s*:[^;{}]{0,60}?[\s:](?:0(?![.\d])|0?\.[01]\d*r?em|[012](?:\.\d+)?p[xt])"),
    ("indent", rf"indent\s*:\s*(?:{_AWAY})"),
    ("clip", r"(?<!\w-)clip\s*:\s*rect"),
    ("clip-path", r"clip-path\s*:\s*(?!none)"),
    (
        "scale",
        rf"scale\w{{0,2}}\s*[:(]\s*(?:[^;{{}}]{{0,40}}?[,\s])?(?:0(?!\.[1-9])|\.0|-?\d+e-|{_SUM})",
    ),
    ("translate", rf"translate\w{{0,2}}\s*[:(][^;{{}}]{{0,80}}?(?:\d{{4}}|\d{{3}}r?em|{_FAR_SUM})"),
    ("rotate", r"rotate[xy]\s*\("),
    ("matrix", r"matrix"),
    ("color", r"(?<![\w-])color\s*:\s*(?:transparent|#(?:\w{3}0|\w{6}0\w)(?!\w))"),
    ("fill-color", r"fill-color\s*:"),
    ("color", rf"(?<![\w-])color\s*:\s*(?:rgb|hsl)a?\([^)]{{0,60}}[,/]\s*{_THIN}"),
    ("left", f"(?<![\\w-])left{_SIDE}"),
    ("right", f"(?<![\\w-])right{_SIDE}"),
    ("top", f"(?<![\\w-])top{_SIDE}"),
    ("bottom", f"(?<![\\w-])bottom{_SIDE}"),
    ("inset", rf"inset[a-z-]{{0,13}}\s*:[^;{{}}]{{0,60}}?(?:{_AWAY})"),
    ("margin", rf"margin[a-z-]{{0,13}}\s*:[^;{{}}]{{0,60}}?(?:-\d{{4}}|-\d{{2,3}}r?em|{_FAR_SUM})"),
    ("zoom", r"zoom\s*:\s*(?:0|\.|\d%)"),
    ("mask", r"mask[a-z-]{0,6}\s*:[^;{}]{0,20}gradient"),
    (
        "letter-spacing",
        r"letter-spacing\s*:\s*(?:-\d{1,3}(?:\.\d+)?r?em|-0?\.[5-9]\d*r?em|-\d\d|calc)",
    ),
    ("animation", r"animation"),
)
# Escapes in names, and in values that are no strings; icons are escapes in strings.
_ESCAPED = re.compile(r"\\[0-9a-z-]{1,20}[\s\w\\-]{0,20}:|:\s*[\w-]{0,20}\\[0-9a-z]")
_MAX_TRIES = 2_000
_PATTERNS_BY_WORD = tuple((word, re.compile(look)) for word, look in _TABLE)
_PLACED = frozenset(("left", "right", "top", "bottom", "inset", "margin", "translate", "indent"))
_FLAT = re.compile(rf"(?:^|[;\s]|max-)(?:height|width)\s*:\s*(?:0(?!\.[1-9])|\.|1px|{_SUM}|var\()")
_CUT = re.compile(r"overflow[xy-]{0,2}\s*:\s*(?:\w+\s+)?(?:hidden|clip)")
_COLOUR = re.compile(r"(?<![\w-])color\s*:\s*([^;!{}]{1,60})")
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*([^;!{}]{1,60})")


class HidingPrefilter:
    """The words of one style sheet that may hide."""

    def __init__(self, sheet: str, *, with_animations: bool) -> None:
        lowered = sheet.lower()
        self._has_far_variables = _stands_in(lowered, "--", _FAR_VARIABLE)
        self._looks = tuple(
            (word, look)
            for word, look in _PATTERNS_BY_WORD
            if (with_animations or word != "animation") and _stands_in(lowered, word, look)
        )
        self._has_boxes = _stands_in(lowered, "overflow", _CUT)
        self._has_escapes = "\\" in lowered

    def may_hide(self, style: str) -> bool:
        """Whether declarations of this sheet, in lower case, may hide."""
        for word, look in self._looks:
            if word in style and look.search(style):
                return True
        if self._has_boxes and "overflow" in style and _FLAT.search(style) and _CUT.search(style):
            return True
        if self._has_escapes and "\\" in style and _ESCAPED.search(style):
            return True
        if self._has_far_variables and "var(" in style:
            return any(word in style for word in _PLACED)
        return "background" in style and _has_indistinguishable_pair(style)


def _stands_in(text: str, word: str, look: re.Pattern[str]) -> bool:
    position = text.find(word)
    for _ in range(_MAX_TRIES):
        if position < 0:
            return False
        if look.match(text, position):
            return True
        position = text.find(word, position + 1)
    return True


def _has_indistinguishable_pair(style: str) -> bool:
    colour = _COLOUR.search(style)
    background = _BACKGROUND.search(style) if colour else None
    if colour is None or background is None:
        return False
    return may_be_indistinguishable(colour[1].strip(), background[1].strip())


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

_Hiding = TrickMatch | tuple[None, frozenset[str]]


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
    found = _judge_sheets(find_style_elements(elements))
    are_all_read = has_only_inline_sheets(elements, has_imports=found.sheets.has_imports)
    if not found.sheets.rules:
        return HidingRules(fades_in=fades_in, are_all_read=are_all_read)
    if are_all_read:
        are_all_read = mark_colours(
            elements, found.sheets, found.variables, may_blend=found.has_indistinguishable_colours
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
    has_indistinguishable_colours: bool


# The pages of a website share their sheets.
@lru_cache(maxsize=8)
def _judge_sheets(texts: tuple[StyleElement, ...]) -> _Judged:
    sheets = read_style_sheets(texts)
    variables = _page_variables(sheets.rules)
    vanishing = _vanishing(sheets, variables)
    judge = _Judge(variables, vanishing)
    words = HidingPrefilter(sheets.text, with_animations=bool(vanishing))
    hiding = _not_taken_back(judge.find(sheets.rules, words), sheets.rules, judge)
    return _Judged(sheets, variables, vanishing, hiding, has_indistinguishable_colours(sheets.text))


def vanishes(declared: Declarations, names: frozenset[str]) -> bool:
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
        if _hiding_of(read_declarations(style, variables)) is not None
    )


def _page_variables(rules: Iterable[StyleRule]) -> dict[str, str]:
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


def _hiding_of(declared: Declarations) -> _Hiding | None:
    if is_not_rendered(declared) or is_visibility_hidden(declared):
        return _NOT_SHOWN
    found = find_trick(declared)
    return found if found and not starts_animation(declared) else None


class _Judge:
    """Finds the selectors whose rules hide."""

    def __init__(self, variables: Mapping[str, str], vanishing: frozenset[str]) -> None:
        self.variables = variables
        self._vanishing = vanishing

    def find(self, rules: Iterable[StyleRule], words: HidingPrefilter) -> dict[str, _Hiding]:
        """Return how each selector hides that does."""
        found: dict[str, _Hiding] = {}
        for selectors, style, holds_for_all in rules:
            if holds_for_all and words.may_hide(style.lower()):
                hiding = self.hiding_of(read_declarations(style, self.variables))
                if hiding is not None:
                    found.update((one, hiding) for one in split_selectors(selectors))
                    if len(found) > _MAX_TRICKS:
                        break
        return found

    def hiding_of(self, declared: Declarations) -> _Hiding | None:
        """Return how declarations hide, if they do."""
        if vanishes(declared, self._vanishing):
            return Trick.OTHER, frozenset(("animation", "animation-name"))
        return _hiding_of(declared)


def _not_taken_back(
    hiding: dict[str, _Hiding], rules: Iterable[StyleRule], judge: _Judge
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
    rules: Iterable[StyleRule],
    wanted: frozenset[str],
    properties: frozenset[str],
    judge: _Judge,
) -> dict[str, set[str]]:
    """Return, of the names, which properties some rule sets to what hides nothing."""
    shown: dict[str, set[str]] = {}
    names = SelectorNames(wanted)
    for selectors, style, _ in rules:
        meant = names.names_in(selectors)
        if meant and any(name in style for name in properties):
            declared = read_declarations(style, judge.variables)
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
        if simple_name(selector) is None and is_queryable(selector)
    )
    marked = 0
    for _, (selector, trick) in zip(range(_MAX_LOOKUPS), wanted, strict=False):
        nodes = _look_up(root, selector)
        if trick is Trick.SEE_THROUGH and _fades_in(nodes):
            continue
        for node in nodes[: _MAX_MARKED - marked]:
            set_mark(node, UNSEEN, trick.name if trick else "")
            marked += 1
    return marked


def _look_up(root: LexborNode, selector: str) -> list[LexborNode]:
    try:
        return root.css(selector)
    except SelectolaxError:
        return []

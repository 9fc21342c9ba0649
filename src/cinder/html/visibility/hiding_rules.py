"""Hiding rules: the rules of a page's own style sheets that hide elements."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice

from selectolax.lexbor import LexborNode

from cinder.html.css.declarations import Declarations, read_declarations
from cinder.html.css.selectors import (
    SelectorNames,
    is_queryable,
    select_all,
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
from cinder.html.tree import HIDDEN_MARK, Elements, set_mark
from cinder.html.visibility.blank_fonts import find_blank_fonts, is_in_blank_font
from cinder.html.visibility.contrast import (
    has_indistinguishable_colours,
    has_only_inline_sheets,
    mark_colours,
)
from cinder.html.visibility.tricks import (
    Trick,
    TrickMatch,
    find_trick,
    is_not_rendered,
    is_visibility_hidden,
    starts_animation,
)
from cinder.html.vocabulary import load_vocabulary

_SUM = r"(?:calc|min|max|clamp)\("
# A variable alone means nothing: it or its fallback must be a great length.
_FAR_SUM = rf"{_SUM}[^;{{}}]{{0,60}}?\d{{3}}|var\([^;{{}}]{{0,60}}?\d{{4}}"
_FAR_VARIABLE = re.compile(r"--[\w-]{1,60}\s*:\s*(?:-?\d{3}|calc)")
_AWAY = rf"-\d{{3}}|-\d+(?:\.\d+)?(?:r?em|ch|ex|in|cm|mm|pc)|{_FAR_SUM}"
_SIDE = rf"\s*:\s*(?:{_AWAY}|\d{{3}}(?:%|v)|\d{{4}})"
_THIN = r"(?:0+(?![.\d])|0?\.0|\d+e-|[0-5](?:\.\d+)?%)"
# A word that is quick to search, and the pattern around it that may hide text: nearly all begin
# with a literal text, so that a search skips all else quickly.
_TABLE = (
    ("display", r"display\s*:\s*(?:none|var\()"),
    ("visibility", r"visibility\s*:\s*(?:hidden|collapse|var\()"),
    ("opacity", rf"opacity\s*[:(]\s*(?:{_THIN}|{_SUM}|var\()"),
    ("font", rf"font(?:-size)?\s*:\s*(?:0|\.[01]|[12](?:\.\d+)?(?:px|pt|%|v)|{_SUM}|var\()"),
    ("blank", "blank"),
    ("invisible", "invisible"),
    ("font", r"font\s*:[^;{}]{0,60}?[\s:](?:0(?![.\d])|0?\.[01]\d*r?em|[012](?:\.\d+)?p[xt])"),
    ("indent", rf"indent\s*:\s*(?:{_AWAY})"),
    ("clip", r"clip(?<!\w-clip)\s*:\s*rect"),
    ("clip-path", r"clip-path\s*:\s*(?!none)"),
    (
        "scale",
        rf"scale\w{{0,2}}\s*[:(]\s*(?:[^;{{}}]{{0,40}}?[,\s])?(?:0(?!\.[1-9])|\.0|-?\d+e-|{_SUM})",
    ),
    ("translate", rf"translate\w{{0,2}}\s*[:(][^;{{}}]{{0,80}}?(?:\d{{4}}|\d{{3}}r?em|{_FAR_SUM})"),
    ("rotate", r"rotate[xy]\s*\("),
    ("matrix", r"matrix"),
    ("color", r"color(?<![\w-]color)\s*:\s*(?:transparent|#(?:\w{3}0|\w{6}0\w)(?!\w))"),
    ("fill-color", r"fill-color\s*:"),
    ("color", rf"color(?<![\w-]color)\s*:\s*(?:rgb|hsl)a?\([^)]{{0,60}}[,/]\s*{_THIN}"),
    ("left", rf"left(?<![\w-]left){_SIDE}"),
    ("right", rf"right(?<![\w-]right){_SIDE}"),
    ("top", rf"top(?<![\w-]top){_SIDE}"),
    ("bottom", rf"bottom(?<![\w-]bottom){_SIDE}"),
    ("inset", rf"inset[a-z-]{{0,13}}\s*:[^;{{}}]{{0,60}}?(?:{_AWAY})"),
    ("margin", rf"margin[a-z-]{{0,13}}\s*:[^;{{}}]{{0,60}}?(?:-\d{{4}}|-\d{{2,3}}r?em|{_FAR_SUM})"),
    ("zoom", r"zoom\s*:\s*(?:0|\.|\d%)"),
    ("mask", r"mask[a-z-]{0,6}\s*:[^;{}]{0,20}gradient"),
    (
        "letter-spacing",
        r"letter-spacing\s*:\s*(?:-\d{1,3}(?:\.\d+)?r?em|-0?\.[5-9]\d*r?em|-\d\d|calc)",
    ),
    ("animation", r"animation"),
    ("blur", r"blur\(\s*(?:\d{2}|[89]|\.[5-9]\d*r?em|0\.[5-9]\d*r?em|\d(?:\.\d+)?r?em|calc)"),
    ("filter", r"filter\s*:[^;{}]{0,60}?(?:brightness|contrast)\(\s*0"),
    ("column", r"column(?:s|-width|-count)\s*:"),
    ("security", r"text-security\s*:"),
    ("backface", r"backface-visibility\s*:\s*hidden"),
    ("offset", r"offset(?:-path|-distance)?\s*:"),
    ("contain", r"contain(?<![\w-]contain)\s*:\s*(?:strict|size|[a-z ]{0,40} size)"),
)
# Escapes in names and in unquoted values; icons are escapes in strings.
_ESCAPED = re.compile(r"\\[0-9a-z-]{1,20}[\s\w\\-]{0,20}:|:\s*[\w-]{0,20}\\[0-9a-z]")
_PATTERNS_BY_WORD = tuple((word, re.compile(look)) for word, look in _TABLE)
_PLACED = frozenset(("left", "right", "top", "bottom", "inset", "margin", "translate", "indent"))
_FLAT = re.compile(
    rf"(?:^|[;\s]|max-)(?:height|width)\s*:\s*(?:[0-3](?![.\d])|[12]?\dpx|0?\.|[01](?:\.\d+)?r?em|{_SUM}|var\()"
)
_CUT = re.compile(r"overflow[xy-]{0,2}\s*:\s*(?:\w+\s+)?(?:hidden|clip)")
_FONT = re.compile(r"font(?:-family)?\s*:")
_COLOUR = re.compile(r"(?<![\w-])color\s*:\s*([^;!{}]{1,60})")
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*([^;!{}]{1,60})")


class HidingPrefilter:
    """A quick check whether declarations of one style sheet may hide text."""

    def __init__(self, sheet: str, *, with_animations: bool, with_blank_fonts: bool) -> None:
        lowered = sheet.lower()
        self._has_far_variables = _FAR_VARIABLE.search(lowered) is not None
        self._patterns = tuple(
            (word, pattern)
            for word, pattern in _PATTERNS_BY_WORD
            if (with_animations or word != "animation")
            and word in lowered
            and pattern.search(lowered)
        )
        self._has_blank_fonts = with_blank_fonts
        self._has_boxes = _CUT.search(lowered) is not None
        self._has_escapes = "\\" in lowered

    def may_hide(self, style: str) -> bool:
        """Whether declarations of this sheet, in lower case, may hide text."""
        for word, pattern in self._patterns:
            if word in style and pattern.search(style):
                return True
        if self._has_blank_fonts and _FONT.search(style):
            return True
        if self._has_boxes and _CUT.search(style) and _FLAT.search(style):
            return True
        if self._has_escapes and "\\" in style and _ESCAPED.search(style):
            return True
        if self._has_far_variables and "var(" in style:
            return any(word in style for word in _PLACED)
        colour = _COLOUR.search(style) if "background" in style else None
        background = _BACKGROUND.search(style) if colour else None
        if colour is None or background is None:
            return False
        return may_be_indistinguishable(colour[1].strip(), background[1].strip())


_VARIABLE = re.compile(r"(--[\w-]{1,100})\s*:\s*([^;]{1,200})")
_FOR_THE_PAGE = re.compile(r"(?::root|html|body|\*|:host)(?:\s*,\s*(?::root|html|body|\*|:host))*")
_LABEL_CLASSES = frozenset(load_vocabulary()["hidden_text"]["label_classes"])
_SEE_THROUGH = ("opacity:0", "opacity: 0")
# A page with more transparent elements than this fades its content in.
_MAX_SEE_THROUGH = 5
_MAX_TRICKS = 200
# Each is a query of the whole page.
_MAX_LOOKUPS = 40
_MAX_MARKED = 2_000

_Hiding = TrickMatch | tuple[None, frozenset[str]]
# Elements that are not rendered at all are hidden without a trick.
_NOT_SHOWN: _Hiding = (None, frozenset(("display", "visibility", "content-visibility")))


@dataclass(frozen=True, slots=True)
class HidingRules:
    """The classes and ids whose elements a page hides, and what its inline styles refer to."""

    classes: frozenset[str] = _LABEL_CLASSES
    ids: frozenset[str] = frozenset()
    fades_in: bool = False
    tricks: Mapping[str, Trick] = field(default_factory=dict)
    """The tricks that hide rendered elements, by `.class` or `#id`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """The custom properties that apply to the whole page."""
    vanishing: frozenset[str] = frozenset()
    """The animations after which an element is out of sight."""
    blank_fonts: frozenset[str] = frozenset()
    """The families of web fonts without ink."""
    are_all_read: bool = False
    """Whether the page links to no style sheets."""
    has_marks: bool = False
    """Whether elements of the page are marked."""


def read_hiding_rules(elements: Elements) -> HidingRules:
    """Return what the `style` elements of a page hide permanently.

    Elements that a rule selects by more than one class or id are marked. Elements that another rule
    shows, in any state of the page, are left out: they are content that waits for a click or a
    script.
    """
    styles = (elements.attributes(place)["style"] or "" for place in elements.having("style"))
    see_through = sum(words in style for style in styles for words in _SEE_THROUGH)
    fades_in = see_through > _MAX_SEE_THROUGH
    found = _judge_sheets(find_style_elements(elements))
    are_all_read = has_only_inline_sheets(elements, has_imports=found.sheets.has_imports)
    if not found.sheets.rules:
        return HidingRules(
            fades_in=fades_in, blank_fonts=found.blank_fonts, are_all_read=are_all_read
        )
    if are_all_read:
        are_all_read = mark_colours(
            elements, found.sheets, found.variables, may_blend=found.has_indistinguishable_colours
        )
    has_marks = _mark_selected(elements.root, found.hiding) > 0
    tricks: dict[str, Trick | None] = {}
    for selector, (trick, _) in found.hiding.items():
        name = simple_name(selector)
        if name is None:
            continue
        if trick is Trick.SEE_THROUGH and len(select_all(elements.root, name)) > _MAX_SEE_THROUGH:
            continue
        if trick is None or name not in tricks:
            tricks[name] = trick
    return HidingRules(
        classes=_LABEL_CLASSES | {name[1:] for name in tricks if name[0] == "."},
        ids=frozenset(name[1:] for name in tricks if name[0] == "#"),
        fades_in=fades_in,
        tricks={name: trick for name, trick in tricks.items() if trick is not None},
        variables=found.variables,
        vanishing=found.vanishing,
        blank_fonts=found.blank_fonts,
        are_all_read=are_all_read,
        has_marks=are_all_read or has_marks,
    )


def vanishes(declared: Declarations, names: frozenset[str]) -> bool:
    """Whether an animation of one of these names leaves an element out of sight."""
    if not names:
        return False
    words = f"{declared.get('animation', '')} {declared.get('animation-name', '')}".split()
    ends = {"forwards", "both"}.intersection((*words, declared.get("animation-fill-mode", "")))
    return bool(ends) and not names.isdisjoint(words)


@dataclass(frozen=True, slots=True)
class _JudgedSheets:
    """The style sheets of a page, and what they hide."""

    sheets: StyleSheets
    variables: Mapping[str, str]
    vanishing: frozenset[str]
    blank_fonts: frozenset[str]
    hiding: Mapping[str, _Hiding]
    """How each selector hides that does, unless another rule shows its elements."""
    has_indistinguishable_colours: bool


# The pages of a website share their sheets.
@lru_cache(maxsize=8)
def _judge_sheets(texts: tuple[StyleElement, ...]) -> _JudgedSheets:
    sheets = read_style_sheets(texts)
    variables = _page_variables(sheets.rules)
    vanishing = frozenset(
        name.lower()
        for name, style in sheets.last_frames
        if _hiding_of(read_declarations(style, variables)) is not None
    )

    blank_fonts = find_blank_fonts(sheets.text)

    @cache
    def judge(style: str) -> tuple[Declarations, _Hiding | None]:
        declared = read_declarations(style, variables)
        return declared, _hiding_of(declared, vanishing, blank_fonts)

    prefilter = HidingPrefilter(
        sheets.text, with_animations=bool(vanishing), with_blank_fonts=bool(blank_fonts)
    )
    hiding: dict[str, _Hiding] = {}
    for selectors, style, holds_for_all in sheets.rules:
        if holds_for_all and prefilter.may_hide(style.lower()):
            _, found = judge(style)
            if found is not None:
                hiding.update((selector, found) for selector in split_selectors(selectors))
                if len(hiding) > _MAX_TRICKS:
                    break
    hiding = _without_shown(hiding, sheets.rules, judge)
    return _JudgedSheets(
        sheets,
        variables,
        vanishing,
        blank_fonts,
        hiding,
        has_indistinguishable_colours(sheets.text),
    )


def _page_variables(rules: Iterable[StyleRule]) -> dict[str, str]:
    """Return the custom properties that are declared for the whole page, with a single value."""
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


def _hiding_of(
    declared: Declarations,
    vanishing: frozenset[str] = frozenset(),
    blank_fonts: frozenset[str] = frozenset(),
) -> _Hiding | None:
    """Return how declarations hide an element, if they do."""
    if vanishes(declared, vanishing):
        return Trick.OTHER, frozenset(("animation", "animation-name"))
    if is_not_rendered(declared) or is_visibility_hidden(declared):
        return _NOT_SHOWN
    if is_in_blank_font(declared, blank_fonts):
        return Trick.SHRUNK, frozenset(("font", "font-family"))
    found = find_trick(declared)
    return found if found and not starts_animation(declared) else None


def _without_shown(
    hiding: dict[str, _Hiding],
    rules: Iterable[StyleRule],
    judge: Callable[[str], tuple[Declarations, _Hiding | None]],
) -> dict[str, _Hiding]:
    """Return the selectors whose elements no other rule shows."""
    subjects = {selector: subject_names(selector) for selector in hiding}
    properties = frozenset(name for _, names in hiding.values() for name in names)
    selector_names = SelectorNames(frozenset(name for names in subjects.values() for name in names))
    shown: dict[str, set[str]] = {}
    for selectors, style, _ in rules if hiding else ():
        names = selector_names.names_in(selectors)
        if names and any(name in style for name in properties):
            declared, found = judge(style)
            visible = properties.intersection(declared)
            visible -= found[1] if found else frozenset[str]()
            for name in names:
                shown.setdefault(name, set()).update(visible)
    return {
        selector: found
        for selector, found in hiding.items()
        if all(found[1].isdisjoint(shown.get(name, ())) for name in subjects[selector])
    }


def _mark_selected(root: LexborNode, hiding: Mapping[str, _Hiding]) -> int:
    """Mark the elements of selectors that are more than a class or an id; return how many."""
    selected = (
        (selector, trick)
        for selector, (trick, _) in hiding.items()
        if simple_name(selector) is None and is_queryable(selector)
    )
    marked = 0
    for selector, trick in islice(selected, _MAX_LOOKUPS):
        nodes = select_all(root, selector)
        if trick is Trick.SEE_THROUGH and len(nodes) > _MAX_SEE_THROUGH:
            continue
        for node in nodes[: _MAX_MARKED - marked]:
            set_mark(node, HIDDEN_MARK, trick.name if trick else "")
            marked += 1
    return marked

"""By what tricks elements are out of sight: by their styles, the page's rules, a browser's word."""

import re
from functools import lru_cache

from selectolax.lexbor import LexborNode

from cinder.extract.elements import Attributes
from cinder.extract.visibility.declarations import Declared, declarations
from cinder.extract.visibility.hiding_styles import Found, Trick, find_trick
from cinder.extract.visibility.marks import COMPUTED, UNSEEN
from cinder.extract.visibility.style_rules import HidingRules, vanishes

_ANIMATED_CLASS = re.compile(
    r"(?:^|[\s_-])(?:wow|aos|animated?|animation|fade|reveal|motion|elementor-invisible|invisible|"
    r"loading|lazy|js)(?:$|[\s_-])",
    re.IGNORECASE,
)
_ANIMATED_STYLE = ("transform", "transition", "animation", "will-change", "filter", "translate")
_STILL = frozenset(("none", "auto", "initial", "unset"))
_ANIMATED_ATTRIBUTES = ("data-aos", "data-animate", "data-animation", "data-framer-name")
# As honest pages hide, too.
_NO_TRICKS = (Trick.COLLAPSED, Trick.LABEL, Trick.BESIDE)
_SHORT_STYLE = 300
_VANISHED = (Trick.OTHER, frozenset(("animation",)))


def rule_trick(attributes: Attributes, rules: HidingRules) -> Trick | None:
    """Return how the page's rules put an element of these attributes out of sight, if by a trick.

    A name that is not shown at all is no trick.
    """
    if marked := (attributes.get(UNSEEN) or "").removesuffix(COMPUTED):
        return Trick[marked]
    if not rules.tricks:
        return None
    marks = [f".{name}" for name in (attributes.get("class") or "").split()]
    found = (rules.tricks.get(mark) for mark in (f"#{attributes.get('id')}", *marks))
    return next((trick for trick in found if trick is not None), None)


def style_trick(attributes: Attributes, rules: HidingRules) -> Trick | None:
    """Return how an element's own style puts it out of sight, if by a trick."""
    style = attributes.get("style")
    found = read_style(style, rules)[1] if style else None
    return found[0] if found else None


def read_style(style: str, rules: HidingRules) -> tuple[Declared, Found | None]:
    """Return what a style declares, and how that puts text out of sight, if it does."""
    if len(style) <= _SHORT_STYLE and "var(" not in style:
        declared, found = _read_short_style(style)
    else:
        declared = declarations(style, rules.variables)
        found = find_trick(declared)
    if vanishes(declared, rules.vanishing):
        return declared, _VANISHED
    return declared, found


@lru_cache(maxsize=1_024)
def _read_short_style(style: str) -> tuple[Declared, Found | None]:
    # Pages repeat their styles, and a shop's pages those of one another.
    declared = declarations(style)
    return declared, find_trick(declared)


def is_sure(attributes: Attributes) -> bool:
    """Whether a browser has found that all text of an element is out of sight."""
    return (attributes.get(UNSEEN) or "").endswith(COMPUTED)


def is_trick(node: LexborNode, rules: HidingRules) -> bool:
    """Whether text is out of sight in a way that neither a click nor a label accounts for."""
    attributes = node.attributes
    by_style, by_rule = style_trick(attributes, rules), rule_trick(attributes, rules)
    if by_style is not None:
        return by_style is not Trick.COLLAPSED
    return by_rule is not None and by_rule not in _NO_TRICKS


def is_animated(declared: Declared, attributes: Attributes) -> bool:
    """Whether an element is on its way to being shown, by its style, its attributes or its name."""
    if any(declared.get(name, "none") not in _STILL for name in _ANIMATED_STYLE):
        return True
    if any(name in attributes for name in _ANIMATED_ATTRIBUTES):
        return True
    names = attributes.get("class")
    return names is not None and _ANIMATED_CLASS.search(names) is not None

"""Text that a visitor cannot see: told from text that waits for a click, and reported.

An element is judged by its tag and its attributes alone, so that whoever walks a tree can ask.
What a visitor reaches by a click (tabs, accordions, `details`) is content; labels for screen
readers, menus and dialogs are left out without a word; the rest is left out and reported, since
text that only machines read is how pages try to give them orders.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from selectolax.lexbor import LexborNode

from cinder.html.css.declarations import Declarations, read_declarations
from cinder.html.tree import Attributes, Elements, collapse
from cinder.html.visibility.contrast import blends_in, is_mostly_recoloured
from cinder.html.visibility.hiding_rules import HidingRules, vanishes
from cinder.html.visibility.tricks import (
    COMPUTED,
    MARKS,
    UNSEEN,
    Trick,
    TrickMatch,
    find_trick,
    is_not_rendered,
    is_visibility_hidden,
    set_mark,
)
from cinder.html.visible_text import count_words
from cinder.text.invisible_characters import without_invisible_characters

_ANIMATED_CLASS = re.compile(
    r"(?:^|[\s_-])(?:wow|aos|animated?|animation|fade|reveal|motion|elementor-invisible|invisible|"
    r"loading|lazy|js)(?:$|[\s_-])",
    re.IGNORECASE,
)
_ANIMATED_STYLE = ("transform", "transition", "animation", "will-change", "filter", "translate")
_STILL = frozenset(("none", "auto", "initial", "unset"))
_ANIMATED_ATTRIBUTES = ("data-aos", "data-animate", "data-animation", "data-framer-name")
# As honest pages hide, too.
_HONEST_TRICKS = (Trick.COLLAPSED, Trick.LABEL, Trick.BESIDE)
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


def read_style(style: str, rules: HidingRules) -> tuple[Declarations, TrickMatch | None]:
    """Return what a style declares, and how that puts text out of sight, if it does."""
    if len(style) <= _SHORT_STYLE and "var(" not in style:
        declared, found = _read_short_style(style)
    else:
        declared = read_declarations(style, rules.variables)
        found = find_trick(declared)
    if vanishes(declared, rules.vanishing):
        return declared, _VANISHED
    return declared, found


@lru_cache(maxsize=1_024)
def _read_short_style(style: str) -> tuple[Declarations, TrickMatch | None]:
    # Pages repeat their styles, and a shop's pages those of one another.
    declared = read_declarations(style)
    return declared, find_trick(declared)


def is_confirmed_hidden(attributes: Attributes) -> bool:
    """Whether a browser has found that all text of an element is out of sight."""
    return (attributes.get(UNSEEN) or "").endswith(COMPUTED)


def is_trick(node: LexborNode, rules: HidingRules) -> bool:
    """Whether text is out of sight in a way that neither a click nor a label accounts for."""
    attributes = node.attributes
    by_style, by_rule = style_trick(attributes, rules), rule_trick(attributes, rules)
    if by_style is not None:
        return by_style is not Trick.COLLAPSED
    return by_rule is not None and by_rule not in _HONEST_TRICKS


def is_animated(declared: Declarations, attributes: Attributes) -> bool:
    """Whether an element is on its way to being shown, by its style, its attributes or its name."""
    if any(declared.get(name, "none") not in _STILL for name in _ANIMATED_STYLE):
        return True
    if any(name in attributes for name in _ANIMATED_ATTRIBUTES):
        return True
    names = attributes.get("class")
    return names is not None and _ANIMATED_CLASS.search(names) is not None


# Pages hide these until a script has run, and the elements that frameworks draw a page in.
_PAGE_IDS = frozenset(
    ("root", "app", "__next", "__nuxt", "___gatsby", "page", "wrapper", "content")
)
_NEVER_HIDDEN = frozenset(("html", "body", "main", "article"))
_PICTURES = frozenset(("img", "picture", "video", "audio"))
_DOUBTFUL_STYLE = re.compile(
    r"none|hidden|collapse|opacity|font|clip|indent|transparent|color|background|scale|rotate"
    r"|translate|matrix|mask|spacing|zoom|animation|inset|\\|/\*|var\(|calc\(|-\d{3}|\d{3}(?:%|v|px)"
    r"|[:\s][012]?(?:\.\d*)?(?:px|em|%)?\s*(?:[;!]|$)",
    re.IGNORECASE,
)
_REACHABLE_ROLES = frozenset(("tabpanel",))
_REACHABLE_CLASS = re.compile(
    r"(?:^|[\s_-])(?:tab-?pane|tab-?panel|tab-?content|tabs?-?item|tabs|accordion|collapse|collapsed|"
    r"collapsible|faq|expandable|expander|answer|read-?more|more-?text|spoiler|slide|carousel|swiper|toggle-?content)"
    r"(?:$|[\s_-]|__)",
    re.IGNORECASE,
)
_SLIDER_CLASS = re.compile(
    r"(?:^|[\s_-])(?:slides?|sliders?|slideshow|carousel|swiper|slick|splide|glide|owl|flickity"
    r"|track|marquee)(?:$|[\s_-]|__)",
    re.IGNORECASE,
)
_NAMED = frozenset(("class", "id", "style", "color", "size"))
_INLINE_TAGS = frozenset(("a", "b", "br", "em", "font", "i", "small", "span", "strong", "u", "wbr"))
# Menus, forms and dialogs that wait for a click are part of most pages; nobody needs to hear of it.
_ORDINARY_TAGS = frozenset(("nav", "form", "dialog", "menu", "header", "footer", "aside", "select"))
_ORDINARY_PARTS = "input, button, select, textarea, nav, form, iframe, video, [role=dialog]"
# Interfaces hide whole sentences until they are needed; what is put out of sight by a trick, or
# speaks to a machine, is another matter.
_MIN_WORDS = 30
_MIN_TRICKED_WORDS = 5
_SPEAKS_TO_MACHINES = re.compile(
    r"\b(?:instructions?|prompts?|assistants?|chatbots?|language models?|llms?|"
    r"ai (?:agents?|models?))\b",
    re.IGNORECASE,
)
_TELLING_TAGS = ("dialog", "font")
_TELLING_ATTRIBUTES = ("style", "hidden", "popover", "bgcolor")
_SAMPLE_CHARS = 100
_MAX_ANCESTORS = 100
_MAX_COUNTED = 5_000
_MAX_LINKS = 200
_MAX_LOOKED_INTO = 200
_MAX_COLOURED = 3_000
_DOUBTFUL_TRICKS = (Trick.SEE_THROUGH, Trick.COLLAPSED, Trick.BESIDE)
_SURE_TRICKS = (Trick.LABEL, Trick.SHRUNK, Trick.COLOURED, Trick.OTHER)
_NO_RULES = HidingRules()


def is_hidden(tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    """Whether an element of this tag and these attributes is out of a visitor's sight and reach."""
    if tag == "dialog":
        return "open" not in attributes
    if not attributes or tag in _NEVER_HIDDEN:
        return False
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    if "popover" in attributes:
        return True
    style = attributes.get("style")
    if style and _DOUBTFUL_STYLE.search(style) and _style_hides(style, tag, attributes, rules):
        return True
    names = attributes.get("class")
    if UNSEEN in attributes or (names and not rules.classes.isdisjoint(names.split())):
        return _rules_hide(tag, attributes, rules)
    return attributes.get("id") in rules.ids and _rules_hide(tag, attributes, rules)


def find_doubtful(elements: Elements, rules: HidingRules) -> list[int]:
    """Return where elements stand that anything might put out of sight: most have nothing."""
    told = (*_TELLING_ATTRIBUTES, *MARKS) if rules.has_marks else _TELLING_ATTRIBUTES
    places = {*elements.having(*told), *elements.tagged(*_TELLING_TAGS)}
    if not rules.classes.isdisjoint(" ".join(elements.classes).split()):
        hiding = {each for each in elements.classes if not rules.classes.isdisjoint(each.split())}
        places.update(elements.classed(hiding))
    named = elements.having("id") if rules.ids else []
    places.update(place for place in named if elements.attributes(place)["id"] in rules.ids)
    return sorted(places)


def find_hidden(
    nodes: Iterable[LexborNode], root: LexborNode, rules: HidingRules = _NO_RULES
) -> list[LexborNode]:
    """Return the outermost of the elements found hidden below `root`, those that are not the page.

    An element with most of the text waits for a script to show it, whatever its style says.
    """
    found = {
        node.mem_id: node
        for node in nodes
        if not (
            _only_closes_gaps(node, rules)
            or _is_opened_by_a_click(node, rules)
            or _has_colours_within(node, rules)
        )
    }
    found.pop(root.mem_id, None)
    outermost = [node for node in found.values() if not _is_within(node, found)]
    frames = {node.mem_id for node in outermost if _may_frame_a_page(node, rules)}
    limit = len(root.text()) / 2 if frames else 0
    return [node for node in outermost if node.mem_id not in frames or len(node.text()) <= limit]


def find_blending(nodes: Iterable[LexborNode], rules: HidingRules) -> list[LexborNode]:
    """Return, of elements that name a colour, those in the colour of what lies behind them."""
    found = [
        node
        for node in islice(nodes, _MAX_COLOURED)
        if blends_in(node, rules.variables, is_closed=rules.are_all_read)
    ]
    for node in found:
        set_mark(node, UNSEEN, Trick.COLOURED.name)
    return found


def _has_colours_within(node: LexborNode, rules: HidingRules) -> bool:
    attributes = node.attributes
    if is_confirmed_hidden(attributes):
        return False
    if Trick.COLOURED not in (style_trick(attributes, rules), rule_trick(attributes, rules)):
        return False
    return is_mostly_recoloured(node, rules.variables, is_closed=True)


def _may_frame_a_page(node: LexborNode, rules: HidingRules) -> bool:
    # Pages that fade in begin see-through.
    if style_trick(node.attributes, rules) in _SURE_TRICKS:
        return False
    if rule_trick(node.attributes, rules) in _DOUBTFUL_TRICKS:
        return _has_elements(node)
    return node.attributes.get("id") in _PAGE_IDS or node.css_first("main, article, h1") is not None


def _only_closes_gaps(node: LexborNode, rules: HidingRules) -> bool:
    """Whether a font size of nought is there for the white space between its children."""
    attributes = node.attributes
    style = attributes.get("style") or ""
    if "none" in style or "hidden" in style or is_confirmed_hidden(attributes):
        return False
    is_shrunk = Trick.SHRUNK in (rule_trick(attributes, rules), style_trick(attributes, rules))
    return is_shrunk and _has_parts_of_their_own(node)


def _has_parts_of_their_own(node: LexborNode) -> bool:
    """Whether an element holds others that may well have a size or a colour of their own."""
    inside = (inner for inner in node.traverse() if inner.is_element_node)
    return any(
        inner.mem_id != node.mem_id
        and (inner.tag not in _INLINE_TAGS or not _NAMED.isdisjoint(inner.attributes))
        for inner in islice(inside, _MAX_LOOKED_INTO)
    )


def _has_elements(node: LexborNode) -> bool:
    return any(child.is_element_node for child in node.iter())


def _is_opened_by_a_click(node: LexborNode, rules: HidingRules) -> bool:
    trick = style_trick(node.attributes, rules) or rule_trick(node.attributes, rules)
    if trick is Trick.BESIDE and _is_in_a_slider(node):
        return True
    if is_trick(node, rules):
        return False
    if _is_reachable(node.attributes):
        return not _is_mostly_links(node, 0.5)
    return _is_opened_by_a_switch(node)


def _is_opened_by_a_switch(node: LexborNode) -> bool:
    """Whether the element before says that it opens something, and this is prose."""
    before = node.prev
    while before is not None and not before.is_element_node:
        before = before.prev
    if before is None or before.tag in _ORDINARY_TAGS:
        return False
    switch = before if "aria-expanded" in before.attributes else before.css_first("[aria-expanded]")
    return switch is not None and _is_prose(node)


def _is_within(node: LexborNode, found: Mapping[int, LexborNode]) -> bool:
    above = node.parent
    for _ in range(_MAX_ANCESTORS):
        if above is None:
            return False
        if above.mem_id in found:
            return True
        above = above.parent
    return False


def _style_hides(style: str, tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    declared, found = read_style(style, rules)
    if is_not_rendered(declared):
        return True
    if is_visibility_hidden(declared):
        return not is_animated(declared, attributes)
    if found is None:
        return False
    if found[0] is Trick.SEE_THROUGH:
        others = {name: value for name, value in declared.items() if name not in found[1]}
        return not (rules.fades_in or is_animated(others, attributes))
    if found[0] is Trick.COLLAPSED and is_animated(declared, attributes):
        return False
    # What is done to an image's text while it loads says nothing about the image.
    return tag not in _PICTURES


def _rules_hide(tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    """Whether rules that mean an element put it out of sight."""
    trick = rule_trick(attributes, rules)
    if tag in _PICTURES and trick is not None:
        return False
    return trick in _SURE_TRICKS or not is_animated({}, attributes)


def _is_in_a_slider(node: LexborNode) -> bool:
    above: LexborNode | None = node
    for _ in range(3):
        if above is None:
            return False
        if _SLIDER_CLASS.search(above.attributes.get("class") or ""):
            return True
        above = above.parent
    return False


def _is_reachable(attributes: Attributes) -> bool:
    if attributes.get("role") in _REACHABLE_ROLES:
        return True
    names = attributes.get("class")
    return names is not None and _REACHABLE_CLASS.search(names) is not None


@dataclass(slots=True)
class HiddenText:
    """The hidden text of one page that a reader should know of."""

    texts: list[str] = field(default_factory=list)
    _words: dict[str, int] = field(default_factory=dict)
    """Of every text, those too short to tell of by themselves included."""

    def add(self, nodes: Iterable[LexborNode], rules: HidingRules = _NO_RULES) -> None:
        """Take in the text of elements that were found hidden, menus, forms and labels apart."""
        for node in nodes:
            if len(self._words) < _MAX_COUNTED and _is_prose(node):
                text = collapse(without_invisible_characters(node.text(separator=" ")))
                if text not in self._words:
                    self._words[text] = words = count_words(text)
                    if words >= _min_words(node, text, rules):
                        self.texts.append(text)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to tell: nothing, or one sentence with the beginning of the text."""
        if not self.texts:
            return ()
        words = sum(self._words.values())
        sample = self.texts[0][:_SAMPLE_CHARS]
        cut = "…" if len(self.texts[0]) > _SAMPLE_CHARS else ""
        return (
            f"The page holds {words} words that a visitor cannot see; they were left out. "
            f'They begin: "{sample}{cut}"',
        )


def _is_prose(node: LexborNode) -> bool:
    """Whether an element holds text rather than a menu, a form or a dialog."""
    if node.tag in _ORDINARY_TAGS or node.css_first(_ORDINARY_PARTS) is not None:
        return False
    return not _is_mostly_links(node, 0.3)


def _is_mostly_links(node: LexborNode, share: float) -> bool:
    links = node.css("a")
    if not links:
        return False
    linked = sum(len(link.text(separator=" ")) for link in links[:_MAX_LINKS])
    return linked > share * len(node.text(separator=" "))


def _min_words(node: LexborNode, text: str, rules: HidingRules) -> int:
    if is_trick(node, rules) or _SPEAKS_TO_MACHINES.search(text):
        return _MIN_TRICKED_WORDS
    return _MIN_WORDS

"""Text that a visitor cannot see: distinguished from text that waits for a click, and reported.

An element is judged by its tag and its attributes alone, so that any tree walk can ask. Text that a
click shows (tabs, accordions, `details`) is content. Labels for screen readers, menus and dialogs
are left out silently. Other hidden text is left out and reported, because pages use text that only
programs read to give them instructions.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.html.css.declarations import Declarations, read_declarations
from cinder.html.tree import (
    HIDDEN_MARK,
    MARKS,
    Attributes,
    Elements,
    ancestors,
    collapse,
    parse_html,
    previous_element,
    set_mark,
)
from cinder.html.visibility.blank_fonts import is_in_blank_font
from cinder.html.visibility.contrast import blends_in, is_mostly_recoloured
from cinder.html.visibility.hiding_rules import HidingRules, vanishes
from cinder.html.visibility.tricks import (
    Trick,
    TrickMatch,
    find_trick,
    is_not_rendered,
    is_visibility_hidden,
)
from cinder.html.visible_text import count_words
from cinder.html.vocabulary import class_pattern, load_vocabulary
from cinder.models.document import HiddenPart
from cinder.text.invisible_characters import without_invisible_characters

_WORDS = load_vocabulary()["hidden_text"]
_ANIMATED_CLASS = class_pattern("animated_classes")
_ANIMATED_STYLE = ("transform", "transition", "animation", "will-change", "filter", "translate")
_STILL = frozenset(("none", "auto", "initial", "unset"))
_ANIMATED_ATTRIBUTES: tuple[str, ...] = tuple(_WORDS["animated_attributes"])
# Tricks of honest pages too.
_HONEST_TRICKS = (Trick.COLLAPSED, Trick.LABEL, Trick.BESIDE)
_DOUBTFUL_TRICKS = (Trick.SEE_THROUGH, Trick.COLLAPSED, Trick.BESIDE)
_SURE_TRICKS = (Trick.LABEL, Trick.SHRUNK, Trick.COLOURED, Trick.OTHER)
_BLANK = (Trick.SHRUNK, frozenset(("font", "font-family")))
_VANISHED = (Trick.OTHER, frozenset(("animation",)))
_SHORT_STYLE = 300
_MAX_HIDDEN_PARTS = 5_000
# At the end of a mark's value: a browser has confirmed that the element is hidden.
_COMPUTED = "!"

# Pages hide these until a script has run, and the elements in which frameworks draw a page.
_PAGE_IDS = frozenset(_WORDS["page_ids"])
_NEVER_HIDDEN = frozenset(("html", "body", "main", "article"))
_PICTURES = frozenset(("img", "picture", "video", "audio"))
_DOUBTFUL_STYLE = re.compile(
    r"none|hidden|collapse|opacity|font|clip|indent|transparent|color|background|scale|rotate"
    r"|translate|matrix|mask|spacing|zoom|animation|inset|\\|/\*|var\(|calc\(|-\d{3}|\d{3}(?:%|v|px)"
    r"|filter|security|backface|offset|overflow|contain"
    r"|[:\s][012]?(?:\.\d*)?(?:px|em|%)?\s*(?:[;!]|$)"
)
_REACHABLE_CLASS = class_pattern("reachable_classes")
_SLIDER_CLASS = class_pattern("slider_classes")
_NAMED = frozenset(("class", "id", "style", "color", "size"))
_INLINE_TAGS = frozenset(("a", "b", "br", "em", "font", "i", "small", "span", "strong", "u", "wbr"))
# Most pages have hidden menus, forms and dialogs: they are not reported.
_ORDINARY_TAGS = frozenset(("nav", "form", "dialog", "menu", "header", "footer", "aside", "select"))
_ORDINARY_PARTS = "input, button, select, textarea, nav, form, iframe, video, [role=dialog]"
# Interfaces hide whole sentences until they are needed: text that is hidden by a trick, or that
# addresses a program, is reported from fewer words on.
_MIN_WORDS = 30
_MIN_TRICKED_WORDS = 5
_MACHINE_WORDS = re.compile(rf"\b(?:{'|'.join(_WORDS['machine_words'])})\b", re.IGNORECASE)
_MACHINE_ORDERS = re.compile("|".join(_WORDS["machine_orders"]), re.IGNORECASE)
_FOLDED_ORDERS = re.compile(_MACHINE_ORDERS.pattern)
_DOUBTFUL_TAGS = ("dialog", "font")
_DOUBTFUL_ATTRIBUTES = ("style", "hidden", "popover", "bgcolor")
_SAMPLE_CHARS = 100
_MAX_ORDER_CHARS = 2_000_000
_MAX_ANCESTORS = 100
_SLIDER_LEVELS = 2
_MAX_COUNTED = 5_000
_MAX_LINKS = 200
_MAX_CHECKED = 200
_MAX_COLOURED = 3_000
_NO_RULES = HidingRules()


def parse_rendered_page(text: str, hidden: Sequence[HiddenPart]) -> LexborHTMLParser:
    """Parse a page and mark the elements at the positions that a browser found hidden."""
    if not hidden:
        return parse_html(text)
    # No page contains an attribute named after its own digest.
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16)
    name = f"unseen-{digest.hexdigest()}"
    pieces: list[str] = []
    before = 0
    for position, way in hidden[:_MAX_HIDDEN_PARTS]:
        if before <= position <= len(text):
            pieces += (text[before:position], f' {name}="{way}"')
            before = position
    tree = parse_html("".join((*pieces, text[before:])))
    for node in tree.css(f"[{name}]"):
        way = node.attributes.get(name) or ""
        del node.attrs[name]
        set_mark(node, HIDDEN_MARK, f"{way if way in Trick.__members__ else ''}{_COMPUTED}")
    return tree


def is_hidden(tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    """Whether an element of this tag and these attributes is out of sight and reach."""
    if tag == "dialog":
        return "open" not in attributes
    if not attributes or tag in _NEVER_HIDDEN:
        return False
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    if "popover" in attributes:
        return True
    style = attributes.get("style")
    if style and _may_hide(style) and _style_hides(style, tag, attributes, rules):
        return True
    names = attributes.get("class")
    is_selected = (
        HIDDEN_MARK in attributes
        or (names and not rules.classes.isdisjoint(names.split()))
        or attributes.get("id") in rules.ids
    )
    if not is_selected:
        return False
    trick = _rule_trick(attributes, rules)
    if tag in _PICTURES and trick is not None:
        return False
    return trick in _SURE_TRICKS or not _is_animated({}, attributes)


def _may_hide(style: str) -> bool:
    if len(style) <= _SHORT_STYLE:
        return _may_short_style_hide(style)
    return _DOUBTFUL_STYLE.search(style.lower()) is not None


@lru_cache(maxsize=1_024)
def _may_short_style_hide(style: str) -> bool:
    return _DOUBTFUL_STYLE.search(style.lower()) is not None


def _style_hides(style: str, tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    declared, found = _read_style(style, rules)
    if is_not_rendered(declared):
        return True
    if is_visibility_hidden(declared):
        return not _is_animated(declared, attributes)
    if found is None:
        return False
    if found[0] is Trick.SEE_THROUGH:
        others = {name: value for name, value in declared.items() if name not in found[1]}
        return not (rules.fades_in or _is_animated(others, attributes))
    if found[0] is Trick.COLLAPSED and _is_animated(declared, attributes):
        return False
    # Pages hide the alternative text of an image while it loads, not the image.
    return tag not in _PICTURES


def find_doubtful(elements: Elements, rules: HidingRules) -> list[int]:
    """Return the places of elements that may be hidden; most elements cannot be."""
    names = (*_DOUBTFUL_ATTRIBUTES, *MARKS) if rules.has_marks else _DOUBTFUL_ATTRIBUTES
    places = {*elements.having(*names), *elements.tagged(*_DOUBTFUL_TAGS)}
    hiding = {one for one in elements.classes if not rules.classes.isdisjoint(one.split())}
    places.update(elements.classed(hiding))
    named = elements.having("id") if rules.ids else []
    places.update(place for place in named if elements.attributes(place)["id"] in rules.ids)
    return sorted(places)


def find_hidden(
    nodes: Iterable[LexborNode], root: LexborNode, rules: HidingRules = _NO_RULES
) -> list[LexborNode]:
    """Return the outermost hidden elements below `root` that are not the page itself.

    An element with most of the text waits for a script to show it, whatever its style.
    """
    found = {node.mem_id: node for node in nodes if not _is_shown_anyway(node, rules)}
    found.pop(root.mem_id, None)
    outermost = [
        node
        for node in found.values()
        if not any(above.mem_id in found for above in ancestors(node, _MAX_ANCESTORS))
    ]
    frames = {node.mem_id for node in outermost if _may_frame_a_page(node, rules)}
    limit = len(root.text()) / 2 if frames else 0
    return [node for node in outermost if node.mem_id not in frames or len(node.text()) <= limit]


def find_blending(nodes: Iterable[LexborNode], rules: HidingRules) -> list[LexborNode]:
    """Return, of elements that set a colour, those in the colour of their background."""
    found = [
        node
        for node in islice(nodes, _MAX_COLOURED)
        if blends_in(node, rules.variables, is_closed=rules.are_all_read)
    ]
    for node in found:
        set_mark(node, HIDDEN_MARK, Trick.COLOURED.name)
    return found


def _rule_trick(attributes: Attributes, rules: HidingRules) -> Trick | None:
    """Return the trick by which the page's rules hide an element; None if it is not rendered."""
    if marked := (attributes.get(HIDDEN_MARK) or "").removesuffix(_COMPUTED):
        return Trick[marked]
    if not rules.tricks:
        return None
    marks = [f".{name}" for name in (attributes.get("class") or "").split()]
    found = (rules.tricks.get(mark) for mark in (f"#{attributes.get('id')}", *marks))
    return next((trick for trick in found if trick is not None), None)


def _style_trick(attributes: Attributes, rules: HidingRules) -> Trick | None:
    """Return the trick by which an element's own style hides it."""
    style = attributes.get("style")
    found = _read_style(style, rules)[1] if style else None
    return found[0] if found else None


def _read_style(style: str, rules: HidingRules) -> tuple[Declarations, TrickMatch | None]:
    if len(style) <= _SHORT_STYLE and "var(" not in style:
        declared, found = _read_short_style(style)
    else:
        declared = read_declarations(style, rules.variables)
        found = find_trick(declared)
    if vanishes(declared, rules.vanishing):
        found = _VANISHED
    elif found is None and is_in_blank_font(declared, rules.blank_fonts):
        found = _BLANK
    return declared, found


# The pages of a site repeat their styles.
@lru_cache(maxsize=1_024)
def _read_short_style(style: str) -> tuple[Declarations, TrickMatch | None]:
    declared = read_declarations(style)
    return declared, find_trick(declared)


def _is_tricked(node: LexborNode, rules: HidingRules) -> bool:
    """Whether text is hidden in a way that neither a click nor a label explains."""
    by_style, by_rule = _style_trick(node.attributes, rules), _rule_trick(node.attributes, rules)
    if by_style is not None:
        return by_style is not Trick.COLLAPSED
    return by_rule is not None and by_rule not in _HONEST_TRICKS


def _is_animated(declared: Declarations, attributes: Attributes) -> bool:
    """Whether an element is about to be shown, by its style, its attributes or its class."""
    if any(declared.get(name, "none") not in _STILL for name in _ANIMATED_STYLE):
        return True
    if any(name in attributes for name in _ANIMATED_ATTRIBUTES):
        return True
    names = attributes.get("class")
    return names is not None and _ANIMATED_CLASS.search(names) is not None


def _is_shown_anyway(node: LexborNode, rules: HidingRules) -> bool:
    """Whether a hidden element has visible parts, or a click shows it."""
    attributes = node.attributes
    by_style, by_rule = _style_trick(attributes, rules), _rule_trick(attributes, rules)
    if not (attributes.get(HIDDEN_MARK) or "").endswith(_COMPUTED):
        style = attributes.get("style") or ""
        is_rendered = "none" not in style and "hidden" not in style
        # A font size of 0 may only remove the gaps between children.
        if Trick.SHRUNK in (by_style, by_rule) and is_rendered and _has_own_parts(node):
            return True
        is_coloured = Trick.COLOURED in (by_style, by_rule)
        if is_coloured and is_mostly_recoloured(node, rules.variables, is_closed=True):
            return True
    if (by_style or by_rule) is Trick.BESIDE:
        around = (node, *ancestors(node, _SLIDER_LEVELS))
        if any(_SLIDER_CLASS.search(above.attributes.get("class") or "") for above in around):
            return True
    if _is_tricked(node, rules):
        return False
    if attributes.get("role") == "tabpanel" or _REACHABLE_CLASS.search(
        attributes.get("class") or ""
    ):
        return not _is_mostly_links(node, 0.5)
    # Prose that a switch right before it opens.
    before = previous_element(node)
    if before is None or before.tag in _ORDINARY_TAGS:
        return False
    switch = before if "aria-expanded" in before.attributes else before.css_first("[aria-expanded]")
    return switch is not None and _is_prose(node)


def _has_own_parts(node: LexborNode) -> bool:
    """Whether an element contains others that may have a size or a colour of their own."""
    inside = (inner for inner in node.traverse() if inner.is_element_node)
    return any(
        inner.mem_id != node.mem_id
        and (inner.tag not in _INLINE_TAGS or not _NAMED.isdisjoint(inner.attributes))
        for inner in islice(inside, _MAX_CHECKED)
    )


def _may_frame_a_page(node: LexborNode, rules: HidingRules) -> bool:
    # Pages that fade in are transparent at first.
    if _style_trick(node.attributes, rules) in _SURE_TRICKS:
        return False
    if _rule_trick(node.attributes, rules) in _DOUBTFUL_TRICKS:
        return any(child.is_element_node for child in node.iter())
    return node.attributes.get("id") in _PAGE_IDS or node.css_first("main, article, h1") is not None


@dataclass(slots=True)
class HiddenText:
    """The hidden text of one page that is reported."""

    texts: list[str] = field(default_factory=list)
    _words: dict[str, int] = field(default_factory=dict)
    """The words of every text, including those too short to be reported."""

    def add(self, nodes: Iterable[LexborNode], rules: HidingRules = _NO_RULES) -> None:
        """Add the text of hidden elements, except menus, forms and labels."""
        for node in nodes:
            if len(self._words) >= _MAX_COUNTED or not _is_prose(node):
                continue
            text = collapse(without_invisible_characters(node.text(separator=" ")))
            if text not in self._words:
                self._words[text] = words = count_words(text)
                is_suspicious = _is_tricked(node, rules) or _MACHINE_WORDS.search(text)
                if words >= (_MIN_TRICKED_WORDS if is_suspicious else _MIN_WORDS):
                    self.texts.append(text)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Nothing, or one sentence with the beginning of the hidden text."""
        if not self.texts:
            return ()
        words = sum(self._words.values())
        sample = self.texts[0][:_SAMPLE_CHARS]
        cut = "…" if len(self.texts[0]) > _SAMPLE_CHARS else ""
        return (
            f"The page holds {words} words that a visitor cannot see; they were left out. "
            f'They begin: "{sample}{cut}"',
        )


def order_warnings(elements: Elements) -> tuple[str, ...]:
    """Return nothing, or a sentence about an order to programs in text that is out of sight.

    Closed details, text that only a search in the page shows, and descriptions of pictures are
    content; a visitor who does not look for them never sees what they order an agent to do.
    """
    closed = [
        *(
            place
            for place in elements.tagged("details")
            if "open" not in elements.attributes(place)
        ),
        *(
            place
            for place in elements.having("hidden")
            if elements.attributes(place)["hidden"] == "until-found"
        ),
    ]
    descriptions = (elements.attributes(place).get("alt") for place in elements.tagged("img"))
    texts = chain((node.text(separator=" ") for node in elements.nodes(closed)), descriptions)
    # Elements inside each other repeat their text.
    room = _MAX_ORDER_CHARS
    for text in texts:
        shown = collapse((text or "")[:room])
        room -= len(text or "")
        if order := _find_order(shown):
            sample = shown[order.start() : order.start() + _SAMPLE_CHARS]
            return (
                "The page holds an order to AI agents that a visitor cannot see without a click, a "
                f'search or a screen reader; it was kept. It begins: "{sample}"',
            )
        if room <= 0:
            break
    return ()


def _find_order(text: str) -> re.Match[str] | None:
    """Return where an order to programs begins."""
    # Few texts hold one; a search that minds the case takes a third of the time. One that does not
    # takes all of these letters for an i.
    folded = text.replace("\u0130", "i").replace("\u0131", "i").casefold()
    return _MACHINE_ORDERS.search(text) if _FOLDED_ORDERS.search(folded) else None


def _is_prose(node: LexborNode) -> bool:
    """Whether an element contains text rather than a menu, a form or a dialog."""
    if node.tag in _ORDINARY_TAGS or node.css_first(_ORDINARY_PARTS) is not None:
        return False
    return not _is_mostly_links(node, 0.3)


def _is_mostly_links(node: LexborNode, share: float) -> bool:
    links = node.css("a")
    if not links:
        return False
    linked = sum(len(link.text(separator=" ")) for link in links[:_MAX_LINKS])
    return linked > share * len(node.text(separator=" "))

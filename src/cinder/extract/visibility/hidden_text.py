"""Text that a visitor cannot see: tells it from text that waits for a click, and reports it.

An element is judged by its tag and its attributes alone, so that whoever walks a tree can ask.
What a visitor reaches by a click (tabs, accordions, `details`) is content; labels for screen
readers, menus and dialogs are left out without a word; the rest is left out and reported, since
text that only machines read is how pages try to give them orders.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from cinder.extract.html_tree import collapse
from cinder.extract.invisible_characters import without_invisible_characters
from cinder.extract.visibility.style_rules import HidingRules
from cinder.extract.visible_text import count_words

Attributes = Mapping[str, str | None]

# Pages hide these until a script has run, and the elements that frameworks draw a page in.
_PAGE_IDS = frozenset(
    ("root", "app", "__next", "__nuxt", "___gatsby", "page", "wrapper", "content")
)
_NEVER_HIDDEN = frozenset(("html", "body", "main", "article"))
_PICTURES = frozenset(("img", "picture", "video", "audio"))
_MAX_STYLE = 2_000
_DOUBTFUL_STYLE = re.compile(
    r"none|hidden|opacity|font-size|clip|indent|transparent|color|-\d{3}|[:\s][01](?:px)?\s*(?:;|$)",
    re.IGNORECASE,
)
_DECLARATION = re.compile(r"(?:^|;)\s*([a-z-]{2,30})\s*:\s*([^;]{1,200})")
_NOTHING = re.compile(r"0*\.?0*(?:px|em|rem|%|pt|vh|vw)?")
_SMALL = re.compile(r"[01](?:px)?")
_FAR_AWAY = re.compile(r"-\d{3,}(?:\.\d+)?(?:px|em|rem|%|vw|vh|pt)?")
_CLIPPED = re.compile(r"rect\((?:\s*[01](?:px)?[\s,]*){4}\)|inset\(\s*(?:50|100)%\s*\)")
_SEE_THROUGH = re.compile(r"transparent|rgba\([^)]*,\s*0(?:\.0+)?\s*\)")
_REACHABLE_ROLES = frozenset(("tabpanel",))
_REACHABLE_CLASS = re.compile(
    r"(?:^|[\s_-])(?:tab-?pane|tab-?panel|tab-?content|tabs?-?item|tabs|accordion|collapse|collapsed|"
    r"collapsible|faq|expandable|expander|answer|read-?more|more-?text|spoiler|slide|carousel|swiper|toggle-?content)"
    r"(?:$|[\s_-]|__)",
    re.IGNORECASE,
)
_ANIMATED_CLASS = re.compile(
    r"(?:^|[\s_-])(?:wow|aos|animated?|animation|fade|reveal|motion|elementor-invisible|invisible|"
    r"loading|lazy|js)(?:$|[\s_-])",
    re.IGNORECASE,
)
_ANIMATED_STYLE = ("transform", "transition", "animation", "will-change", "filter", "translate")
_ANIMATED_ATTRIBUTES = ("data-aos", "data-animate", "data-animation", "data-framer-name")
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
_SAMPLE_CHARS = 100
_MAX_ANCESTORS = 100
_MAX_REPORTED = 200
_MAX_LINKS = 200


def is_hidden(tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    """Whether an element of this tag and these attributes is out of a visitor's sight and reach."""
    if tag == "dialog":
        return "open" not in attributes
    if not attributes or tag in _NEVER_HIDDEN:
        return False
    if "hidden" in attributes:
        return attributes["hidden"] != "until-found"
    style = attributes.get("style")
    if style and _DOUBTFUL_STYLE.search(style) and _style_hides(style, tag, attributes, rules):
        return True
    names = attributes.get("class")
    if (names and not rules.classes.isdisjoint(names.split())) or attributes.get("id") in rules.ids:
        return not _is_animated({}, attributes)
    return False


def find_hidden(nodes: Iterable[LexborNode], root: LexborNode) -> list[LexborNode]:
    """Return the outermost of the elements found hidden below `root`, those that are not the page.

    An element with most of the text waits for a script to show it, whatever its style says.
    """
    found = {
        node.mem_id: node
        for node in nodes
        if not (_only_closes_gaps(node) or _is_opened_by_a_click(node))
    }
    found.pop(root.mem_id, None)
    outermost = [node for node in found.values() if not _is_within(node, found)]
    frames = {node.mem_id for node in outermost if _may_frame_a_page(node)}
    limit = len(root.text()) / 2 if frames else 0
    return [node for node in outermost if node.mem_id not in frames or len(node.text()) <= limit]


def _may_frame_a_page(node: LexborNode) -> bool:
    # Pages that fade in begin see-through.
    if _is_tricked_away(_declarations(node.attributes.get("style") or "")):
        return False
    return node.attributes.get("id") in _PAGE_IDS or node.css_first("main, article, h1") is not None


def _only_closes_gaps(node: LexborNode) -> bool:
    """Whether a font size of nought is there for the white space between its children."""
    style = node.attributes.get("style")
    if style is None or "font-size" not in style or "none" in style or "hidden" in style:
        return False
    return any(child.is_element_node for child in node.iter())


def _is_opened_by_a_click(node: LexborNode) -> bool:
    if _is_trick(node):
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


def _declarations(style: str) -> dict[str, str]:
    found = _DECLARATION.findall(style[:_MAX_STYLE].lower().replace("!important", ""))
    return {name: value.strip() for name, value in found}


def _style_hides(style: str, tag: str | None, attributes: Attributes, rules: HidingRules) -> bool:
    declared = _declarations(style)
    if declared.get("display") == "none":
        return True
    is_see_through = _is_nothing(declared.get("opacity")) and not rules.fades_in
    if declared.get("visibility") == "hidden" or is_see_through:
        return not _is_animated(declared, attributes)
    # What is done to an image's text while it loads says nothing about the image.
    return tag not in _PICTURES and _is_tricked_away(declared)


def _is_tricked_away(declared: dict[str, str]) -> bool:
    is_placed = declared.get("position") in ("absolute", "fixed")
    if is_placed and any(_is_far(declared.get(side)) for side in ("left", "top", "right")):
        return True
    if _is_far(declared.get("text-indent")):
        return True
    if is_placed and _CLIPPED.match(declared.get("clip") or declared.get("clip-path") or ""):
        return True
    if _is_small(declared.get("width")) and _is_small(declared.get("height")):
        return declared.get("overflow") == "hidden"
    return _is_nothing(declared.get("font-size")) or _is_unreadable(declared)


def _is_unreadable(declared: dict[str, str]) -> bool:
    colour = declared.get("color")
    if not colour or "background-clip" in declared or "-webkit-background-clip" in declared:
        return False
    background = declared.get("background-color") or declared.get("background")
    return _plain_colour(colour) == _plain_colour(background or "") or bool(
        _SEE_THROUGH.fullmatch(colour)
    )


def _plain_colour(value: str) -> str:
    value = {"white": "#fff", "black": "#000"}.get(value, value.replace(" ", ""))
    if re.fullmatch(r"#([0-9a-f])\1([0-9a-f])\2([0-9a-f])\3", value):
        return f"#{value[1]}{value[3]}{value[5]}"
    return value


def _is_far(value: str | None) -> bool:
    return value is not None and _FAR_AWAY.fullmatch(value) is not None


def _is_small(value: str | None) -> bool:
    return value is not None and _SMALL.fullmatch(value) is not None


def _is_nothing(value: str | None) -> bool:
    return value is not None and _NOTHING.fullmatch(value) is not None


def _is_reachable(attributes: Attributes) -> bool:
    if attributes.get("role") in _REACHABLE_ROLES:
        return True
    names = attributes.get("class")
    return names is not None and _REACHABLE_CLASS.search(names) is not None


def _is_animated(declared: dict[str, str], attributes: Attributes) -> bool:
    if any(name in declared for name in _ANIMATED_STYLE):
        return True
    if any(name in attributes for name in _ANIMATED_ATTRIBUTES):
        return True
    names = attributes.get("class")
    return names is not None and _ANIMATED_CLASS.search(names) is not None


@dataclass(slots=True)
class HiddenText:
    """The hidden text of one page that a reader should know of."""

    texts: list[str] = field(default_factory=list)

    def add(self, nodes: Iterable[LexborNode]) -> None:
        """Take in the text of elements that were found hidden, menus, forms and labels apart."""
        for node in nodes:
            if len(self.texts) < _MAX_REPORTED and _is_prose(node):
                text = collapse(without_invisible_characters(node.text(separator=" ")))
                if count_words(text) >= _min_words(node, text) and text not in self.texts:
                    self.texts.append(text)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to tell: nothing, or one sentence with the beginning of the text."""
        if not self.texts:
            return ()
        words = sum(map(count_words, self.texts))
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


def _is_trick(node: LexborNode) -> bool:
    declared = _declarations(node.attributes.get("style") or "")
    return _is_nothing(declared.get("opacity")) or _is_tricked_away(declared)


def _min_words(node: LexborNode, text: str) -> int:
    if _is_trick(node) or _SPEAKS_TO_MACHINES.search(text):
        return _MIN_TRICKED_WORDS
    return _MIN_WORDS

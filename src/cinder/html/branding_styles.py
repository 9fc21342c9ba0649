"""Styles that branding is read from: computed by a browser, or by the cascade of style sheets.

They come from a browser, which has computed them, or from the page's style sheets, of which the
rules are matched here. Either way the result has one shape.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.html.css.selectors import CssElement, CssSelector, Specificity, parse_selector
from cinder.html.css.sheet import CssRule, Declaration, parse_declarations, parse_stylesheet
from cinder.models.document import (
    BRAND_ROLES,
    BRAND_STYLES,
    BUTTON,
    BUTTONS,
    INHERITED_STYLES,
    MAX_BUTTONS,
    Json,
)


class SourcedValue(NamedTuple):
    """A property's value, and where it came from."""

    value: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StyledElement:
    """An element with those of its styles that a brand shows in."""

    role: str
    name: str
    styles: Mapping[str, SourcedValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class BrandStyles:
    """All that is known of how a page looks."""

    is_computed: bool
    elements: tuple[StyledElement, ...] = ()
    custom_properties: Mapping[str, str] = field(default_factory=dict)
    colours: Mapping[str, int] = field(default_factory=dict)
    """How often each colour is used, as CSS writes it."""
    spaces: Mapping[int, int] = field(default_factory=dict)
    """How often each distance is used, in pixels."""

    def of(self, role: str, name: str) -> SourcedValue | None:
        """Return a property of the first element in a role."""
        element = next((e for e in self.elements if e.role == role), None)
        return element.styles.get(name) if element else None

    def all_of(self, role: str) -> list[StyledElement]:
        """Return every element in a role."""
        return [element for element in self.elements if element.role == role]

    def say(self, kind: str) -> str:
        """Return the source of what was counted over the whole page."""
        return f"{'computed' if self.is_computed else 'css'}:{kind}"


def count_spaces(values: Mapping[str, int]) -> dict[int, int]:
    """Return how often each whole number of pixels stands in the values of paddings and margins."""
    counts: Counter[int] = Counter()
    for value, count in values.items():
        for word in value.split()[:4]:
            pixels = to_pixels(word)
            if pixels is not None and 0 < pixels <= 200 and pixels == int(pixels):
                counts[int(pixels)] += count
    return dict(counts)


def to_pixels(value: str) -> float | None:
    """Return a length in pixels, a `rem` being 16; None for what depends on more."""
    for unit, size in (("px", 1), ("rem", 16), ("pt", 4 / 3)):
        if value.endswith(unit):
            try:
                return round(float(value.removesuffix(unit)) * size, 2)
            except ValueError:
                return None
    return None


_MAX_SAMPLED_ELEMENTS = 50
_MAX_SAMPLED_ITEMS = 1_000
_MAX_SAMPLED_CHARS = 500


def styles_from_browser(samples: Mapping[str, Json]) -> BrandStyles:
    """Return how a page looks; what of the samples has another shape than theirs is left out."""
    elements = samples.get("elements")
    return BrandStyles(
        is_computed=True,
        elements=tuple(
            element
            for item in (elements if isinstance(elements, list) else [])[:_MAX_SAMPLED_ELEMENTS]
            if (element := _sampled_element(item)) is not None
        ),
        custom_properties=_texts(samples.get("properties")),
        colours=_counts(samples.get("colours")),
        spaces=count_spaces(_counts(samples.get("spaces"))),
    )


def _sampled_element(item: Json) -> StyledElement | None:
    if not isinstance(item, dict):
        return None
    role, name = item.get("role"), item.get("name")
    if role not in (*BRAND_ROLES, BUTTON) or not isinstance(name, str):
        return None
    styles = _texts(item.get("styles"))
    source = f"computed:{name[:80]}"
    known = {
        key: SourcedValue(value, source) for key, value in styles.items() if key in BRAND_STYLES
    }
    canvas = styles.get("canvas")
    if canvas:
        # The element itself is transparent: what is seen is what lies under it.
        known["background-color"] = SourcedValue(canvas, "computed:canvas")
    return StyledElement(role=str(role), name=name[:80], styles=known)


def _texts(value: Json) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    pairs = list(value.items())[:_MAX_SAMPLED_ITEMS]
    return {
        k[:_MAX_SAMPLED_CHARS]: v[:_MAX_SAMPLED_CHARS] for k, v in pairs if isinstance(v, str) and v
    }


def _counts(value: Json) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    pairs = list(value.items())[:_MAX_SAMPLED_ITEMS]
    return {
        k[:_MAX_SAMPLED_CHARS]: int(v) for k, v in pairs if isinstance(v, int) and 0 < v < 10**9
    }


_MAX_STYLE_ELEMENTS = 50
_MAX_TOTAL_SHEET_CHARS = 4_000_000
# Of one rule, and of all.
_MAX_SELECTORS = 50
_MAX_SELECTORS_TRIED = 200_000
_MAX_COUNTED = 1_000
_MAX_PROPERTIES = 1_000
_MAX_RESOLVED_CHARS = 2_000
_MAX_VARIABLES = 20

_VARIABLE = re.compile(r"var\(\s*(--[\w-]{1,100})\s*(?:,([^()]{0,200}))?\)")
_FONT = re.compile(r"(?:^|\s)([\d.]+(?:px|rem|em|pt|%))(?:/([\d.]+[a-z%]*))?\s+(\S.*)")
_FONT_WEIGHT = re.compile(r"(?:^|\s)([1-9]00|bold|normal)\s")
_SPACE_NAMES = re.compile(r"(?:padding|margin)(?:-[a-z]+)*|(?:row-|column-)?gap")
_COLOUR_NAMES = re.compile(r"color|background(?:-color)?|border(?:-[a-z]+)?-color|fill|stroke")
# Where themes put what the whole page uses.
_GLOBAL_SELECTORS = (":root", "html", "body", ":host", "*")

_Rank = tuple[bool, Specificity, int]
_INLINE: Specificity = (1_000, 0, 0)


@dataclass(slots=True)
class _Target:
    """An element that is being styled."""

    role: str
    element: CssElement
    best: dict[str, tuple[_Rank, SourcedValue]] = field(default_factory=dict)

    def take(self, declaration: Declaration, source: str, rank: _Rank) -> None:
        for name, value in _expand(declaration):
            held = self.best.get(name)
            if name in BRAND_STYLES and (held is None or held[0] <= rank):
                self.best[name] = (rank, SourcedValue(value, source))


def styles_from_css(tree: LexborHTMLParser, sheets: Iterable[str]) -> BrandStyles:
    """Return how a page looks by its own style sheets and `sheets`, which it links to."""
    own = (node.text() or "" for node in tree.css("style")[:_MAX_STYLE_ELEMENTS])
    rules = _rules((*sheets, *own))
    targets = list(_find_targets(tree))
    _apply(rules, targets)
    properties = _global_properties(rules)
    declarations = [declaration for rule in rules for declaration in rule.declarations]
    return BrandStyles(
        is_computed=False,
        elements=tuple(_styled(target, targets, properties) for target in targets),
        custom_properties={
            name: resolve_variables(value, properties) for name, value in properties.items()
        },
        colours=_count_values(declarations, _COLOUR_NAMES, properties),
        spaces=count_spaces(_count_values(declarations, _SPACE_NAMES, properties)),
    )


def _rules(sheets: Iterable[str]) -> list[CssRule]:
    rules: list[CssRule] = []
    room = _MAX_TOTAL_SHEET_CHARS
    for sheet in sheets:
        rules += parse_stylesheet(sheet[:room])
        room = max(0, room - len(sheet))
    return rules


def resolve_variables(value: str, properties: Mapping[str, str]) -> str:
    """Return a value with its `var()`s replaced, as far as they are known."""
    for _ in range(_MAX_VARIABLES):
        found = _VARIABLE.search(value)
        if found is None or len(value) > _MAX_RESOLVED_CHARS:
            break
        put = properties.get(found[1], found[2] or "").strip()
        value = value[: found.start()] + put + value[found.end() :]
    return value.strip()


def _find_targets(tree: LexborHTMLParser) -> Iterator[_Target]:
    for role, selectors in BRAND_ROLES.items():
        found = (tree.css_first(selector) for selector in selectors)
        if (node := next(filter(None, found), None)) is not None:
            yield _target(role, node)
    for node in tree.css(BUTTONS)[:MAX_BUTTONS]:
        yield _target(BUTTON, node)


def _target(role: str, node: LexborNode) -> _Target:
    target = _Target(role, CssElement.of(node))
    for declaration in parse_declarations(node.attributes.get("style") or ""):
        rank = (declaration.is_important, _INLINE, 0)
        target.take(declaration, f"style:{target.element.name}", rank)
    return target


def _apply(rules: Sequence[CssRule], targets: Sequence[_Target]) -> None:
    tried = 0
    for order, rule in enumerate(rules):
        wanted = [d for d in rule.declarations if any(n in BRAND_STYLES for n, _ in _expand(d))]
        if not wanted or tried > _MAX_SELECTORS_TRIED:
            continue
        tried += len(rule.selectors)
        for text in rule.selectors[:_MAX_SELECTORS]:
            if (selector := parse_selector(text)) is not None:
                _style(selector, wanted, order, targets)


def _style(
    selector: CssSelector, declarations: list[Declaration], order: int, targets: Sequence[_Target]
) -> None:
    for target in targets:
        if selector.matches(target.element):
            for declaration in declarations:
                rank = (declaration.is_important, selector.specificity, order)
                target.take(declaration, f"css:{selector.text}", rank)


def _expand(declaration: Declaration) -> Iterator[tuple[str, str]]:
    """Yield the properties that a declaration sets; a shorthand sets several."""
    name, value = declaration.name, declaration.value
    if name == "background":
        yield "background-color", value
    elif name == "border":
        yield "border-color", value
    elif name == "font" and (found := _FONT.search(value[:500])):
        yield "font-size", found[1]
        yield "font-family", found[3]
        if weight := _FONT_WEIGHT.search(value[: found.start(1)]):
            yield "font-weight", weight[1]
        if found[2]:
            yield "line-height", found[2]
    else:
        yield name, value


def _styled(
    target: _Target, targets: Sequence[_Target], properties: Mapping[str, str]
) -> StyledElement:
    """Return an element with its styles, and with those that it inherits from the page."""
    merged: dict[str, SourcedValue] = {}
    for other in targets:
        if other.role in ("html", "body"):
            merged |= {n: s for n, (_, s) in other.best.items() if n in INHERITED_STYLES}
    merged |= {name: styled for name, (_, styled) in target.best.items()}
    return StyledElement(
        role=target.role,
        name=target.element.name,
        styles={
            name: SourcedValue(value, styled.source)
            for name, styled in merged.items()
            if (value := resolve_variables(styled.value, properties))
        },
    )


def _global_properties(rules: Iterable[CssRule]) -> dict[str, str]:
    found: dict[str, str] = {}
    for rule in rules:
        if any(selector in _GLOBAL_SELECTORS for selector in rule.selectors):
            found |= {d.name: d.value for d in rule.declarations if d.name.startswith("--")}
            if len(found) > _MAX_PROPERTIES:
                break
    return found


def _count_values(
    declarations: Iterable[Declaration], names: re.Pattern[str], properties: Mapping[str, str]
) -> dict[str, int]:
    """Return how often each value is given to the properties of these names."""
    written = Counter(d.value for d in declarations if names.fullmatch(d.name))
    counts: Counter[str] = Counter()
    for value, count in written.most_common(_MAX_COUNTED):
        counts[resolve_variables(value, properties)] += count
    return dict(counts)

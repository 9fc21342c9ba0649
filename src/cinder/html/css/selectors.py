"""CSS selectors: validated, split, ranked, and matched against single elements.

Whole pages are queried with lexbor. Branding matches thousands of selectors against a few elements;
parsing each selector once is much faster there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

MAX_SELECTOR_CHARS = 200
_MAX_QUERYABLE_CHARS = 300
_MAX_ANCESTORS = 64

Specificity = tuple[int, int, int]

_SIMPLE = re.compile(r"[a-zA-Z0-9]{0,20}([.#][\w-]{1,100})")
_NO_COMBINATORS = str.maketrans("", "", ">~+ ")
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_ANY_COMBINATOR = re.compile(r"\s*[>+~]\s*|\s+")
_NAME = re.compile(r"[.#\[][\w-]{1,100}")
_NAME_OR_TAG = re.compile(rf"{_NAME.pattern}|(?<![\w.#-])(?:[\w-]+|\*(?![\w-]))")
_TAG = re.compile(r"[a-zA-Z][\w-]{0,50}")
_BARE = re.compile(r"[a-zA-Z][\w-]{0,50}|\*")
# Independent of what a visitor does; others (`:hover`, `::before`) are states or other boxes.
_PSEUDO = re.compile(r"::?[\w-]+")
_STATELESS_PSEUDO_CLASSES = frozenset(
    (
        *(":not", ":is", ":where", ":has", ":root", ":empty", ":first-child", ":last-child"),
        *(":only-child", ":first-of-type", ":last-of-type", ":only-of-type", ":nth-child"),
        *(":nth-last-child", ":nth-of-type", ":nth-last-of-type", ":any-link", ":link"),
    )
)
_OUTERMOST = re.compile(r"(?:(?:html|body|:root)\s+)*(?:html|body|:root|\*)?", re.IGNORECASE)
_SPECIFICITY = tuple(map(re.compile, (r"#", r"[.\[:]", r"(?:^|[\s>+~(])[a-zA-Z]")))
_COMPOUND = re.compile(
    r"(\*|[a-zA-Z][\w-]{0,60})?((?:[.#][\w-]{1,100}|\[[\w-]{1,40}(?:=[\"']?[\w-]{1,60}[\"']?)?\]"
    r"|:root|:link|:any-link)*)"
)
_COMPOUND_PART = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:=[\"']?([\w-]+))?|:([\w-]+)")
_KNOWN_COMBINATORS = re.compile(r"\s*(>)\s*|\s+")


def is_valid_selector(selector: str) -> bool:
    """Whether elements can be selected with this selector."""
    try:
        LexborHTMLParser("<p>").css(selector)
    except SelectolaxError:
        return False
    return True


def select_all(root: LexborNode, selector: str) -> list[LexborNode]:
    """Return the elements that a selector matches; none if it is invalid."""
    try:
        return root.css(selector)
    except SelectolaxError:
        return []


def split_selectors(selectors: str) -> Iterator[str]:
    """Yield the selectors of a comma-separated list, stripped."""
    if "(" not in selectors and "[" not in selectors:
        yield from map(str.strip, selectors.split(","))
        return
    depth = start = 0
    for mark in re.finditer(r"[(\[)\],]", selectors):
        if mark[0] in "([":
            depth += 1
        elif mark[0] in ")]":
            depth -= 1
        elif depth <= 0:
            yield selectors[start : mark.start()].strip()
            start = mark.end()
    yield selectors[start:].strip()


def simple_name(selector: str) -> str | None:
    """Return `.class` or `#id` if the selector consists of nothing else, apart from a tag."""
    found = _SIMPLE.fullmatch(selector)
    return found[1] if found else None


def is_queryable(selector: str) -> bool:
    """Whether a selector matches some elements, and the same ones whatever a visitor does."""
    if not 0 < len(selector) <= _MAX_QUERYABLE_CHARS or _OUTERMOST.fullmatch(selector):
        return False
    if ":" not in selector:
        return True
    return all(found.lower() in _STATELESS_PSEUDO_CLASSES for found in _PSEUDO.findall(selector))


def specificity(selector: str) -> Specificity:
    """Return the specificity of a selector: how many ids, classes and tags it contains."""
    ids, classes, tags = (len(pattern.findall(selector)) for pattern in _SPECIFICITY)
    return ids, classes, tags


def subject_names(selector: str) -> frozenset[str]:
    """Return the classes, ids and attributes of a selector's last part, or else its tag."""
    bare = _BRACKETED.sub(
        lambda found: "" if found[0][0] == "(" else found[0].translate(_NO_COMBINATORS), selector
    )
    subject = _ANY_COMBINATOR.split(bare.strip())[-1]
    if names := _NAME.findall(subject):
        return frozenset(names)
    tag = _TAG.match(subject)
    return frozenset((tag[0].lower() if tag else "*",))


class SelectorNames:
    """Finds some names and tags in selectors."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        # `*` is the subject of selectors whose last part is only a state.
        tags = frozenset(name for name in names if name[0] not in ".#[")
        self._marked = names - tags
        # An attribute may have the name of a tag.
        self._tags = tags.union(f"[{tag}" for tag in tags)

    def names_in(self, selectors: str) -> set[str]:
        """Return the names in selectors, and the tags that are the subject of one.

        A selector that is only a tag overrides no other rule, so it is not counted.
        """
        parts = _NAME_OR_TAG.findall(selectors)
        found = self._marked.intersection(parts)
        if self._tags.isdisjoint(parts):
            return set(found)
        for selector in split_selectors(selectors):
            if not _BARE.fullmatch(selector):
                found |= self._names & subject_names(selector)
        return set(found)


@dataclass(frozen=True, slots=True)
class CssElement:
    """The parts of an element, and of its ancestors, that selectors match."""

    tag: str
    id: str = ""
    classes: frozenset[str] = frozenset()
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    parent: "CssElement | None" = None

    @classmethod
    def of(cls, node: LexborNode) -> "CssElement":
        """Return an element of a page, with its ancestors."""
        chain = [node]
        while len(chain) < _MAX_ANCESTORS and (parent := chain[-1].parent) is not None:
            chain.append(parent)
        element: CssElement | None = None
        for ancestor in reversed(chain):
            if ancestor.is_element_node:
                attributes = ancestor.attributes
                classes = frozenset((attributes.get("class") or "")[:2_000].split())
                tag, identifier = (ancestor.tag or "").lower(), attributes.get("id") or ""
                element = cls(tag, identifier, classes, attributes, element)
        return element or cls("")

    @property
    def name(self) -> str:
        """A short selector for the element."""
        marks = [f"#{self.id}"] if self.id else [f".{name}" for name in sorted(self.classes)[:2]]
        return f"{self.tag}{''.join(marks)}"[:80]


@dataclass(frozen=True, slots=True)
class _Compound:
    tag: str
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    attributes: tuple[tuple[str, str | None], ...]
    is_root: bool
    is_link: bool

    def matches(self, element: CssElement) -> bool:
        return (
            self.tag in ("", element.tag)
            and all(name == element.id for name in self.ids)
            and element.classes.issuperset(self.classes)
            and all(
                name in element.attributes and value in (None, element.attributes[name])
                for name, value in self.attributes
            )
            and (not self.is_root or element.tag == "html")
            and (not self.is_link or "href" in element.attributes)
        )


@dataclass(frozen=True, slots=True)
class CssSelector:
    """A parsed selector."""

    text: str
    compounds: tuple[_Compound, ...]
    is_child: tuple[bool, ...]
    """For each compound but the first, whether the one before must be its parent."""
    specificity: Specificity

    def matches(self, element: CssElement) -> bool:
        """Whether the selector matches an element."""
        *others, last = self.compounds
        if not last.matches(element):
            return False
        current: CssElement | None = element
        for compound, must_be_parent in zip(reversed(others), reversed(self.is_child), strict=True):
            current = current.parent if current else None
            while current is not None and not must_be_parent and not compound.matches(current):
                current = current.parent
            if current is None or not compound.matches(current):
                return False
        return True


@lru_cache(maxsize=4_096)
def parse_selector(text: str) -> CssSelector | None:
    """Return a parsed selector; None if it uses states, siblings or functions."""
    if len(text) > MAX_SELECTOR_CHARS or "+" in text or "~" in text:
        return None
    pieces = _KNOWN_COMBINATORS.split(text.strip())
    compounds: list[_Compound] = []
    for piece in pieces[::2]:
        found = _COMPOUND.fullmatch(piece or "")
        if not piece or found is None:
            return None
        marks: dict[str, list[str]] = {"#": [], ".": [], ":": []}
        attributes: list[tuple[str, str | None]] = []
        for mark, name, attribute, value, state in _COMPOUND_PART.findall(found[2] or ""):
            if attribute:
                attributes.append((attribute.lower(), value or None))
            else:
                marks[mark or ":"].append(name or state)
        compounds.append(
            _Compound(
                tag="" if found[1] in (None, "*") else found[1].lower(),
                ids=tuple(marks["#"]),
                classes=tuple(marks["."]),
                attributes=tuple(attributes),
                is_root="root" in marks[":"],
                is_link="link" in marks[":"] or "any-link" in marks[":"],
            )
        )
    children = tuple(mark == ">" for mark in pieces[1::2])
    return CssSelector(text, tuple(compounds), children, specificity(text))

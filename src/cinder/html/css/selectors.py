"""Selectors of CSS: validated, split, and matched against the elements of a page.

A selector that says more than this knows, by states, siblings or functions, matches nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError


def is_valid_selector(selector: str) -> bool:
    """Whether a selector is one that elements can be chosen by."""
    try:
        LexborHTMLParser("<p>").css(selector)
    except SelectolaxError:
        return False
    return True


_MAX_QUERYABLE_CHARS = 300
_SIMPLE = re.compile(r"[a-zA-Z0-9]{0,20}([.#][\w-]{1,100})")
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_ANY_COMBINATOR = re.compile(r"\s*[>+~]\s*|\s+")
_NAME = re.compile(r"[.#\[][\w-]{1,100}")
_TAG = re.compile(r"[a-zA-Z][\w-]{0,50}")
_BARE = re.compile(r"[a-zA-Z][\w-]{0,50}|\*")
# What is so whatever a visitor does; all else (`:hover`, `::before`) is a state or another thing.
_PSEUDO = re.compile(r"::?[\w-]+")
_STATELESS_PSEUDO_CLASSES = frozenset(
    (
        *(":not", ":is", ":where", ":has", ":root", ":empty", ":first-child", ":last-child"),
        *(":only-child", ":first-of-type", ":last-of-type", ":only-of-type", ":nth-child"),
        *(":nth-last-child", ":nth-of-type", ":nth-last-of-type", ":any-link", ":link"),
    )
)
_OUTERMOST = re.compile(r"(?:(?:html|body|:root)\s+)*(?:html|body|:root|\*)?", re.IGNORECASE)


def split_selectors(selectors: str) -> Iterator[str]:
    """Yield the selectors of a list, each without white space around it."""
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
    """Return the class or the id, with its mark, that a selector is all of."""
    found = _SIMPLE.fullmatch(selector)
    return found[1] if found else None


def is_queryable(selector: str) -> bool:
    """Whether a selector means the same elements whatever a visitor does, and not all of them."""
    if not 0 < len(selector) <= _MAX_QUERYABLE_CHARS or _OUTERMOST.fullmatch(selector):
        return False
    if ":" not in selector:
        return True
    return all(found.lower() in _STATELESS_PSEUDO_CLASSES for found in _PSEUDO.findall(selector))


def subject_names(selector: str) -> frozenset[str]:
    """Return what names the elements that a selector means: classes, ids, attributes, or a tag."""
    bare = _BRACKETED.sub(_without_inside, selector)
    subject = _ANY_COMBINATOR.split(bare.strip())[-1]
    if names := _NAME.findall(subject):
        return frozenset(names)
    tag = _TAG.match(subject)
    return frozenset((tag[0].lower() if tag else "*",))


class SelectorNames:
    """Tells which of some names, and of some tags, selectors speak of."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        tags = sorted(name for name in names if name[0] not in ".#[")
        # A star is the subject of selectors that end in a state alone.
        self._tags = re.compile(rf"(?<![\w.#-])(?:{'|'.join(map(re.escape, tags))})(?![\w-])")
        self._has_tags = bool(tags)

    def names_in(self, selectors: str) -> set[str]:
        """Return the names that selectors hold, and the tags that they mean without a name.

        A rule for all elements of a tag, whatever they are called, takes back no other rule.
        """
        found = self._names.intersection(_NAME.findall(selectors))
        if not self._has_tags or not self._tags.search(selectors):
            return set(found)
        for selector in split_selectors(selectors):
            if not _BARE.fullmatch(selector):
                found |= self._names & subject_names(selector)
        return set(found)


def _without_inside(found: re.Match[str]) -> str:
    if found[0][0] == "(":
        return ""
    return found[0].replace(">", "").replace("~", "").replace("+", "").replace(" ", "")


MAX_SELECTOR_CHARS = 200
_MAX_ANCESTORS = 64

Specificity: TypeAlias = tuple[int, int, int]

_COMPOUND = re.compile(
    r"(\*|[a-zA-Z][\w-]{0,60})?((?:[.#][\w-]{1,100}|\[[\w-]{1,40}(?:=[\"']?[\w-]{1,60}[\"']?)?\]"
    r"|:root|:link|:any-link)*)"
)
_COMPOUND_PART = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:=[\"']?([\w-]+))?|:([\w-]+)")
_KNOWN_COMBINATORS = re.compile(r"\s*(>)\s*|\s+")


@dataclass(frozen=True, slots=True)
class CssElement:
    """What of an element, and of those around it, selectors look at."""

    tag: str
    id: str = ""
    classes: frozenset[str] = frozenset()
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    parent: "CssElement | None" = None

    @classmethod
    def of(cls, node: LexborNode) -> "CssElement":
        """Return an element of a page, with those that hold it."""
        chain = [node]
        while len(chain) < _MAX_ANCESTORS and (parent := chain[-1].parent) is not None:
            chain.append(parent)
        element: CssElement | None = None
        for ancestor in reversed(chain):
            if ancestor.is_element_node:
                element = cls._of_one(ancestor, element)
        return element or cls("")

    @classmethod
    def _of_one(cls, node: LexborNode, parent: "CssElement | None") -> "CssElement":
        attributes = node.attributes
        classes = frozenset((attributes.get("class") or "")[:2_000].split())
        return cls(
            (node.tag or "").lower(), attributes.get("id") or "", classes, attributes, parent
        )

    @property
    def name(self) -> str:
        """How a selector would call it, in short."""
        marks = [f"#{self.id}"] if self.id else [f".{name}" for name in sorted(self.classes)[:2]]
        return f"{self.tag}{''.join(marks)}"[:80]


@dataclass(frozen=True, slots=True)
class _Compound:
    tag: str = ""
    ids: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str | None], ...] = ()
    is_root: bool = False
    is_link: bool = False

    def matches(self, element: CssElement) -> bool:
        return (
            self.tag in ("", element.tag)
            and all(name == element.id for name in self.ids)
            and element.classes.issuperset(self.classes)
            and all(_has_attribute(element, name, value) for name, value in self.attributes)
            and (not self.is_root or element.tag == "html")
            and (not self.is_link or "href" in element.attributes)
        )


@dataclass(frozen=True, slots=True)
class CssSelector:
    """A selector, read."""

    text: str
    compounds: tuple[_Compound, ...]
    is_child: tuple[bool, ...]
    """Of each compound but the first, whether the one before must be its parent."""
    specificity: Specificity

    def matches(self, element: CssElement) -> bool:
        """Whether an element is one that the selector means."""
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


def _has_attribute(element: CssElement, name: str, value: str | None) -> bool:
    if name not in element.attributes:
        return False
    return value is None or element.attributes[name] == value


@lru_cache(maxsize=4_096)
def parse_selector(text: str) -> CssSelector | None:
    """Return a selector, read; None where it says more than is known here."""
    if len(text) > MAX_SELECTOR_CHARS or "+" in text or "~" in text:
        return None
    pieces = _KNOWN_COMBINATORS.split(text.strip())
    compounds = [_parse_compound(piece or "") for piece in pieces[::2]]
    if not all(compounds):
        return None
    known = tuple(compound for compound in compounds if compound)
    children = tuple(mark == ">" for mark in pieces[1::2])
    ids = sum(len(c.ids) for c in known)
    marks = sum(len(c.classes) + len(c.attributes) + c.is_root + c.is_link for c in known)
    return CssSelector(text, known, children, (ids, marks, sum(bool(c.tag) for c in known)))


def _parse_compound(text: str) -> _Compound | None:
    found = _COMPOUND.fullmatch(text)
    if not text or found is None:
        return None
    marks: dict[str, list[str]] = {"#": [], ".": [], ":": []}
    attributes: list[tuple[str, str | None]] = []
    for mark, name, attribute, value, state in _COMPOUND_PART.findall(found[2] or ""):
        if attribute:
            attributes.append((attribute.lower(), value or None))
        else:
            marks[mark or ":"].append(name or state)
    return _Compound(
        tag="" if found[1] in (None, "*") else found[1].lower(),
        ids=tuple(marks["#"]),
        classes=tuple(marks["."]),
        attributes=tuple(attributes),
        is_root="root" in marks[":"],
        is_link="link" in marks[":"] or "any-link" in marks[":"],
    )

"""Selectors matched against single elements: enough of CSS to tell which rules shape a page.

A selector that says more than this knows, by states, siblings or functions, matches nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from selectolax.lexbor import LexborNode

MAX_SELECTOR_CHARS = 200
_MAX_ANCESTORS = 64

Specificity: TypeAlias = tuple[int, int, int]

_COMPOUND = re.compile(
    r"(\*|[a-zA-Z][\w-]{0,60})?((?:[.#][\w-]{1,100}|\[[\w-]{1,40}(?:=[\"']?[\w-]{1,60}[\"']?)?\]"
    r"|:root|:link|:any-link)*)"
)
_PART = re.compile(r"([.#])([\w-]+)|\[([\w-]+)(?:=[\"']?([\w-]+))?|:([\w-]+)")
_COMBINATORS = re.compile(r"\s*(>)\s*|\s+")


@dataclass(frozen=True, slots=True)
class Element:
    """What of an element, and of those around it, selectors look at."""

    tag: str
    id: str = ""
    classes: frozenset[str] = frozenset()
    attributes: Mapping[str, str | None] = field(default_factory=dict)
    parent: "Element | None" = None

    @classmethod
    def of(cls, node: LexborNode) -> "Element":
        """Return an element of a page, with those that hold it."""
        chain = [node]
        while len(chain) < _MAX_ANCESTORS and (parent := chain[-1].parent) is not None:
            chain.append(parent)
        element: Element | None = None
        for ancestor in reversed(chain):
            if ancestor.is_element_node:
                element = cls._of_one(ancestor, element)
        return element or cls("")

    @classmethod
    def _of_one(cls, node: LexborNode, parent: "Element | None") -> "Element":
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

    def matches(self, element: Element) -> bool:
        return (
            self.tag in ("", element.tag)
            and all(name == element.id for name in self.ids)
            and element.classes.issuperset(self.classes)
            and all(_has(element, name, value) for name, value in self.attributes)
            and (not self.is_root or element.tag == "html")
            and (not self.is_link or "href" in element.attributes)
        )


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector, read."""

    text: str
    compounds: tuple[_Compound, ...]
    is_child: tuple[bool, ...]
    """Of each compound but the first, whether the one before must be its parent."""
    specificity: Specificity

    def matches(self, element: Element) -> bool:
        """Whether an element is one that the selector means."""
        *others, last = self.compounds
        if not last.matches(element):
            return False
        current: Element | None = element
        for compound, must_be_parent in zip(reversed(others), reversed(self.is_child), strict=True):
            current = current.parent if current else None
            while current is not None and not must_be_parent and not compound.matches(current):
                current = current.parent
            if current is None or not compound.matches(current):
                return False
        return True


def _has(element: Element, name: str, value: str | None) -> bool:
    if name not in element.attributes:
        return False
    return value is None or element.attributes[name] == value


@lru_cache(maxsize=4_096)
def parse_selector(text: str) -> Selector | None:
    """Return a selector, read; None where it says more than is known here."""
    if len(text) > MAX_SELECTOR_CHARS or "+" in text or "~" in text:
        return None
    pieces = _COMBINATORS.split(text.strip())
    compounds = [_parse_compound(piece or "") for piece in pieces[::2]]
    if not all(compounds):
        return None
    known = tuple(compound for compound in compounds if compound)
    children = tuple(mark == ">" for mark in pieces[1::2])
    ids = sum(len(c.ids) for c in known)
    marks = sum(len(c.classes) + len(c.attributes) + c.is_root + c.is_link for c in known)
    return Selector(text, known, children, (ids, marks, sum(bool(c.tag) for c in known)))


def _parse_compound(text: str) -> _Compound | None:
    found = _COMPOUND.fullmatch(text)
    if not text or found is None:
        return None
    marks: dict[str, list[str]] = {"#": [], ".": [], ":": []}
    attributes: list[tuple[str, str | None]] = []
    for mark, name, attribute, value, state in _PART.findall(found[2] or ""):
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

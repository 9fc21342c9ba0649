"""The elements by which a page declares what it is: title, meta tags, JSON-LD, first headings."""

from collections.abc import Iterable
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from cinder.extract.elements import Attributes, Elements
from cinder.extract.html_tree import collapse
from cinder.extract.metadata.limits import MAX_META_TAGS, MAX_VALUE_CHARS
from cinder.extract.metadata.sources import find_json_ld, find_meta_tags

_NAME_ATTRIBUTES = ("name", "property", "http-equiv", "itemprop")
_MAX_PROPERTIES = 4
# Each author of a paper has a tag of its own; of what robots should do, every tag counts.
_REPEATED = frozenset(("citation_author", "dc.creator", "robots"))
_MAX_REPEATS = 20
REPEATS_JOINED_BY = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a page declares; what it does not is empty."""

    title: str
    meta: dict[str, str]
    """The meta tags by lower-case name, property or http-equiv; the first of each counts."""
    canonical: str
    headings: list[LexborNode]
    scripts: list[LexborNode]
    """The scripts that hold JSON-LD."""


def read_declared(elements: Elements) -> Declared:
    """Collect the elements by which a page declares what it is."""
    links = map(elements.attributes, elements.tagged("link"))
    canonical = (link["href"] for link in links if "href" in link and _is_canonical(link))
    return Declared(
        title=_title(elements.nodes(elements.tagged("title"))),
        meta=_meta_tags(find_meta_tags(elements)[:MAX_META_TAGS]),
        canonical=cut(next(canonical, "")),
        headings=elements.nodes(elements.tagged("h1")),
        scripts=find_json_ld(elements),
    )


def cut(text: str | None) -> str:
    """Return a value in one line and of bounded length."""
    return collapse((text or "")[: 2 * MAX_VALUE_CHARS])[:MAX_VALUE_CHARS]


def _title(elements: Iterable[LexborNode]) -> str:
    for element in elements:
        # That of a drawing names the drawing.
        if element.parent is not None and element.parent.tag != "svg":
            return cut(element.text())
    return ""


def _is_canonical(link: Attributes) -> bool:
    return (link.get("rel") or "").lower() == "canonical"


def _meta_tags(tags: Iterable[Attributes]) -> dict[str, str]:
    found: dict[str, str] = {}
    repeats: dict[str, list[str]] = {}
    for attributes in tags:
        content = cut(attributes.get("content"))
        for name in _names_of(attributes) if content else ():
            found.setdefault(name, content)
            if name in _REPEATED:
                repeats.setdefault(name, []).append(content)
    joined = {name: REPEATS_JOINED_BY.join(said[:_MAX_REPEATS]) for name, said in repeats.items()}
    return found | joined


def _names_of(attributes: Attributes) -> list[str]:
    said = next(filter(None, map(attributes.get, _NAME_ATTRIBUTES)), "")
    name = said.strip().lower()
    # Only an item's property may have several names.
    if name and name == (attributes.get("itemprop") or "").strip().lower():
        return name.split()[:_MAX_PROPERTIES]
    return [name] if name else []

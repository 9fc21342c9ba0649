"""Metadata that a page declares: title, meta tags, JSON-LD and its schema.org graph."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import unescape

from selectolax.lexbor import LexborNode

from cinder.html.tree import Attributes, Elements, collapse
from cinder.models.document import Json, PageMetadata

_JSON_LD = "application/ld+json"


def find_meta_tags(elements: Elements) -> list[Attributes]:
    """Return the attributes of the meta tags that say anything."""
    return [
        attributes
        for attributes in map(elements.attributes, elements.tagged("meta"))
        if "content" in attributes
    ]


def find_json_ld(elements: Elements) -> list[LexborNode]:
    """Return the scripts that hold JSON-LD."""
    scripts = elements.tagged("script")
    return [
        elements.node(place)
        for place in scripts
        if (elements.attributes(place).get("type") or "").lower() == _JSON_LD
    ]


MAX_META_TAGS = 500
MAX_VALUE_CHARS = 5_000
MAX_JSON_LD_SCRIPTS = 50
MAX_JSON_LD_CHARS = 500_000
MAX_JSON_LD_OBJECTS = 200


def truncation_warnings(html: str, elements: Elements, metadata: PageMetadata) -> tuple[str, ...]:
    """Return a sentence for each limit that left some of a page's metadata out."""
    found = []
    if len(find_meta_tags(elements)) > MAX_META_TAGS:
        found.append(f"Only the first {MAX_META_TAGS} meta tags of the page were read.")
    if _has_longer_json_ld(html, elements) or len(metadata.json_ld) >= MAX_JSON_LD_OBJECTS:
        found.append(
            f"Some JSON-LD of the page may be left out: at most {MAX_JSON_LD_OBJECTS} objects are "
            f"read, from {MAX_JSON_LD_SCRIPTS} scripts of {MAX_JSON_LD_CHARS} characters."
        )
    if any(len(value) == MAX_VALUE_CHARS for value in _values(metadata)):
        found.append(f"Metadata of more than {MAX_VALUE_CHARS} characters was cut.")
    return tuple(found)


def _has_longer_json_ld(html: str, elements: Elements) -> bool:
    scripts = find_json_ld(elements)
    if len(scripts) > MAX_JSON_LD_SCRIPTS:
        return True
    # No script is longer than its page.
    return len(html) > MAX_JSON_LD_CHARS and any(
        len(script.text() or "") > MAX_JSON_LD_CHARS for script in scripts
    )


def _values(metadata: PageMetadata) -> list[str]:
    said = (metadata.title, metadata.description, metadata.author, *metadata.open_graph.values())
    return [value for value in said if value]


_NAME_ATTRIBUTES = ("name", "property", "http-equiv", "itemprop")
_MAX_PROPERTIES = 4
# Each author of a paper has a tag of its own; of what robots should do, every tag counts.
_REPEATED = frozenset(("citation_author", "dc.creator", "robots"))
_MAX_REPEATS = 20
REPEATS_JOINED_BY = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMetadata:
    """What a page declares; what it does not is empty."""

    title: str
    meta: dict[str, str]
    """The meta tags by lower-case name, property or http-equiv; the first of each counts."""
    canonical: str
    headings: list[LexborNode]
    scripts: list[LexborNode]
    """The scripts that hold JSON-LD."""


def read_declared(elements: Elements) -> DeclaredMetadata:
    """Collect the elements by which a page declares what it is."""
    links = map(elements.attributes, elements.tagged("link"))
    canonical = (link["href"] for link in links if "href" in link and _is_canonical(link))
    return DeclaredMetadata(
        title=_title(elements.nodes(elements.tagged("title"))),
        meta=_meta_tags(find_meta_tags(elements)[:MAX_META_TAGS]),
        canonical=truncate_value(next(canonical, "")),
        headings=elements.nodes(elements.tagged("h1")),
        scripts=find_json_ld(elements),
    )


def truncate_value(text: str | None) -> str:
    """Return a value in one line and of bounded length."""
    return collapse((text or "")[: 2 * MAX_VALUE_CHARS])[:MAX_VALUE_CHARS]


def _title(elements: Iterable[LexborNode]) -> str:
    for element in elements:
        # That of a drawing names the drawing.
        if element.parent is not None and element.parent.tag != "svg":
            return truncate_value(element.text())
    return ""


def _is_canonical(link: Attributes) -> bool:
    return (link.get("rel") or "").lower() == "canonical"


def _meta_tags(tags: Iterable[Attributes]) -> dict[str, str]:
    found: dict[str, str] = {}
    repeats: dict[str, list[str]] = {}
    for attributes in tags:
        content = truncate_value(attributes.get("content"))
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


_MAX_JSON_DEPTH = 32
# Old templates hide a script's text from older browsers still.
_WRAPPING = re.compile(r"\A\s*(?://\s*)?(?:<!--|<!\[CDATA\[)|(?://\s*)?(?:-->|\]\]>)\s*\Z")
_WRAPPING_MARKS = ("<!--", "<![CDATA[", "-->", "]]>")


def read_json_ld(scripts: Sequence[LexborNode]) -> tuple[dict[str, Json], ...]:
    """Return the objects of JSON-LD scripts, members of `@graph` each for itself.

    A script that is malformed, too long or nested too deep is skipped.
    """
    objects: list[dict[str, Json]] = []
    for script in scripts[:MAX_JSON_LD_SCRIPTS]:
        objects.extend(_objects(_parse(script.text() or "")))
    return tuple(objects[:MAX_JSON_LD_OBJECTS])


def _parse(text: str) -> Json:
    if len(text) > MAX_JSON_LD_CHARS:
        return None
    # A search for the marks is far cheaper than the pattern on a long script.
    if any(mark in text for mark in _WRAPPING_MARKS):
        text = _WRAPPING.sub("", text)
    text = text.strip().rstrip(";")
    try:
        parsed = json.loads(
            text, strict=False, parse_constant=_reject_constant, parse_float=_finite_float
        )
        return _checked(parsed, 0)
    except (ValueError, RecursionError):
        return None


def _objects(value: Json) -> list[dict[str, Json]]:
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if not isinstance(value, dict):
        return []
    graph = value.get("@graph")
    return _objects(graph) if isinstance(graph, list) else [value]


def _checked(value: Json, depth: int) -> Json:
    """Copy a value, refusing deep nesting and repairing text that has no UTF-8."""
    if depth > _MAX_JSON_DEPTH:
        raise ValueError("nested too deep")
    if isinstance(value, str):
        return _repaired(value)
    if isinstance(value, list):
        return [_checked(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_repaired(key): _checked(item, depth + 1) for key, item in value.items()}
    return value


def _repaired(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("too large for a number")
    return number


_WORK_ENDINGS = ("Article", "Posting", "Report", "Recipe", "Question")
_PAGE_ENDINGS = ("Page",)
_SITE_ENDINGS = ("WebSite", "Organization")
# A page that lists more of them is none of them.
_MAX_WORKS = 4
_MAX_SITES = 10
_MAX_GRAPH_DEPTH = 4
_MAX_NAMES = 10

GraphNode = Mapping[str, Json]


class SchemaOrgGraph:
    """The JSON-LD objects of a page, and what their references lead to."""

    def __init__(self, objects: Sequence[GraphNode]) -> None:
        self._by_id = {named: each for each in objects if isinstance(named := each.get("@id"), str)}
        everything = [*objects, *_main_entities(objects)]
        has_product = any(_is_of(each, ("Product",)) for each in everything)
        # What customers say of a product is not the page.
        endings = _WORK_ENDINGS if has_product else (*_WORK_ENDINGS, "Review")
        works = [each for each in everything if _is_of(each, endings)]
        pages = [each for each in everything if _is_of(each, _PAGE_ENDINGS)]
        self.works = [*(works if len(works) <= _MAX_WORKS else []), *pages[:_MAX_WORKS]]
        """The objects that may be the page itself, the likeliest first."""
        self.is_product = has_product and not works
        """Whether the page offers something, which has a maker and no author."""
        self.is_bare_page = not works
        """Whether it says nothing of a work, only of the page that stands for it in a database."""
        self.is_collection = not works and any(_is_of(each, ("CollectionPage",)) for each in pages)
        """Whether the page lists other pages."""
        sites = [each for each in everything if _is_of(each, _SITE_ENDINGS)]
        self._sites = sites[:_MAX_SITES]

    def texts(self, *keys: str) -> Iterator[str]:
        """Yield what the works say under the keys; the first key counts most."""
        for key in keys:
            for work in self.works:
                for value in _as_list(work.get(key))[:_MAX_NAMES]:
                    # Templates escape for HTML what they write into a script.
                    if isinstance(value, str) and (text := truncate_value(unescape(value))):
                        yield text

    def site_name(self) -> str | None:
        """Return the name of the website."""
        sites = (each for each in self._sites if _is_of(each, ("WebSite",)))
        return next((name for site in sites for name in self._names(site.get("name"), 0)), None)

    def site_names(self) -> Iterator[str]:
        """Yield the names of the website and of who is behind it."""
        for site in self._sites:
            yield from self._names(site.get("name"), 0)

    def authors(self, *, are_people: bool) -> list[str]:
        """Return the names of the first work's authors: people, or organisations."""
        for work in self.works:
            names = [
                name
                for key in ("author", "creator")
                for author in _as_list(work.get(key))[:_MAX_NAMES]
                if are_people is not _is_of(self._follow(author), _SITE_ENDINGS)
                for name in self._names(author, 0)
            ]
            if names:
                return list(dict.fromkeys(names))[:_MAX_NAMES]
        return []

    def _follow(self, value: Json) -> GraphNode:
        """Return the object that a value is, or refers to."""
        if not isinstance(value, Mapping):
            return {}
        named = value.get("@id")
        if "name" in value or not isinstance(named, str):
            return value
        return self._by_id.get(named, value)

    def _names(self, value: Json, depth: int) -> Iterator[str]:
        if depth > _MAX_GRAPH_DEPTH:
            return
        if isinstance(value, str):
            if name := truncate_value(unescape(value)):
                yield name
        elif isinstance(value, Mapping):
            yield from self._names(self._follow(value).get("name"), depth + 1)
        elif isinstance(value, Sequence):
            for item in value[:_MAX_NAMES]:
                yield from self._names(item, depth + 1)


def _main_entities(objects: Iterable[GraphNode]) -> Iterator[GraphNode]:
    """Yield what pages are about; a page that names several things is about none of them."""
    for each in objects:
        entities = _as_list(each.get("mainEntity"))
        if len(entities) == 1 and isinstance(entities[0], Mapping):
            yield entities[0]


def _is_of(value: GraphNode, endings: tuple[str, ...]) -> bool:
    return any(
        isinstance(kind, str) and kind.endswith(endings) for kind in _as_list(value.get("@type"))
    )


def _as_list(value: Json) -> Sequence[Json]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return [] if value is None else [value]

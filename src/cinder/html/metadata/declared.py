"""Metadata that a page declares: title, meta tags, JSON-LD and its schema.org graph."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import unescape

from selectolax.lexbor import LexborNode

from cinder.html.tree import Attributes, Elements, collapse
from cinder.models.document import Json, PageMetadata

_JSON_LD = "application/ld+json"


def find_meta_tags(elements: Elements) -> list[Attributes]:
    """Return the attributes of the meta tags that have content."""
    return [
        attributes
        for attributes in map(elements.attributes, elements.tagged("meta"))
        if "content" in attributes
    ]


def find_json_ld(elements: Elements) -> list[LexborNode]:
    """Return the scripts of JSON-LD."""
    return [
        elements.node(index)
        for index in elements.tagged("script")
        if (elements.attributes(index).get("type") or "").lower() == _JSON_LD
    ]


MAX_META_TAGS = 500
MAX_VALUE_CHARS = 5_000
MAX_JSON_LD_SCRIPTS = 50
MAX_JSON_LD_CHARS = 500_000
MAX_JSON_LD_OBJECTS = 200


def truncation_warnings(html: str, elements: Elements, metadata: PageMetadata) -> tuple[str, ...]:
    """Return a sentence for each limit that a page's metadata exceeds."""
    found = []
    if len(find_meta_tags(elements)) > MAX_META_TAGS:
        found.append(f"Only the first {MAX_META_TAGS} meta tags of the page were read.")
    scripts = find_json_ld(elements)
    # No script is longer than its page, which is checked first.
    is_long = len(html) > MAX_JSON_LD_CHARS and any(
        len(script.text() or "") > MAX_JSON_LD_CHARS for script in scripts[:MAX_JSON_LD_SCRIPTS]
    )
    is_many = len(metadata.json_ld) >= MAX_JSON_LD_OBJECTS
    if is_long or is_many or len(scripts) > MAX_JSON_LD_SCRIPTS:
        found.append(
            f"Some JSON-LD of the page may be left out: at most {MAX_JSON_LD_OBJECTS} objects are "
            f"read, from {MAX_JSON_LD_SCRIPTS} scripts of {MAX_JSON_LD_CHARS} characters."
        )
    values = (metadata.title, metadata.description, metadata.author, *metadata.open_graph.values())
    if any(len(value or "") == MAX_VALUE_CHARS for value in values):
        found.append(f"Metadata of more than {MAX_VALUE_CHARS} characters was cut.")
    return tuple(found)


_NAME_ATTRIBUTES = ("name", "property", "http-equiv", "itemprop")
_MAX_PROPERTIES = 4
# Each author of a paper has a tag of its own; all directives for robots apply.
_REPEATED = frozenset(("citation_author", "dc.creator", "robots"))
_MAX_REPEATS = 20
REPEATS_JOINED_BY = "; "


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMetadata:
    """The metadata that a page declares; values that it does not declare are empty."""

    title: str
    meta: dict[str, str]
    """The meta tags by lower-case name, property or http-equiv; the first of each counts."""
    canonical: str
    headings: list[LexborNode]
    scripts: list[LexborNode]
    """The scripts of JSON-LD."""


def read_declared(elements: Elements) -> DeclaredMetadata:
    """Collect the elements that declare a page's metadata."""
    links = map(elements.attributes, elements.tagged("link"))
    canonical = (
        link["href"]
        for link in links
        if "href" in link and (link.get("rel") or "").lower() == "canonical"
    )
    # The title of a drawing is not that of the page.
    titles = (
        element.text()
        for element in elements.nodes(elements.tagged("title"))
        if element.parent is not None and element.parent.tag != "svg"
    )
    found: dict[str, str] = {}
    repeats: dict[str, list[str]] = {}
    for attributes in find_meta_tags(elements)[:MAX_META_TAGS]:
        content = truncate_value(attributes.get("content"))
        full_name = next(filter(None, map(attributes.get, _NAME_ATTRIBUTES)), "").strip().lower()
        if not content or not full_name:
            continue
        # Only an item's property may have several names.
        is_property = full_name == (attributes.get("itemprop") or "").strip().lower()
        for name in full_name.split()[:_MAX_PROPERTIES] if is_property else (full_name,):
            found.setdefault(name, content)
            if name in _REPEATED:
                repeats.setdefault(name, []).append(content)
    joined = {name: REPEATS_JOINED_BY.join(each[:_MAX_REPEATS]) for name, each in repeats.items()}
    return DeclaredMetadata(
        title=truncate_value(next(titles, "")),
        meta=found | joined,
        canonical=truncate_value(next(canonical, "")),
        headings=elements.nodes(elements.tagged("h1")),
        scripts=find_json_ld(elements),
    )


def truncate_value(text: str | None) -> str:
    """Return a value in one line and of bounded length."""
    return collapse((text or "")[: 2 * MAX_VALUE_CHARS])[:MAX_VALUE_CHARS]


_MAX_JSON_DEPTH = 32
# Some templates still hide a script's text from old browsers.
_WRAPPING = re.compile(r"\A\s*(?://\s*)?(?:<!--|<!\[CDATA\[)|(?://\s*)?(?:-->|\]\]>)\s*\Z")
_WRAPPING_MARKS = ("<!--", "<![CDATA[", "-->", "]]>")


def read_json_ld(scripts: Sequence[LexborNode]) -> tuple[dict[str, Json], ...]:
    """Return the objects of JSON-LD scripts, with the members of each `@graph` separate.

    A script that is malformed, too long or nested too deep is skipped.
    """
    objects: list[dict[str, Json]] = []
    for script in scripts[:MAX_JSON_LD_SCRIPTS]:
        text = script.text() or ""
        if len(text) > MAX_JSON_LD_CHARS:
            continue
        # On a long script, a search for the marks is much faster than the pattern.
        if any(mark in text for mark in _WRAPPING_MARKS):
            text = _WRAPPING.sub("", text)
        text = text.strip().rstrip(";")
        with suppress(ValueError, RecursionError):
            # NaN and Infinity are not JSON, and are refused as infinite numbers are.
            parsed = json.loads(
                text, strict=False, parse_constant=_finite_float, parse_float=_finite_float
            )
            objects.extend(_objects(_checked(parsed, 0)))
    return tuple(objects[:MAX_JSON_LD_OBJECTS])


def _objects(value: Json) -> list[dict[str, Json]]:
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if not isinstance(value, dict):
        return []
    graph = value.get("@graph")
    return _objects(graph) if isinstance(graph, list) else [value]


def _checked(value: Json, depth: int) -> Json:
    """Copy a value, refusing deep nesting and replacing lone surrogates."""
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


def _finite_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("too large for a number")
    return number


_WORK_ENDINGS = ("Article", "Posting", "Report", "Recipe", "Question")
_PAGE_ENDINGS = ("Page",)
_SITE_ENDINGS = ("WebSite", "Organization")
# A page that lists more works is not one of them.
_MAX_WORKS = 4
_MAX_SITES = 10
_MAX_GRAPH_DEPTH = 4
_MAX_NAMES = 10

GraphNode = Mapping[str, Json]


class SchemaOrgGraph:
    """The JSON-LD objects of a page, with their references resolved."""

    def __init__(self, objects: Sequence[GraphNode]) -> None:
        self._by_id = {key: node for node in objects if isinstance(key := node.get("@id"), str)}
        # A page with several main entities is about none of them.
        entities = (_as_list(node.get("mainEntity")) for node in objects)
        mains = [each[0] for each in entities if len(each) == 1]
        everything = [*objects, *(main for main in mains if isinstance(main, Mapping))]
        has_product = any(_is_of(node, ("Product",)) for node in everything)
        # Customers' reviews of a product are not the page.
        endings = _WORK_ENDINGS if has_product else (*_WORK_ENDINGS, "Review")
        works = [node for node in everything if _is_of(node, endings)]
        pages = [node for node in everything if _is_of(node, _PAGE_ENDINGS)]
        self.works = [*(works if len(works) <= _MAX_WORKS else []), *pages[:_MAX_WORKS]]
        """The objects that may be the page itself, the likeliest first."""
        self.is_product = has_product and not works
        """Whether the page offers a product, which has no author."""
        self.is_bare_page = not works
        """Whether it describes no work, only the page's own record."""
        self.is_collection = not works and any(_is_of(page, ("CollectionPage",)) for page in pages)
        """Whether the page lists other pages."""
        sites = [node for node in everything if _is_of(node, _SITE_ENDINGS)]
        self._sites = sites[:_MAX_SITES]

    def texts(self, *keys: str) -> Iterator[str]:
        """Yield the works' texts under the keys, those of the first key first."""
        for key in keys:
            for work in self.works:
                for value in _as_list(work.get(key))[:_MAX_NAMES]:
                    # Templates escape the texts in scripts as HTML.
                    if isinstance(value, str) and (text := truncate_value(unescape(value))):
                        yield text

    def site_name(self) -> str | None:
        """Return the name of the website."""
        sites = (site for site in self._sites if _is_of(site, ("WebSite",)))
        return next((name for site in sites for name in self._names(site.get("name"), 0)), None)

    def site_names(self) -> Iterator[str]:
        """Yield the names of the website and of its owner."""
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
        """Return a value that is an object, or the object that it refers to."""
        if not isinstance(value, Mapping):
            return {}
        key = value.get("@id")
        if "name" in value or not isinstance(key, str):
            return value
        return self._by_id.get(key, value)

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


def _is_of(value: GraphNode, endings: tuple[str, ...]) -> bool:
    return any(
        isinstance(kind, str) and kind.endswith(endings) for kind in _as_list(value.get("@type"))
    )


def _as_list(value: Json) -> Sequence[Json]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return [] if value is None else [value]

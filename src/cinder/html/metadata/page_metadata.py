"""Reads the metadata of a page from its declarations, its markup and its text."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import can_ada
from selectolax.lexbor import LexborNode

from cinder.html.metadata.author import find_author
from cinder.html.metadata.byline_elements import HeadingContext, MarkedElements, nodes_within
from cinder.html.metadata.dates import find_modified, find_published
from cinder.html.metadata.declared import (
    DeclaredMetadata,
    SchemaOrgGraph,
    read_declared,
    read_json_ld,
    truncate_value,
)
from cinder.html.metadata.title import Titles, choose_title, site_name_keys, title_agreement
from cinder.html.tree import Elements, resolve_http_url
from cinder.models.document import Json, PageMetadata

_MAX_HEADINGS = 10
_MIN_TITLE_AGREEMENT = 0.6
_NOT_TEXT = frozenset(("script", "style", "template"))
_BREAKS = frozenset(("br", "div", "p", "li"))

_DESCRIPTION = ("description", "og:description", "twitter:description", "dc.description")
_LANGUAGE = ("content-language", "language", "dc.language", "og:locale")
_IMAGES = ("og:image", "og:image:secure_url", "twitter:image", "twitter:image:src")


def read_metadata(elements: Elements, base: can_ada.URL | None, address: str = "") -> PageMetadata:
    """Collect a page's metadata; values that it does not declare are None or empty.

    Args:
        elements: the page.
        base: the base of its relative URLs.
        address: its own URL, which may differ from the base; empty where it does not.
    """
    declared = read_declared(elements)
    meta = declared.meta
    json_ld = read_json_ld(declared.scripts)
    graph = SchemaOrgGraph(json_ld)
    site_names = (meta.get("og:site_name", ""), *graph.site_names())
    address = address or (base.href if base else "")
    headings = [heading for heading in declared.headings if not _is_banner(heading, base, address)]
    declared = replace(declared, headings=headings or declared.headings)
    titles = Titles(
        element=declared.title,
        shared=meta.get("og:title", ""),
        headings=[_heading_text(heading) for heading in declared.headings[:_MAX_HEADINGS]],
        subheadings=map(_heading_text, elements.nodes(elements.tagged("h2", "h3")[:_MAX_HEADINGS])),
        headlines=list(graph.texts("headline")),
        site_names=site_name_keys(site_names, base.hostname if base else ""),
    )
    title = choose_title(titles)
    heading = _heading_of(elements, declared, titles, title)
    marks, surroundings = MarkedElements(elements, heading), HeadingContext(heading)
    keywords = _first(meta, ("keywords", "news_keywords")) or ",".join(graph.texts("keywords"))
    images = [meta[name] for name in _IMAGES if name in meta]
    images += [address for item in json_ld for address in _image_addresses(item.get("image"))]
    image_urls = (resolve_http_url(base, image) for image in images)
    language = truncate_value(elements.root.attributes.get("lang"))
    return PageMetadata(
        title=title or None,
        description=_first(meta, _DESCRIPTION) or next(graph.texts("description"), None),
        language=language or _first(meta, _LANGUAGE),
        author=find_author(meta, graph, marks, surroundings, titles.site_names),
        published=find_published(meta, graph, marks, surroundings, address),
        modified=find_modified(meta, graph, marks),
        canonical=resolve_http_url(base, declared.canonical) if declared.canonical else None,
        site_name=_first(meta, ("og:site_name", "application-name")) or graph.site_name(),
        robots=_first(meta, ("robots",)),
        keywords=tuple(dict.fromkeys(filter(None, map(str.strip, keywords.split(","))))),
        images=tuple(dict.fromkeys(filter(None, image_urls))),
        open_graph={name: value for name, value in meta.items() if name.startswith("og:")},
        json_ld=json_ld,
    )


def _heading_text(heading: LexborNode) -> str:
    parts = []
    for node in nodes_within(heading):
        if node.is_text_node and node.parent is not None and node.parent.tag not in _NOT_TEXT:
            parts.append(node.text_content or "")
        elif node.tag in _BREAKS:
            parts.append(" ")
    return truncate_value("".join(parts))


def _is_banner(heading: LexborNode, base: can_ada.URL | None, address: str) -> bool:
    """Whether a heading is one link to another page, as the name of a site on each of its pages."""
    children = [node for node in heading.iter(include_text=True) if node.text().strip()]
    if len(children) != 1 or children[0].tag != "a":
        return False
    target = resolve_http_url(base, children[0].attributes.get("href") or "") or ""
    return target.partition("#")[0] != address.partition("#")[0]


def _heading_of(
    elements: Elements, declared: DeclaredMetadata, titles: Titles, title: str
) -> LexborNode | None:
    """Return the heading that is the page's title, of any level, or else the first one."""
    for heading, text in zip(declared.headings, titles.headings, strict=False):
        if text.startswith(title):
            return heading
    # On a page with an h1, another heading that only resembles the title may be that of a reply.
    least = 1.0 if declared.headings else _MIN_TITLE_AGREEMENT
    others = elements.tagged("h2", "h3")[:_MAX_HEADINGS] if title else []
    for heading in elements.nodes(others):
        if title_agreement(_heading_text(heading), [title]) >= least:
            return heading
    return declared.headings[0] if declared.headings else None


def _first(meta: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((meta[name] for name in names if name in meta), None)


def _image_addresses(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [address for item in value for address in _image_addresses(item)]
    if isinstance(value, dict):
        return _image_addresses(value.get("url") or value.get("contentUrl"))
    return []

"""Hints of what kind of page it is: from its address and from what it says about itself."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.model.document import Json, PageMetadata

_WORD = re.compile(r"\w+")
_MAX_HINT_CHARS = 2_000

# schema.org types, by the kind of page that has them.
_SCHEMA_KINDS = (
    frozenset(("article", "newsarticle", "blogposting", "reportagenewsarticle")),
    frozenset(("product", "productgroup", "offer", "offershippingdetails")),
    frozenset(("itemlist", "collectionpage", "searchresultspage")),
    frozenset(("discussionforumposting", "qapage", "question")),
    frozenset(("breadcrumblist",)),
    frozenset(("organization", "localbusiness", "service", "corporation")),
    frozenset(("techarticle", "apireference", "softwaresourcecode")),
    frozenset(("faqpage",)),
    frozenset(("recipe",)),
)
_ADDRESS_KINDS = tuple(
    map(
        re.compile,
        (
            r"/(?:p|dp|products?|items?|shop|buy|pd|pdp)/",
            r"forum|thread|topic|questions|discussion|community|/t/|/r/",
            r"docs?[./]|documentation|reference|/api/|manual|guide|wiki|developer",
            r"/(?:category|categories|collections?|c|cat|shop|browse|search|tags?|s|b)/",
            r"blog|news|article|post|story|/20\d\d/",
            r"list|directory|jobs|events|rank|results|chart|top",
        ),
    )
)
_GENERATOR_KINDS = (
    ("sphinx", "docusaurus", "mkdocs", "gitbook", "mediawiki", "doxygen", "vitepress"),
    ("discourse", "xenforo", "phpbb", "vbulletin", "vanilla", "flarum", "nodebb"),
    ("woocommerce", "magento", "prestashop", "shopify", "shopware"),
    ("wordpress",),
)


@dataclass(frozen=True, slots=True)
class PageHints:
    """Numbers about the whole page, and the words of its title and description."""

    values: tuple[float, ...]
    title_words: frozenset[str]
    description_words: frozenset[str]
    is_article: bool = False
    """Whether it says of itself that it is one."""


def read_hints(tree: LexborHTMLParser, metadata: PageMetadata, url: str) -> PageHints:
    """Return the hints that a page gives."""
    generator = _generator(tree)
    graph = metadata.open_graph
    titles = f"{metadata.title or ''} {graph.get('og:title', '')}"
    og_type = graph.get("og:type", "").lower()
    schema = tuple(_schema_values(metadata.json_ld))
    values = (
        float("article" in og_type),
        float("product" in og_type),
        float(og_type == "website"),
        *schema,
        *_address_values(url),
        *(float(any(name in generator for name in names)) for names in _GENERATOR_KINDS),
    )
    is_article = "article" in og_type or bool(schema[0])
    return PageHints(values, _words(titles), _words(metadata.description or ""), is_article)


def _generator(tree: LexborHTMLParser) -> str:
    """Return what the page says it was made with, lower-case."""
    element = tree.css_first('meta[name="generator" i][content]')
    return (element.attributes.get("content") or "").lower() if element else ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text[:_MAX_HINT_CHARS].lower()))


def _schema_values(json_ld: tuple[Json, ...]) -> Iterator[float]:
    found = {name.lower() for item in json_ld for name in _schema_types(item)}
    return (float(not found.isdisjoint(kinds)) for kinds in _SCHEMA_KINDS)


def _schema_types(item: Json) -> list[str]:
    said = item.get("@type") if isinstance(item, dict) else None
    names = said if isinstance(said, list) else [said]
    return [name for name in names if isinstance(name, str)]


def _address_values(url: str) -> tuple[float, ...]:
    try:
        parsed = can_ada.parse(url)
        host, path, query = parsed.hostname, parsed.pathname.lower(), parsed.search
    except ValueError:
        host, path, query = "", "/", ""
    segments = [segment for segment in path.split("/") if segment]
    whole = f"{host}{path}/"
    return (
        float(len(segments)),
        float(len(segments[-1])) if segments else 0.0,
        float(path.count("-")),
        float(bool(query)),
        *(float(pattern.search(whole) is not None) for pattern in _ADDRESS_KINDS),
    )

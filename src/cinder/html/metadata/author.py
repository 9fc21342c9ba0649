"""The author of a page: declared, marked up, or named in a byline."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise

from selectolax.lexbor import LexborNode

from cinder.html.metadata.byline_elements import (
    ElementRole,
    HeadingContext,
    MarkedElement,
    MarkedElements,
    nodes_within,
    texts_within,
)
from cinder.html.metadata.dates import find_date
from cinder.html.metadata.declared import REPEATS_JOINED_BY, SchemaOrgGraph
from cinder.html.metadata.title import name_key
from cinder.html.tree import collapse

_META = ("author", "article:author", "parsely-author", "sailthru.author", "og:author")
_META_REPEATED = ("citation_author", "dc.creator")
_META_LABELLED = (("twitter:label1", "twitter:data1"), ("twitter:label2", "twitter:data2"))
_LABELS = (
    *("written by", "interview by", "author"),
    *("verfasst von", "geschrieben von", "écrit par", "escrito por"),
)

_WRITTEN = r"(?:article|recipe|story|words|text|post|posted|published|written|created|reported)"
_PREFIX = re.compile(
    rf"(?:(?:{_WRITTEN} )?by|authored by|authors?|autor|auteur|автор|verfasst von|geschrieben von"
    r"|écrit par|escrito por|scritto da)\b\s*[:\uff1a\u2013-]?\s*",
    re.IGNORECASE,
)
# Some of them are also first names, so that they count in the text of a page only.
_PREPOSITION = re.compile(r"\A(?:von|par|por|door|av|af) ", re.IGNORECASE)
_BYLINE = re.compile(
    rf"(?:(?:{_WRITTEN} )?by|von|par|por|door|av|af)\b:?(?P<name>.*)", re.IGNORECASE
)
# What follows a name in a byline.
_END = re.compile(
    r"\s*(?:[|•·∙»/]|\s[-\u2013—]\s|\bupdated\b|\bpublished\b|\bposted\b|\blast\b|\bon (?=\w+ \d)"
    r"|\d+ min\b|\breviewed\b|,? (?:contributor|contributing|staff writer|senior|editor)\b).*",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[,;&]|and|und|et|y|e|og|och|en", re.IGNORECASE)
_NOT_A_NAME = re.compile(
    r"https?:|www\.|[?!{}<>=\[\]]|@|^#|^[A-Z]{2}$|\.(?:com|org|net|io)\b|^\w+(?:\.\w+){2,}$"
)
_NOBODY = frozenset(
    (
        *("admin", "administrator", "author", "editor", "guest", "user", "unknown", "anonymous"),
        *("root", "webmaster", "by", "staff", "none", "null", "undefined", "name", "the author"),
        *("share", "follow", "view all posts", "view more posts", "authored by", "contributor"),
        *("about the author", "superuser", "website", "home", "login", "read more", "more", "all"),
        *("news", "blog", "posts"),
    )
)
_EDGES = " ,;:|-\u2013—•·"
_MAX_NAME_CHARS = 120
_MIN_NAME_CHARS = 2
_MAX_BYLINE_CHARS = 60
_MAX_BYLINE_WORDS = 6
_MAX_PIECES = 12
_MAX_PARTICLE_CHARS = 3
_MAX_LINE_CHARS = 200
_MAX_NAMES = 6


def find_author(
    meta: Mapping[str, str],
    graph: SchemaOrgGraph,
    marks: MarkedElements,
    surroundings: HeadingContext,
    site_names: frozenset[str],
) -> str | None:
    """Return the names of a page's authors, joined by commas, or None.

    A person who is named on the page comes before the site or company that is named as author.
    """
    if graph.is_product or meta.get("og:type", "").startswith("product"):
        return None
    said = list(filter(None, _meta_authors(meta)))
    sources: tuple[Callable[[], str | None], ...] = (
        lambda: _join(graph.authors(are_people=True)),
        lambda: next((names for names in said if name_key(names) not in site_names), None),
        lambda: _from_marks(marks),
        lambda: _from_byline(surroundings),
        lambda: _join(graph.authors(are_people=False)),
        lambda: next(iter(said), None),
    )
    return next(filter(None, (source() for source in sources)), None)


def _meta_authors(meta: Mapping[str, str]) -> Iterator[str | None]:
    for name in _META_REPEATED:
        yield _join(map(_first_name_first, meta.get(name, "").split(REPEATS_JOINED_BY)))
    yield from (_join([meta[name]]) for name in _META if name in meta)
    for label, data in _META_LABELLED:
        if meta.get(label, "").casefold() in _LABELS and data in meta:
            yield _join([meta[data]])


def _first_name_first(name: str) -> str:
    """Return a name as it is spoken, where a catalogue has "Last, First"."""
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma and "," not in first else name


def _join(names: Iterable[str]) -> str | None:
    cleaned = dict.fromkeys(filter(None, map(_clean, names)))
    return ", ".join(list(cleaned)[:_MAX_NAMES]) or None


def _clean(text: str) -> str | None:
    """Return a name without what leads to it, or None where it names nobody."""
    name = collapse(text).strip(_EDGES)
    if found := _PREFIX.match(name):
        name = name[found.end() :].strip(_EDGES)
    words = name.casefold().split()
    if not _MIN_NAME_CHARS <= len(name) <= _MAX_NAME_CHARS or " ".join(words) in _NOBODY:
        return None
    if _NOT_A_NAME.search(name) or "admin" in words or not any(map(str.isalpha, name)):
        return None
    return name


def _from_marks(marks: MarkedElements) -> str | None:
    authors = marks.of(ElementRole.AUTHOR)
    for position, mark in enumerate(authors):
        if names := _names_in(mark.element):
            alike = [other for other in authors[position + 1 :] if _are_coauthors(mark, other)]
            others = [name for other in alike for name in _names_in(other.element)]
            return _join([*names, *others])
    return None


def _are_coauthors(mark: MarkedElement, other: MarkedElement) -> bool:
    """Whether two marks stand side by side and look the same, as several authors do."""
    one, two = mark.element, other.element
    if not mark.looks_like(other):
        return False
    return _same(one.parent, two.parent) or _same(_line_of(one), _line_of(two))


def _line_of(element: LexborNode) -> LexborNode | None:
    """Return what holds an element's parent, as long as that is no more than a line."""
    above = element.parent.parent if element.parent is not None else None
    return above if above is not None and _is_line(above) else None


def _is_line(element: LexborNode) -> bool:
    return sum(map(len, texts_within(element))) <= _MAX_LINE_CHARS


def _same(one: LexborNode | None, two: LexborNode | None) -> bool:
    return one is not None and two is not None and one.mem_id == two.mem_id


def _names_in(element: LexborNode) -> list[str]:
    """Return the names that an element begins with."""
    names: list[str] = []
    is_joined = True
    for piece in _pieces(element):
        if _JOINT.fullmatch(piece):
            is_joined = True
        elif find_date(piece) or not is_joined:
            break
        elif name := _short_name(piece):
            names.append(name)
            is_joined = piece.endswith((",", "&"))
        elif names or not _PREFIX.fullmatch(piece):
            break
    return names


def _pieces(element: LexborNode) -> list[str]:
    for node in nodes_within(element):
        attributes = node.attributes if node.is_element_node else {}
        if attributes.get("itemprop") == "name":
            said = attributes.get("content")
            return [collapse(said)] if said else texts_within(node)
    return texts_within(element)[:_MAX_PIECES]


def _short_name(text: str) -> str | None:
    """Return the name that a text of the page is, without what stands behind it."""
    name = _clean(_PREPOSITION.sub("", _END.sub("", text), count=1))
    if name is None or len(name) > _MAX_BYLINE_CHARS or len(name.split()) > _MAX_BYLINE_WORDS:
        return None
    return name


def _from_byline(surroundings: HeadingContext) -> str | None:
    """Return the name that stands behind the word "by" near the heading."""
    for texts in (surroundings.after, surroundings.before):
        for text, following in pairwise(chain(texts, ("",))):
            if found := _BYLINE.fullmatch(text):
                name = _short_name(found["name"].partition(",")[0] or following)
                return name if name and _looks_like_name(name) else None
    return None


def _looks_like_name(name: str) -> bool:
    return name[0].isupper() and all(
        word[0].isupper() or len(word) <= _MAX_PARTICLE_CHARS for word in name.split()
    )

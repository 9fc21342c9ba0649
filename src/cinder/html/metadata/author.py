"""The author of a page: declared, marked up, or named in a byline."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# Some of them are also first names, so they count only in the text of a page.
_PREPOSITION = re.compile(r"\A(?:von|par|por|door|av|af) ", re.IGNORECASE)
_BYLINE = re.compile(
    rf"(?:(?:{_WRITTEN} )?by|von|par|por|door|av|af)\b:?(?P<name>.*)", re.IGNORECASE
)
# The words after a name in a byline.
_END = re.compile(
    r"\s*(?:[|•·∙»/]|\s[-\u2013—]\s|\bupdated\b|\bpublished\b|\bposted\b|\blast\b|\bon (?=\w+ \d)"
    r"|\d+ min\b|\breviewed\b|,? (?:contributor|contributing|staff writer|senior|editor)\b).*",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[,;&]|and|und|et|y|e|og|och|en", re.IGNORECASE)
_NOT_A_NAME = re.compile(
    r"https?:|www\.|[?!{}<>=\[\]]|@|^#|^[A-Z]{2}$|\.(?:com|org|net|io)\b|^\w+(?:\.\w+){2,}$"
)
_NO_NAMES = frozenset(
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

    A person who is named on the page comes before a site or company that is named as author.
    """
    if graph.is_product or meta.get("og:type", "").startswith("product"):
        return None
    declared = list(filter(None, map(_join, _meta_authors(meta))))
    return (
        _join(graph.authors(are_people=True))
        or next((names for names in declared if name_key(names) not in site_names), None)
        or _from_marks(marks.of(ElementRole.AUTHOR))
        or _from_byline(surroundings)
        or _join(graph.authors(are_people=False))
        or next(iter(declared), None)
    )


def _meta_authors(meta: Mapping[str, str]) -> Iterator[list[str]]:
    for tag in _META_REPEATED:
        names = []
        for name in meta.get(tag, "").split(REPEATS_JOINED_BY):
            # Catalogues write "Last, First".
            last, comma, first = name.partition(",")
            is_reversed = comma and "," not in first
            names.append(f"{first.strip()} {last.strip()}" if is_reversed else name)
        yield names
    yield from ([meta[tag]] for tag in _META if tag in meta)
    for label, data in _META_LABELLED:
        if meta.get(label, "").casefold() in _LABELS and data in meta:
            yield [meta[data]]


def _join(names: Iterable[str]) -> str | None:
    cleaned = dict.fromkeys(filter(None, map(_clean, names)))
    return ", ".join(list(cleaned)[:_MAX_NAMES]) or None


def _clean(text: str) -> str | None:
    """Return a name without the words before it, or None where it is not a name."""
    name = collapse(text).strip(_EDGES)
    if found := _PREFIX.match(name):
        name = name[found.end() :].strip(_EDGES)
    words = name.casefold().split()
    if not _MIN_NAME_CHARS <= len(name) <= _MAX_NAME_CHARS or " ".join(words) in _NO_NAMES:
        return None
    if _NOT_A_NAME.search(name) or "admin" in words or not any(map(str.isalpha, name)):
        return None
    return name


def _from_marks(marks: Sequence[MarkedElement]) -> str | None:
    for position, mark in enumerate(marks):
        if names := _names_in(mark.element):
            holders = _holders(mark.element)
            for other in marks[position + 1 :]:
                # Several authors are marked in the same way, in one element or one line.
                if mark.looks_like(other) and holders & _holders(other.element):
                    names += _names_in(other.element)
            return _join(names)
    return None


def _holders(element: LexborNode) -> set[tuple[int, int]]:
    """Return the ids of an element's parent and, where that is only a line, of the one above.

    Each has its distance with it: only elements at the same depth are siblings.
    """
    parent = element.parent
    if parent is None:
        return set()
    holders, above = {(1, parent.mem_id)}, parent.parent
    if above is not None and sum(map(len, texts_within(above))) <= _MAX_LINE_CHARS:
        holders.add((2, above.mem_id))
    return holders


def _names_in(element: LexborNode) -> list[str]:
    """Return the names at the beginning of an element."""
    pieces = texts_within(element)[:_MAX_PIECES]
    for node in nodes_within(element):
        attributes = node.attributes if node.is_element_node else {}
        if attributes.get("itemprop") == "name":
            content = attributes.get("content")
            pieces = [collapse(content)] if content else texts_within(node)
            break
    names: list[str] = []
    is_joined = True
    for piece in pieces:
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


def _short_name(text: str) -> str | None:
    """Return a text of the page as a name, without the words after it; None if it is not one."""
    name = _clean(_PREPOSITION.sub("", _END.sub("", text), count=1))
    if name is None or len(name) > _MAX_BYLINE_CHARS or len(name.split()) > _MAX_BYLINE_WORDS:
        return None
    return name


def _from_byline(surroundings: HeadingContext) -> str | None:
    """Return the name after the word "by" near the heading."""
    for texts in (surroundings.after, surroundings.before):
        for text, following in pairwise(chain(texts, ("",))):
            if found := _BYLINE.fullmatch(text):
                name = _short_name(found["name"].partition(",")[0] or following) or ""
                is_name = name[:1].isupper() and all(
                    word[0].isupper() or len(word) <= _MAX_PARTICLE_CHARS for word in name.split()
                )
                return name if is_name else None
    return None
